/** A batch of change events over rows of bytes, read by layouts. */
import type {
  ConnectRecord,
  Header,
  SourceBatch,
  SourceOffset,
  SourcePartition,
  WireBatch,
} from '../../runtime/api/index.ts';
import type { Schema } from '../../schemas/data/index.ts';
import type { Layout } from '../../schemas/transcode/layout.ts';
import { plainValue } from '../../schemas/transcode/plainView.ts';

export interface BatchCommon {
  readonly sourcePartition: SourcePartition;
  readonly headers: readonly Header[];
}

type Parts = BatchCommon & {
  readonly topic: string;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema;
  readonly byteLength: number;
  readonly sourceTimestampMs: number | null;
  readonly recordHeaders?: ReadonlyMap<number, readonly Header[]>;
  readonly wire: WireBatch & { readonly valueLayout: Layout };
};

/** A batch over rows of bytes. The offset is set on the last batch of a poll. */
export class TableSourceBatch implements SourceBatch {
  readonly topic: string;
  readonly partition = null;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema;
  readonly count: number;
  readonly byteLength: number;
  readonly sourcePartition: SourcePartition;
  sourceOffset: SourceOffset | null = null;
  readonly sourceTimestampMs: number | null;
  readonly headers: readonly Header[];
  readonly recordHeaders?: ReadonlyMap<number, readonly Header[]>;
  readonly wire: Parts['wire'];

  constructor(parts: Parts) {
    this.topic = parts.topic;
    this.keySchema = parts.keySchema;
    this.valueSchema = parts.valueSchema;
    this.count = parts.wire.rows.count;
    this.byteLength = parts.byteLength;
    this.sourcePartition = parts.sourcePartition;
    this.sourceTimestampMs = parts.sourceTimestampMs;
    this.headers = parts.headers;
    if (parts.recordHeaders) this.recordHeaders = parts.recordHeaders;
    this.wire = parts.wire;
  }

  record(index: number): ConnectRecord {
    const { rows, keyLayout, valueLayout, tombstones } = this.wire;
    const isTombstone = tombstones?.[index] === 1;
    const own = this.recordHeaders?.get(index);
    return {
      topic: this.topic,
      partition: null,
      keySchema: this.keySchema,
      key: keyLayout === null || this.keySchema === null ? null : plainValue(this.keySchema, keyLayout, rows, index),
      valueSchema: isTombstone ? null : this.valueSchema,
      value: isTombstone ? null : plainValue(this.valueSchema, valueLayout, rows, index),
      timestamp: null,
      headers: own ? [...this.headers, ...own] : this.headers,
    };
  }
}
