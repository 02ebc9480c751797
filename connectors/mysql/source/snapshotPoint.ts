/**
 * The moment of a snapshot and the position in the log from which the stream follows it without a gap. MariaDB tells the position of a consistent snapshot.
 * MySQL does not: its set of executed transactions is read before the snapshot is taken. A transaction enters that set after its rows can be seen, so that
 * none is lost; those that enter it between the two are repeated by the stream, and where the set is the same behind the snapshot there are none. Without
 * GTIDs a position may be ahead of what can be seen: then, or by snapshot.locking.mode, writing waits for the moment.
 */
import type { Connection } from 'mysql2/promise';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import type { LogPosition } from './position.ts';
import { at, mariaGtidAt, readLogEnd, snapshotPosition } from './server.ts';

const TRIES = 20;
const BEGIN = 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY';
const MARIA_BEGIN = 'START TRANSACTION WITH CONSISTENT SNAPSHOT';

/** Begins the transaction that reads. */
export async function beginSnapshot(
  connection: Connection,
  settings: SourceSettings,
  logger: Logger,
): Promise<LogPosition> {
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  if (settings.snapshot.isLocking) return await locked(connection, settings);
  if (settings.connector === 'mariadb') return await ofMariaDb(connection, settings);
  for (let tries = 1; ; tries++) {
    const before = await end(connection, settings);
    if (before.gtids === null) return await locked(connection, settings);
    await connection.query(BEGIN);
    const after = await end(connection, settings);
    if (after.gtids === before.gtids) return before;
    if (tries === TRIES) {
      logger.info(
        { from: before.gtids, to: after.gtids },
        'transactions were committed while the snapshot was taken: the stream repeats them',
      );
      return before;
    }
    await connection.query('ROLLBACK');
  }
}

async function ofMariaDb(connection: Connection, settings: SourceSettings): Promise<LogPosition> {
  await connection.query(MARIA_BEGIN);
  const place = await snapshotPosition(connection);
  if (place === null) {
    await connection.query('ROLLBACK');
    return await locked(connection, settings);
  }
  const { file, position } = place;
  return at(file, position, await mariaGtidAt(connection, file, position));
}

/** All writing waits while the position is read and the snapshot taken. */
async function locked(connection: Connection, settings: SourceSettings): Promise<LogPosition> {
  await connection.query(`SET SESSION lock_wait_timeout = ${Math.ceil(settings.snapshot.lockTimeoutMs / 1000)}`);
  await connection.query('FLUSH TABLES WITH READ LOCK');
  try {
    await connection.query(settings.connector === 'mariadb' ? MARIA_BEGIN : BEGIN);
    return await end(connection, settings);
  } finally {
    await connection.query('UNLOCK TABLES');
  }
}

async function end(connection: Connection, settings: SourceSettings): Promise<LogPosition> {
  const position = await readLogEnd(connection, settings.connector === 'mariadb');
  if (position !== null) return position;
  throw new ConnectError('MYSQL_SETTING_INVALID', 'The server writes no binary log. Set log_bin and restart it.');
}
