/** How the records of a source task go to their topics: `Sender` delivers at least once, `TransactionalSender` exactly once. */
import type { SourceBatch } from '../../api/index.ts';
import type { OpenBatches } from './openBatches.ts';

export type MarkedBatch = Pick<SourceBatch, 'sourcePartition' | 'sourceOffset' | 'sourceTimestampMs' | 'count'>;

export interface RecordSender {
  /** Takes what is encoded. */
  readonly open: OpenBatches;
  /** Encoded and not yet delivered. */
  readonly activeRecords: number;
  /** All records of a source batch are appended; its position goes with the last of them. */
  mark(batch: MarkedBatch): void;
  /** Sends what is open, in the middle of a poll, as soon as it may go. */
  flush(): void;
  /** All batches of a poll are marked. `last` = nothing may come for long. */
  pollDone(last: boolean): void;
  /** Resolves when less than the bound is encoded and not acknowledged. Rejects when sending failed for good, or at stop. */
  room(signal: AbortSignal): Promise<void>;
  throwIfFailed(): void;
  /** Ends the task with an error that came from beside the loop. */
  fail(error: unknown): void;
  /** Delivers what may be delivered of the rest. False where that did not happen before the signal, or sending failed. */
  drain(signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}
