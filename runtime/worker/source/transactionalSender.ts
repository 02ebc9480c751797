/**
 * Delivers exactly once: records and the offsets behind them in one transaction of the task's own producer. The next polls are encoded while a transaction is
 * being committed and share the one that follows, so that a source is not slower for small polls. A transaction never ends between a record and the offset
 * behind it. Any failure ends the task: the transaction is aborted, and a new task goes on from the last committed offset.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectError, type Logger, type SourceTask } from '../../api/index.ts';
import type { Producer } from '../../broker/port.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import { isRetriable } from '../errors/errorPolicy.ts';
import type { ConnectorOffsets } from '../offsets/connectorOffsets.ts';
import { canonicalPartition } from '../offsets/offsetJson.ts';
import type { SourcePosition } from './offsetTracker.ts';
import { OpenBatches } from './openBatches.ts';
import type { MarkedBatch, RecordSender } from './recordSender.ts';
import type { TransactionSettings } from './transactionSettings.ts';
import { Waiters } from './waiters.ts';

export interface TransactionalSenderOptions {
  /** Initialised: older producers of the task are fenced. */
  readonly producer: Producer;
  readonly transactionalId: string;
  readonly offsets: ConnectorOffsets;
  readonly task: SourceTask;
  readonly settings: TransactionSettings;
  /** Whether the source gives an offset behind all its records: then a transaction waits for it. */
  readonly waitsForOffsets: boolean;
  readonly onTopicUsed: (topic: string) => void;
  readonly batchBytes: number;
  /** Bound for what is encoded and not yet acknowledged. */
  readonly bufferBytes: number;
  readonly meter: TaskMeter;
  readonly logger: Logger;
  /** Aborted when the task is given up: nothing is sent or committed from then on. */
  readonly signal: AbortSignal;
}

/** For the abort of what a task leaves open: its successor would have it aborted too. */
const abortMs = 2_000;
const closeMs = 2_000;
const unref = { ref: false };

export class TransactionalSender implements RecordSender {
  readonly open: OpenBatches;
  readonly #options: TransactionalSenderOptions;
  readonly #waiters = new Waiters();
  #begun = false;
  /** Of the transaction: what was sent, and the newest position per source partition. */
  #records = 0;
  #positions = new Map<string, SourcePosition>();
  /** Source partitions with records behind their last position. */
  readonly #unfinished = new Set<string>();
  #sourceTimestampMs: number | null = null;
  #sendingBytes = 0;
  /** Records that were appended in all, now and at the end of the last poll. */
  #sentEver = 0;
  #appendedAtPollEnd = 0;
  #wanted = false;
  #begunMs = 0;
  #ending: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #copying: Promise<void> | null = null;
  #copyNext: SourcePosition[] = [];

  constructor(options: TransactionalSenderOptions) {
    this.#options = options;
    this.open = new OpenBatches(options.batchBytes);
  }

  get activeRecords(): number {
    return this.#records + this.open.recordCount;
  }

  mark({ sourcePartition: partition, sourceOffset: offset, sourceTimestampMs, count }: MarkedBatch): void {
    const key = canonicalPartition(partition);
    if (offset !== null) {
      this.#positions.set(key, { partition, offset });
      this.#unfinished.delete(key);
    } else if (count > 0 && this.#options.waitsForOffsets) this.#unfinished.add(key);
    if (sourceTimestampMs !== null) this.#sourceTimestampMs = sourceTimestampMs;
  }

  flush(): void {
    if (this.#ending === null) this.#sendOpen();
  }

  pollDone(last: boolean): void {
    this.#appendedAtPollEnd = this.#sentEver + this.open.recordCount;
    if (!this.#hasContent) return;
    if (this.#begunMs === 0) this.#begunMs = Date.now();
    const { boundary, intervalMs } = this.#options.settings;
    if (boundary === 'poll' || (boundary === 'interval' && (last || Date.now() - this.#begunMs >= intervalMs))) {
      this.#wanted = true;
      this.#endIfDue();
    }
  }

  /** The task's own end of a transaction, behind the last batch that was marked. */
  async endTransaction(how: 'commit' | 'abort', signal: AbortSignal): Promise<void> {
    await this.#settled(signal);
    this.#end(how === 'commit' ? () => this.#commit() : () => this.#abort());
    await this.#settled(signal);
  }

  async room(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.throwIfFailed();
      signal.throwIfAborted();
      if (this.#sendingBytes + this.open.byteLength < this.#options.bufferBytes) return;
      this.flush();
      await this.#waiters.next(signal);
    }
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#waiters.wake();
  }

  /** What a poll has left half-way, and what the task itself has not ended, is dropped: it comes again. */
  async drain(signal: AbortSignal): Promise<boolean> {
    const { boundary } = this.#options.settings;
    while (this.#failure === null && !signal.aborted) {
      if (this.#ending === null) {
        if (!this.#hasContent) return true;
        if (boundary === 'connector' || !this.#mayEnd) return false;
        this.#wanted = true;
        this.#endIfDue();
      }
      await this.#waiters.next(signal).catch(() => undefined);
    }
    return false;
  }

  async close(): Promise<void> {
    const { producer, logger } = this.#options;
    if (this.#begun && this.#ending === null) {
      const aborted = producer.abortTransaction().catch(error => {
        logger.debug(
          { err: error },
          'the open transaction could not be aborted; the next task of this name has it aborted',
        );
      });
      await Promise.race([aborted, delay(abortMs, undefined, unref)]);
    }
    await Promise.race([this.#copying, delay(closeMs, undefined, unref)]);
    await producer.close(closeMs);
  }

  get #hasContent(): boolean {
    return this.#begun || this.open.recordCount > 0 || this.#positions.size > 0;
  }

  /** Nothing of a poll is half-way, and every record has an offset behind it. */
  get #mayEnd(): boolean {
    return this.#sentEver + this.open.recordCount === this.#appendedAtPollEnd && this.#unfinished.size === 0;
  }

  #endIfDue(): void {
    if (!this.#wanted || this.#ending !== null || this.#failure !== null || !this.#mayEnd) return;
    this.#end(() => this.#commit());
  }

  #end(work: () => Promise<void>): void {
    this.#wanted = false;
    this.#begunMs = 0;
    this.#ending = work()
      .catch(error => this.fail(this.#reported(error)))
      .finally(() => {
        this.#ending = null;
        this.#waiters.wake();
        this.#endIfDue();
      });
  }

  /** Sends what is left, and the offsets, and commits. */
  async #commit(): Promise<void> {
    const { producer, offsets, meter, signal } = this.#options;
    this.#sendOpen();
    const positions = [...this.#positions.values()];
    const records = this.#records;
    const sourceTimestampMs = this.#sourceTimestampMs;
    this.#positions.clear();
    this.#sourceTimestampMs = null;
    signal.throwIfAborted();
    const started = performance.now();
    const staged = positions.length === 0 ? null : offsets.stage(positions);
    if (staged !== null) {
      this.#begin();
      // Rejects with what the commit rejects with as well.
      producer.send(staged.batches).catch(error => this.fail(this.#reported(error)));
    }
    if (!this.#begun) return;
    try {
      await producer.commitTransaction();
    } catch (error) {
      meter.add('offset_commit_failure_total');
      throw error;
    }
    this.#begun = false;
    this.#records = 0;
    staged?.written();
    meter.add('offset_commit_success_total');
    meter.observe('offset_commit_time_ms', performance.now() - started);
    meter.observe('transaction_size', records);
    meter.set('source_record_active_count', this.activeRecords);
    if (sourceTimestampMs !== null) {
      meter.observe('source_record_lag_ms', Math.max(0, Date.now() - sourceTimestampMs));
    }
    if (offsets.hasCopy) this.#copy(positions);
    await this.#tell(positions);
  }

  /** Drops the records; their offsets are committed without them. */
  async #abort(): Promise<void> {
    for (const batch of this.open.take()) this.open.release(batch);
    this.#appendedAtPollEnd = this.#sentEver;
    if (this.#begun) {
      await this.#options.producer.abortTransaction();
      this.#begun = false;
    }
    this.#records = 0;
    await this.#commit();
  }

  async #tell(positions: readonly SourcePosition[]): Promise<void> {
    const { task, logger } = this.#options;
    if (task.commit === undefined) return;
    for (const { partition, offset } of positions) {
      try {
        await task.commit(partition, offset);
      } catch (error) {
        if (!isRetriable(error)) throw error;
        logger.warn(
          { err: error, partition, offset },
          'the source did not take a committed offset; it gets the next one',
        );
      }
    }
  }

  /** To the worker's own topic, beside the transactions: what a connector without its own topic, or an older worker, would read. */
  #copy(positions: readonly SourcePosition[]): void {
    this.#copyNext = [
      ...this.#copyNext.filter(known => !positions.some(p => p.partition === known.partition)),
      ...positions,
    ];
    if (this.#copying !== null) return;
    const { offsets, logger } = this.#options;
    const write = async (): Promise<void> => {
      while (this.#copyNext.length > 0) {
        const next = this.#copyNext;
        this.#copyNext = [];
        await offsets.writeCopy(next);
      }
    };
    this.#copying = write()
      .catch(error => logger.warn({ err: error }, "offsets could not be copied to the worker's offsets topic"))
      .finally(() => {
        this.#copying = null;
      });
  }

  #begin(): void {
    if (this.#begun) return;
    this.#options.producer.beginTransaction();
    this.#begun = true;
  }

  #sendOpen(): void {
    const { producer, signal, meter, onTopicUsed } = this.#options;
    if (this.open.recordCount === 0 || this.#failure !== null || signal.aborted) return;
    this.#begin();
    const records = this.open.recordCount;
    const batches = this.open.take();
    const bytes = batches.reduce((sum, batch) => sum + batch.bytes.length, 0);
    this.#sendingBytes += bytes;
    this.#records += records;
    this.#sentEver += records;
    producer.send(batches).then(
      () => {
        this.#sendingBytes -= bytes;
        for (const batch of batches) {
          onTopicUsed(batch.topic);
          this.open.release(batch);
        }
        meter.add('source_record_write_total', records);
        meter.add('source_record_write_bytes_total', bytes);
        this.#waiters.wake();
      },
      error => this.fail(this.#reported(error)),
    );
  }

  async #settled(signal: AbortSignal): Promise<void> {
    while (this.#ending !== null) await this.#waiters.next(signal);
    this.throwIfFailed();
  }

  /** A producer that may write no more: whether another task took over, or it took too long, shows when the task starts again. */
  #reported(error: unknown): unknown {
    if (!(error instanceof ConnectError) || error.code !== 'BROKER_PRODUCER_FENCED') return error;
    return new ConnectError(
      'SOURCE_TRANSACTION_FENCED',
      `Another producer took over transactional.id ${this.#options.transactionalId} of this task, or its transaction took longer than transaction.timeout.ms. What was not committed is read again.`,
      { cause: error, retriable: true },
    );
  }
}
