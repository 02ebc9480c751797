/** What is kept of a batch for a row that is held back: its one record, so that the bytes of the batch can go. */
import type { SinkBatch, SinkRecord } from '../../runtime/api/index.ts';

export class HeldRecord implements Pick<SinkBatch, 'originalTopic' | 'partition' | 'offset' | 'record'> {
  readonly originalTopic: string;
  readonly partition: number;
  readonly #offset: number;
  readonly #record: SinkRecord;

  private constructor(batch: SinkBatch, index: number) {
    this.originalTopic = batch.originalTopic;
    this.partition = batch.partition;
    this.#offset = batch.offset(index);
    this.#record = batch.record(index);
  }

  /** In place of the batch that a row came in, and its index there. */
  static of(origin: unknown, index: number): unknown {
    return origin instanceof HeldRecord ? origin : new HeldRecord(origin as SinkBatch, index);
  }

  offset(): number {
    return this.#offset;
  }

  record(): SinkRecord {
    return this.#record;
  }
}
