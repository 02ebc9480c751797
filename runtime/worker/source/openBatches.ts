/** Record batches being filled, one per topic partition; a full one is closed and waits for the next send. */
import type { PendingBatch } from '../../broker/port.ts';
import { BufferPool, RecordBatchBuilder } from '../../broker/records/index.ts';
import type { SourceTopic } from './sourceTopics.ts';

/** Upper bound of what v2 adds to a record: lengths, deltas, attributes. */
const recordOverheadBytes = 32;
/** Most memory kept for batches to come. */
const keptBytes = 16 * 1024 * 1024;

export class OpenBatches {
  recordCount = 0;
  readonly #maxBatchBytes: number;
  readonly #pool = new BufferPool(keptBytes);
  readonly #byTopic = new Map<SourceTopic, (RecordBatchBuilder | undefined)[]>();
  #closed: PendingBatch[] = [];
  #closedBytes = 0;
  #lastTopic: SourceTopic | null = null;
  #lastBuilders: (RecordBatchBuilder | undefined)[] = [];

  constructor(maxBatchBytes: number) {
    this.#maxBatchBytes = maxBatchBytes;
  }

  get byteLength(): number {
    let total = this.#closedBytes;
    for (const builders of this.#byTopic.values()) {
      for (const builder of builders) if (builder !== undefined) total += builder.byteLength;
    }
    return total;
  }

  /** Ranges as in `RecordBatchBuilder.append`; key and value lie in the same bytes. */
  append(
    topic: SourceTopic,
    partition: number,
    now: number,
    timestamp: number,
    bytes: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    headers: Buffer,
  ): void {
    if (topic !== this.#lastTopic) this.#select(topic);
    let builder = this.#lastBuilders[partition];
    const recordBytes = keyEnd + valueEnd + headers.length + recordOverheadBytes;
    if (builder !== undefined && builder.byteLength + recordBytes > this.#maxBatchBytes) {
      this.#close(builder, topic);
      builder = undefined;
    }
    if (builder === undefined) {
      const expectedBytes = topic.expectedBytes(partition) + recordBytes;
      builder = new RecordBatchBuilder(topic.name, partition, now, expectedBytes, this.#pool);
      this.#lastBuilders[partition] = builder;
    }
    builder.append(timestamp, bytes, keyStart, keyEnd, bytes, valueStart, valueEnd, headers);
    this.recordCount++;
  }

  /** Everything that was appended, in order per partition; empty afterwards. */
  take(): PendingBatch[] {
    for (const [topic, builders] of this.#byTopic) {
      for (const builder of builders) if (builder !== undefined) this.#close(builder, topic);
    }
    const batches = this.#closed;
    this.#byTopic.clear();
    this.#lastTopic = null;
    this.#closed = [];
    this.#closedBytes = 0;
    this.recordCount = 0;
    return batches;
  }

  /** Acknowledged: its memory serves the next ones. */
  release(batch: PendingBatch): void {
    this.#pool.give(batch.bytes);
  }

  #select(topic: SourceTopic): void {
    let builders = this.#byTopic.get(topic);
    if (builders === undefined) this.#byTopic.set(topic, (builders = []));
    this.#lastTopic = topic;
    this.#lastBuilders = builders;
  }

  #close(builder: RecordBatchBuilder, topic: SourceTopic): void {
    this.#closed.push(builder.finish());
    this.#closedBytes += builder.byteLength;
    topic.batchClosed(builder.partition, builder.byteLength);
    if (builder.partition === topic.stickyPartition) topic.turn();
  }
}
