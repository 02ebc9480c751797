/** Rows of a SELECT as `r` events. */
import type { WireRows } from '../../../schemas/transcode/layout.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import { processingTime } from './envelope.ts';
import type { SelectedRows } from './selectRows.ts';
import type { TableVersion } from './tableVersion.ts';

/** What `source` says of all rows of a batch. */
export interface RowOrigin {
  readonly file: string;
  readonly position: number;
  readonly tsUs: bigint;
  readonly serverId: number;
  readonly gtid: string | null;
}

export const selectedWireRows = (rows: SelectedRows, markers: Uint8Array, origin: RowOrigin): WireRows => ({
  bytes: rows.bytes,
  count: rows.count,
  positions: [rows.positions, rows.positions, rows.positions],
  longs: [],
  choices: [markers],
  constants: [
    ...processingTime(),
    origin.file,
    origin.tsUs / 1000n,
    origin.tsUs,
    origin.tsUs * 1000n,
    BigInt(origin.position),
    BigInt(origin.serverId),
    origin.gtid,
  ],
});

export const snapshotBatch = (
  version: TableVersion,
  rows: WireRows,
  byteLength: number,
  origin: RowOrigin,
  common: BatchCommon,
): TableSourceBatch =>
  new TableSourceBatch({
    ...common,
    topic: version.topic,
    keySchema: version.keySchema,
    valueSchema: version.envelope,
    byteLength: byteLength + rows.count * 32,
    sourceTimestampMs: Number(origin.tsUs / 1000n),
    wire: { rows, keyLayout: version.keyLayout, valueLayout: version.snapshotLayout },
  });
