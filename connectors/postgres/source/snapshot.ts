/**
 * The initial snapshot: all rows of all captured tables as of one moment, as `r` events. Either under the snapshot that a new slot exports, so that
 * streaming joins without gap or overlap, or, beside a slot that is there already, under one of its own; the stream then repeats what happened between
 * the slot's position and the snapshot.
 */
import type pg from 'pg';
import type { SourceBatch } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../runtime/api/index.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { fullName, type TableName } from './catalog.ts';
import { quoteName, sqlState } from './connection.ts';
import { type CopiedRows, copyRows } from './copyRows.ts';
import { CHOICE, processingTime } from './envelope.ts';
import { parseLsn } from './lsn.ts';
import { snapshotOffset } from './position.ts';
import type { RelationVersions } from './relations.ts';
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

/** Batches of all tables in order. The last one has the offset that says the snapshot is complete. */
export async function* snapshotBatches(
  client: pg.Client,
  tables: readonly TableName[],
  point: SnapshotPoint,
  versions: RelationVersions,
  settings: SourceSettings,
  common: BatchCommon,
  signal: AbortSignal,
): AsyncGenerator<SourceBatch> {
  const chosen = tables.filter(table => settings.snapshot.tables(fullName(table), table.schema));
  if (settings.snapshot.isLocking) await lock(client, chosen, settings);
  let held: TableSourceBatch | null = null;
  for (const [index, table] of chosen.entries()) {
    const version = await versions.resolveForSnapshot(client, table.oid);
    if (version === null) continue;
    let isStart = true;
    try {
      for await (const rows of copyRows(
        client,
        select(table, version, settings),
        settings.snapshot.fetchSize,
        signal,
      )) {
        if (held !== null) yield held;
        held = rowBatch(version, rows, markers(rows, isStart, index === 0), point, common);
        isStart = false;
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
  }
  if (held !== null) {
    // The last tables may have been empty: the last row of all ends the snapshot.
    held.wire.rows.choices[CHOICE.snapshot]![held.count - 1] = MARKER.last;
    held.sourceOffset = snapshotOffset(point.lsn, point.txId, point.tsUs, true);
    yield held;
  }
}

async function lock(client: pg.Client, tables: readonly TableName[], settings: SourceSettings): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = ${settings.snapshot.lockTimeoutMs}`);
  for (const table of tables) {
    await client.query(`LOCK TABLE ${quoteName(table.schema)}.${quoteName(table.name)} IN ACCESS SHARE MODE`);
  }
}

function select(table: TableName, version: TableVersion, settings: SourceSettings): string {
  const columns = version.select.map(({ name, isText }) => `${quoteName(name)}${isText ? '::text' : ''}`).join(', ');
  const override = settings.snapshot.selects.get(fullName(table));
  if (override !== undefined) return `SELECT ${columns} FROM (${override}) AS t`;
  const only = table.kind === 'table' ? 'ONLY ' : '';
  return `SELECT ${columns} FROM ${only}${quoteName(table.schema)}.${quoteName(table.name)}`;
}

function markers(rows: CopiedRows, isStart: boolean, isFirstTable: boolean): Uint8Array {
  const out = new Uint8Array(rows.count);
  if (isStart) out[0] = isFirstTable ? MARKER.first : MARKER.firstInCollection;
  if (rows.isLast) {
    const last = rows.count - 1;
    if (out[last] !== MARKER.first) out[last] = MARKER.lastInCollection;
  }
  return out;
}

function rowBatch(
  version: TableVersion,
  rows: CopiedRows,
  snapshotMarkers: Uint8Array,
  point: SnapshotPoint,
  common: BatchCommon,
): TableSourceBatch {
  const batch = new TableSourceBatch({
    ...common,
    topic: version.topic,
    keySchema: version.keySchema,
    valueSchema: version.envelope,
    byteLength: rows.byteLength + rows.count * 32,
    sourceTimestampMs: Number(point.tsUs / 1000n),
    wire: {
      rows: {
        bytes: rows.bytes,
        count: rows.count,
        positions: [rows.positions, rows.positions, rows.positions],
        longs: [],
        choices: [snapshotMarkers],
        constants: [
          ...processingTime(),
          point.tsUs / 1000n,
          point.tsUs,
          point.tsUs * 1000n,
          point.txId,
          point.lsn,
          `[null,"${point.lsn}"]`,
        ],
      },
      keyLayout: version.keyLayout,
      valueLayout: version.valueLayout,
    },
  });
  batch.sourceOffset = snapshotOffset(point.lsn, point.txId, point.tsUs, false);
  return batch;
}
