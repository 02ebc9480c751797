import type { Schema } from '../../schemas/data/index.ts';

export interface Header {
  readonly name: string;
  readonly schema: Schema | null;
  readonly value: unknown;
}

/** Names a part of a source that has an order of its own, and a position in it: JSON objects, as stored in the offsets topic. */
export type SourcePartition = Readonly<Record<string, string | number | bigint | boolean | null>>;
export type SourceOffset = Readonly<Record<string, string | number | bigint | boolean | null>>;

/** One record as plain values: what transforms and converters without a fast path see. */
export interface ConnectRecord {
  topic: string;
  /** Kafka partition; null = by key. */
  partition: number | null;
  keySchema: Schema | null;
  key: unknown;
  valueSchema: Schema | null;
  value: unknown;
  /** ms since the epoch; null = time of sending. */
  timestamp: number | null;
  headers: readonly Header[];
}

/** A record of a sink, with where it came from (unchanged by transforms). */
export interface SinkRecord extends ConnectRecord {
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: number;
}
