import type { ValueDecoder } from '../../schemas/converter.ts';
import type { Schema } from '../../schemas/data/index.ts';
import type { TopicPartition } from './connector.ts';
import type { SinkRecord } from './record.ts';

/** Where a batch was read. */
export const partitionOf = ({
  originalTopic: topic,
  partition,
}: Pick<SinkBatch, 'originalTopic' | 'partition'>): TopicPartition => ({
  topic,
  partition,
});

/** Records of one topic partition, in offset order, that share key schema and value schema (a null value goes with any). */
export interface SinkBatch {
  /** As transforms have named it. */
  readonly topic: string;
  /** Where the records were read: what offsets are about. */
  readonly originalTopic: string;
  readonly partition: number;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema | null;
  readonly count: number;
  readonly byteLength: number;
  /** Offset of record `index`. Offsets may have gaps. */
  offset(index: number): number;
  /** ms since the epoch. */
  timestamp(index: number): number;
  /** Record `index` as plain values; decoded at each call. Throws ConnectError CONVERTER_FAILED for malformed bytes. */
  record(index: number): SinkRecord;
  /** The serialized form, where no transform stands between but such that rename topics: the fast path for sinks that read columns. */
  readonly wire?: {
    readonly bytes: Uint8Array;
    /** Record i's key is bytes[keyStarts[i], keyEnds[i]); keyStarts[i] = -1 for null. Values likewise. */
    readonly keyStarts: Int32Array;
    readonly keyEnds: Int32Array;
    readonly valueStarts: Int32Array;
    readonly valueEnds: Int32Array;
    /** null where every key, or every value, is null. */
    readonly keyDecoder: ValueDecoder | null;
    readonly valueDecoder: ValueDecoder | null;
  };
}
