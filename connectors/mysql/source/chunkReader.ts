/**
 * One chunk of a table as of one moment, and the place in the log that is not before that moment. Nothing is written.
 */

import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { ChunkBounds, NoChunk } from '../../shared/incrementalChunk.ts';
import type { SourceSettings } from '../config.ts';
import { MariaGtidList } from '../protocol/gtid.ts';
import { readTable } from './catalog.ts';
import type { StreamPlace } from './changeStream.ts';
import { type ChunkTable, chunkSelect, whyUnread } from './chunkBounds.ts';
import { isBehind } from './position.ts';
import { type SelectedRows, selectRows } from './selectRows.ts';
import { mariaGtidAt, readLogEnd, snapshotPosition } from './server.ts';
import type { TableVersion } from './tableVersion.ts';
import type { TableVersions } from './tableVersions.ts';

export interface ChunkRequest extends ChunkTable {
  readonly bounds: ChunkBounds;
}

export interface LogPlace {
  readonly file: string;
  readonly position: number;
}

/** All that the rows of a chunk show is in the log before. */
export interface HighMark extends LogPlace {
  /** MariaDB: the transactions before it. A stream that has them all is there, too: the server tells it no place while there is nothing to send. */
  readonly gtids: string | null;
}

export type Chunk =
  /** What the stream has given out is not visible yet: to be read again in a moment. */
  | { readonly kind: 'early' }
  | NoChunk
  | {
      readonly kind: 'rows';
      readonly version: TableVersion;
      readonly rows: readonly SelectedRows[];
      readonly high: HighMark;
    };

/** Whether a stream has given out all before the mark. */
export function isReached({ gtids, ...place }: HighMark, now: StreamPlace): boolean {
  if (!isBehind(now, place)) return true;
  const { published } = now;
  return (
    gtids !== null &&
    published.gtids !== null &&
    MariaGtidList.parse(published.gtids).includes(MariaGtidList.parse(gtids))
  );
}

/** The chunk is not older than what was given out up to `place`. */
export async function readChunk(
  connection: Connection,
  request: ChunkRequest,
  versions: TableVersions,
  settings: SourceSettings,
  place: StreamPlace,
  signal: AbortSignal,
): Promise<Chunk> {
  const isMariaDb = settings.connector === 'mariadb';
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  if (!isMariaDb) {
    const seen = await isExecuted(connection, place);
    if (seen === null) return unreadable('incremental snapshots need gtid_mode=ON');
    if (!seen) return { kind: 'early' };
  }
  await connection.query(`START TRANSACTION WITH CONSISTENT SNAPSHOT${isMariaDb ? '' : ', READ ONLY'}`);
  try {
    const high = isMariaDb ? await snapshotPosition(connection) : await readLogEnd(connection, false);
    if (high === null) return unreadable('the server writes no binary log');
    if (isMariaDb && isBehind(high, place)) return { kind: 'early' };
    const gtids = isMariaDb ? await mariaGtidAt(connection, high.file, high.position) : null;
    return await read(connection, request, versions, settings, { ...high, gtids }, signal);
  } finally {
    // A connection that is lost says so itself.
    await connection.query('COMMIT').catch(() => {});
  }
}

/** A transaction is in the log a moment before its rows can be seen, and in the set of executed ones after it. Null = the server has no GTIDs. */
async function isExecuted(connection: Connection, { published }: StreamPlace): Promise<boolean | null> {
  const { gtids, gtid } = published;
  if (gtids === null) return null;
  const all = gtid === null ? gtids : `${gtids},${gtid}`;
  const [rows] = await connection.query<RowDataPacket[]>('SELECT GTID_SUBSET(?, @@global.gtid_executed) AS seen', [
    all,
  ]);
  return Number(rows[0]!.seen) === 1;
}

const unreadable = (why: string): NoChunk => ({ kind: 'none', why, status: 'SQL_EXCEPTION' });

async function read(
  connection: Connection,
  request: ChunkRequest,
  versions: TableVersions,
  settings: SourceSettings,
  high: HighMark,
  signal: AbortSignal,
): Promise<Chunk> {
  const catalog = await readTable(connection, request.table, settings.connector === 'mariadb');
  if (catalog === null) return { kind: 'none', why: 'it is not there any more', status: 'UNKNOWN_SCHEMA' };
  const why = whyUnread(catalog, request.surrogateKey, versions, settings);
  if (why !== null) return { kind: 'none', why, status: 'NO_PRIMARY_KEY' };
  const version = versions.ofCatalog(catalog);
  const sql = chunkSelect(request, catalog, version.select, request.bounds);
  const rows: SelectedRows[] = [];
  for await (const some of selectRows(connection, sql, settings.chunkSize, signal)) rows.push(some);
  return { kind: 'rows', version, rows, high };
}
