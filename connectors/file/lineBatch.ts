import type { ConnectRecord, SourceBatch, SourceOffset, SourcePartition } from '../../runtime/api/index.ts';
import { STRING } from '../../schemas/data/index.ts';
import type { Lines } from './lineSplitter.ts';

/** Lines as records without a key. */
export class LineBatch implements SourceBatch {
  readonly topic: string;
  readonly partition = null;
  readonly keySchema = null;
  readonly valueSchema = STRING;
  readonly count: number;
  readonly byteLength: number;
  readonly sourcePartition: SourcePartition;
  readonly sourceOffset: SourceOffset | null;
  readonly sourceTimestampMs = null;
  readonly headers = [];
  readonly #lines: Lines;

  constructor(topic: string, lines: Lines, sourcePartition: SourcePartition, sourceOffset: SourceOffset | null) {
    this.topic = topic;
    this.#lines = lines;
    this.count = lines.starts.length;
    this.byteLength = lines.ends[this.count - 1]! - lines.starts[0]!;
    this.sourcePartition = sourcePartition;
    this.sourceOffset = sourceOffset;
  }

  record(index: number): ConnectRecord {
    const { bytes, starts, ends } = this.#lines;
    return {
      topic: this.topic,
      partition: null,
      keySchema: null,
      key: null,
      valueSchema: STRING,
      value: bytes.toString('utf8', starts[index], ends[index]),
      timestamp: null,
      headers: this.headers,
    };
  }
}
