/**
 * The initial snapshot: all rows of all captured tables as of one moment, as `r` events. Either under the snapshot that a new slot exports, so that
 * streaming joins without gap or overlap, or, beside a slot that is there already, under one of its own; the stream then repeats what happened between
 * the slot's position and the snapshot.
 */
import type pg from 'pg';
import type { SourceBatch } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { fullName, type TableName } from './catalog.ts';
import { quoteName, sqlState } from './connection.ts';
import { type CopiedRows, copyRows } from './copyRows.ts';
import { CHOICE } from './envelope.ts';
import { parseLsn } from './lsn.ts';
import { mergeReaders } from './mergeReaders.ts';
import { completeOffset, snapshotOffset } from './position.ts';
import type { RelationVersions } from './relations.ts';
import { copiedWireRows, rowBatch } from './rowBatch.ts';
import { type SnapshotRange, snapshotRanges } from './snapshotRanges.ts';
import type { TableVersion } from './tableVersion.ts';

const MARKER = { true: 0, first: 1, firstInCollection: 2, lastInCollection: 3, last: 4 } as const;

export interface SnapshotPoint {
  readonly lsn: bigint;
  readonly txId: bigint;
  readonly tsUs: bigint;
}

/** Begins the transaction that reads. `snapshotName` = the one a new slot exported at `consistentPoint`. */
export async function beginSnapshot(
  client: pg.Client,
  snapshotName: string | null,
  consistentPoint: bigint | null,
): Promise<SnapshotPoint> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  if (snapshotName !== null) await client.query(`SET TRANSACTION SNAPSHOT '${snapshotName.replace(/'/g, "''")}'`);
  const { rows } = await client.query(
    `SELECT CASE WHEN pg_is_in_recovery() THEN '0' ELSE txid_current()::text END AS txid,
            CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text AS lsn,
            (extract(epoch FROM clock_timestamp()) * 1000000)::int8::text AS now`,
  );
  const row = rows[0];
  return {
    lsn: consistentPoint ?? parseLsn(row.lsn),
    txId: BigInt(row.txid),
    tsUs: BigInt(row.now),
  };
}

/** Opens the snapshot of a transaction to other readers. */
export async function exportSnapshot(client: pg.Client): Promise<string> {
  return (await client.query('SELECT pg_export_snapshot() AS name')).rows[0].name;
}

export interface SnapshotReading {
  readonly tables: readonly TableName[];
  readonly point: SnapshotPoint;
  /** Up to where the server was told that the log is not needed. */
  readonly flushed: bigint;
  readonly versions: RelationVersions;
  readonly settings: SourceSettings;
  readonly serverVersion: number;
  readonly common: BatchCommon;
  readonly signal: AbortSignal;
  /** Told of each table when its last row is read. */
  readonly onTableRead: (table: string, rows: number) => void;
}

/** Rows of a range, or its end. */
interface Piece {
  readonly table: number;
  readonly rows: { readonly version: TableVersion; readonly copied: CopiedRows } | null;
}

/**
 * Batches of all tables; those of one reader in order, those of several as they come. `clients` are in transactions with the same snapshot. The last batch
 * has the offset that says the snapshot is complete.
 */
export async function* snapshotBatches(
  clients: readonly pg.Client[],
  reading: SnapshotReading,
): AsyncGenerator<SourceBatch> {
  const { point, flushed, settings, common } = reading;
  const tables = reading.tables.filter(table => settings.snapshot.tables(fullName(table), table.schema));
  if (settings.snapshot.isLocking) await lock(clients[0]!, tables, settings);
  const ranges = await snapshotRanges(clients[0]!, tables, settings, reading.serverVersion, clients.length);
  const left = tables.map((_, index) => ranges.filter(({ table }) => table === index).length);
  const source = { ...point, sequence: `[null,"${point.lsn}"]` };
  const offset = snapshotOffset(point.lsn, point.txId, point.tsUs);
  let isFirst = true;
  /** The last batch of each table that is being read: its last row may be the last of its table. */
  const held = new Map<number, TableSourceBatch>();
  /** Of a table that is read: its last row may be the last of all. */
  let ended: TableSourceBatch | null = null;
  const queue = ranges.values();
  const counts = tables.map(() => 0);
  for await (const { table, rows } of mergeReaders(clients.map(client => readRanges(client, queue, tables, reading)))) {
    if (rows !== null) {
      const { version, copied } = rows;
      counts[table]! += copied.count;
      const markers = new Uint8Array(copied.count);
      const before = held.get(table);
      if (before === undefined) markers[0] = isFirst ? MARKER.first : MARKER.firstInCollection;
      isFirst = false;
      const wire = copiedWireRows(copied, markers, source);
      held.set(table, rowBatch(version, wire, copied.byteLength, source, common, offset));
      if (ended !== null) yield ended;
      ended = null;
      if (before !== undefined) yield before;
      continue;
    }
    left[table]!--;
    if (left[table] === 0) reading.onTableRead(fullName(tables[table]!), counts[table]!);
    const last = held.get(table);
    if (left[table]! > 0 || last === undefined) continue;
    held.delete(table);
    if (ended !== null) yield ended;
    mark(last, MARKER.lastInCollection);
    ended = last;
  }
  if (ended !== null) {
    // The last tables may have been empty: the last row of all ends the snapshot.
    mark(ended, MARKER.last);
    ended.sourceOffset = completeOffset(offset, flushed);
    yield ended;
  }
}

/** Marks the last row. A row that is the first of all says so, unless it is the last of all too. */
function mark(batch: TableSourceBatch, marker: number): void {
  const markers = batch.wire.rows.choices[CHOICE.snapshot]!;
  const last = batch.count - 1;
  if (marker === MARKER.last || markers[last] !== MARKER.first) markers[last] = marker;
}

/** One reader, which takes range after range. */
async function* readRanges(
  client: pg.Client,
  queue: IterableIterator<SnapshotRange>,
  tables: readonly TableName[],
  { versions, settings, signal }: SnapshotReading,
): AsyncGenerator<Piece> {
  for (;;) {
    const { value: range, done } = queue.next();
    if (done) return;
    const table = tables[range.table]!;
    try {
      const version = await versions.resolveForSnapshot(client, table.oid);
      if (version !== null) {
        const sql = select(table, version, range.where, settings);
        for await (const copied of copyRows(client, sql, settings.snapshot.fetchSize, signal)) {
          yield { table: range.table, rows: { version, copied } };
        }
      }
    } catch (error) {
      if (signal.aborted || sqlState(error) === null || /^(57P0|08)/.test(sqlState(error)!)) throw error;
      throw new ConnectError(
        'PG_SNAPSHOT_FAILED',
        `The rows of ${fullName(table)} could not be read: ${(error as Error).message}.`,
        {
          cause: error,
          // A table that was changed or dropped in between; the next snapshot sees it as it is now.
          retriable: /^(40|42703|42P01|53|55)/.test(sqlState(error)!),
          place: { table: fullName(table) },
        },
      );
    }
    yield { table: range.table, rows: null };
  }
}

async function lock(client: pg.Client, tables: readonly TableName[], settings: SourceSettings): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = ${settings.snapshot.lockTimeoutMs}`);
  for (const table of tables) {
    await client.query(`LOCK TABLE ${quoteName(table.schema)}.${quoteName(table.name)} IN ACCESS SHARE MODE`);
  }
}

function select(table: TableName, version: TableVersion, where: string | null, settings: SourceSettings): string {
  const columns = version.select.map(({ name, isText }) => `${quoteName(name)}${isText ? '::text' : ''}`).join(', ');
  const override = settings.snapshot.selects.get(fullName(table));
  if (override !== undefined) return `SELECT ${columns} FROM (${override}) AS t`;
  const only = table.kind === 'table' ? 'ONLY ' : '';
  const condition = where === null ? '' : ` WHERE ${where}`;
  return `SELECT ${columns} FROM ${only}${quoteName(table.schema)}.${quoteName(table.name)}${condition}`;
}
