import type { Schema } from '../../schemas/data/index.ts';
import type { Layout, WireRows } from '../../schemas/transcode/layout.ts';
import type { ConnectRecord, Header, SourceOffset, SourcePartition } from './record.ts';

/**
 * Records of one topic with one key schema and one value schema, in source order. Batches of a poll are delivered in order; the order of records
 * of one key is that of the batches. A batch offers its records as plain values, and where it can also as rows of bytes; both give the same record.
 * It is read until the next poll, not after: a source may use its memory again.
 */
export interface SourceBatch {
  readonly topic: string;
  /** Kafka partition of all its records; null = by key. */
  readonly partition: number | null;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema | null;
  readonly count: number;
  /** Bytes held, for accounting. */
  readonly byteLength: number;
  readonly sourcePartition: SourcePartition;
  /** Position from which the source can go on once this batch and all earlier ones of its source partition are acknowledged; null = none here. */
  readonly sourceOffset: SourceOffset | null;
  /** ms since the epoch at which the newest change of the batch was committed at the source, for lag; null = not known. */
  readonly sourceTimestampMs: number | null;
  /** Its records are the source's own, such as a history that it reads again: transforms do not see them. */
  readonly isOwn?: true;
  /** Headers that every record of the batch has. */
  readonly headers: readonly Header[];
  /** Further headers of single records, by index. */
  readonly recordHeaders?: ReadonlyMap<number, readonly Header[]>;
  /** Record `index`, headers of the batch included. */
  record(index: number): ConnectRecord;
  readonly wire?: WireBatch;
}

/** The fast path. `valueLayout` null means that the value is null in every record; a record with `tombstones[i]` = 1 has a null value. */
export interface WireBatch {
  readonly rows: WireRows;
  /** null = null key. Identity matters: one layout object per shape, so that compiled code is reused. */
  readonly keyLayout: Layout | null;
  readonly valueLayout: Layout | null;
  readonly tombstones?: Uint8Array;
}

/** A batch from plain records that share topic, partition and schemas. */
export function plainBatch(options: {
  records: readonly ConnectRecord[];
  sourcePartition: SourcePartition;
  sourceOffset: SourceOffset | null;
  sourceTimestampMs?: number | null;
  isOwn?: true;
}): SourceBatch {
  const first = options.records[0];
  if (first === undefined) throw new TypeError('a batch needs at least one record');
  return {
    topic: first.topic,
    partition: first.partition,
    keySchema: first.keySchema,
    valueSchema: first.valueSchema,
    count: options.records.length,
    byteLength: options.records.length * 256,
    sourcePartition: options.sourcePartition,
    sourceOffset: options.sourceOffset,
    sourceTimestampMs: options.sourceTimestampMs ?? null,
    ...(options.isOwn && { isOwn: true }),
    headers: [],
    record: index => options.records[index]!,
  };
}

/**
 * A batch without records, by which a source that has nothing to publish moves its offset on. Where it comes before any offset of this run of the task was
 * stored, it is stored before the next poll: so a source can make sure that it will know, whenever it is cut off, where it had begun.
 */
export function offsetBatch(sourcePartition: SourcePartition, sourceOffset: SourceOffset): SourceBatch {
  return {
    topic: '',
    partition: null,
    keySchema: null,
    valueSchema: null,
    count: 0,
    byteLength: 0,
    sourcePartition,
    sourceOffset,
    sourceTimestampMs: null,
    headers: [],
    record: index => {
      throw new RangeError(`the batch has no record ${index}`);
    },
  };
}
