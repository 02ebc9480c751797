/** Rows of COPY as `r` events. */
import type { SourceOffset } from '../../../runtime/api/index.ts';
import type { WireRows } from '../../../schemas/transcode/layout.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { CopiedRows } from './copyRows.ts';
import { processingTime } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

/** What `source` says of all rows of a batch. */
export interface RowSource {
  readonly tsUs: bigint;
  readonly txId: bigint | null;
  readonly lsn: bigint | null;
  readonly sequence: string;
}

export function copiedWireRows(rows: CopiedRows, markers: Uint8Array, source: RowSource): WireRows {
  return {
    bytes: rows.bytes,
    count: rows.count,
    positions: [rows.positions, rows.positions, rows.positions],
    longs: [],
    choices: [markers],
    constants: [
      ...processingTime(),
      source.tsUs / 1000n,
      source.tsUs,
      source.tsUs * 1000n,
      source.txId,
      source.lsn,
      source.sequence,
    ],
  };
}

export function rowBatch(
  version: TableVersion,
  rows: WireRows,
  byteLength: number,
  source: RowSource,
  common: BatchCommon,
  offset: SourceOffset | null,
): TableSourceBatch {
  const batch = new TableSourceBatch({
    ...common,
    topic: version.topic,
    keySchema: version.keySchema,
    valueSchema: version.envelope,
    byteLength: byteLength + rows.count * 32,
    sourceTimestampMs: Number(source.tsUs / 1000n),
    wire: { rows, keyLayout: version.keyLayout, valueLayout: version.valueLayout },
  });
  batch.sourceOffset = offset;
  return batch;
}
