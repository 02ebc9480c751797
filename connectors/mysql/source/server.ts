/** Questions to the server: what it is, where its log ends, which replica ids are taken. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { errnoOf } from './connection.ts';
import type { LogPosition } from './position.ts';

export interface ServerVersion {
  readonly text: string;
  readonly isMariaDb: boolean;
  /** Major * 10000 + minor * 100 + patch. */
  readonly number: number;
}

export async function readVersion(connection: Connection): Promise<ServerVersion> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT VERSION() AS version');
  const text = String(rows[0]!.version);
  const [major = 0, minor = 0, patch = 0] = (/\d+\.\d+\.\d+/.exec(text)?.[0] ?? '').split('.').map(Number);
  return { text, isMariaDb: /mariadb/i.test(text), number: major * 10000 + minor * 100 + patch };
}

/** Server variables by name; those that the server does not have are left out. */
export async function readVariables(
  connection: Connection,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names.map(() => '?').join(', ')})`,
    [...names],
  );
  return new Map(rows.map(row => [String(row.Variable_name).toLowerCase(), String(row.Value)]));
}

/** Names that came with MySQL 8.4, and those before. */
async function either(connection: Connection, modern: string, old: string): Promise<RowDataPacket[]> {
  try {
    return (await connection.query<RowDataPacket[]>(modern))[0];
  } catch (error) {
    if (errnoOf(error) !== 1064) throw error;
    return (await connection.query<RowDataPacket[]>(old))[0];
  }
}

/** Where the log ends now; null = the server writes none. GTIDs: null where it has none, or is not asked to. */
export async function readLogEnd(connection: Connection, isMariaDb: boolean): Promise<LogPosition | null> {
  const rows = await either(connection, 'SHOW BINARY LOG STATUS', 'SHOW MASTER STATUS');
  const row = rows[0];
  if (row === undefined) return null;
  const file = String(row.File);
  const position = Number(row.Position);
  const gtids = isMariaDb
    ? await mariaGtidAt(connection, file, position)
    : await mysqlGtids(connection, String(row.Executed_Gtid_Set ?? ''));
  return at(file, position, gtids);
}

export const at = (file: string, position: number, gtids: string | null): LogPosition => ({
  file,
  position,
  gtids,
  events: 0,
  rows: 0,
  gtid: null,
  serverId: 0,
  seconds: Math.floor(Date.now() / 1000),
});

/** MariaDB: the last transaction of each domain before a place in the log, empty where there is none; null = there is no such place. */
export async function mariaGtidAt(connection: Connection, file: string, position: number): Promise<string | null> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT BINLOG_GTID_POS(?, ?) AS gtids', [file, position]);
  const gtids = rows[0]?.gtids;
  return typeof gtids === 'string' ? gtids : null;
}

/** MariaDB: where in the log the consistent snapshot of the connection's transaction is; null = the server writes none. */
export async function snapshotPosition(connection: Connection): Promise<{ file: string; position: number } | null> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'binlog_snapshot_%'");
  const status = new Map(rows.map(row => [String(row.Variable_name).toLowerCase(), String(row.Value)]));
  const file = status.get('binlog_snapshot_file') ?? '';
  return file === '' ? null : { file, position: Number(status.get('binlog_snapshot_position') ?? 0) };
}

async function mysqlGtids(connection: Connection, executed: string): Promise<string | null> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT @@global.gtid_mode AS mode');
  return String(rows[0]!.mode).toUpperCase() === 'ON' ? executed.replace(/\s/g, '') : null;
}

/** Ids of the replicas that the server knows. */
export async function replicaIds(connection: Connection): Promise<ReadonlySet<number>> {
  const rows = await either(connection, 'SHOW REPLICAS', 'SHOW SLAVE HOSTS');
  return new Set(rows.map(row => Number(row.Server_Id ?? row.Server_id)));
}

const FIRST_ID = 100_000_000;
const IDS = 1_000_000_000;

export async function freeServerId(connection: Connection): Promise<number> {
  const taken = await replicaIds(connection).catch(error => {
    // In MariaDB the list needs a right of its own; an id that is taken shows in the stream.
    if (errnoOf(error) === 1227) return new Set<number>();
    throw error;
  });
  for (;;) {
    const id = FIRST_ID + Math.floor(Math.random() * IDS);
    if (!taken.has(id)) return id;
  }
}
