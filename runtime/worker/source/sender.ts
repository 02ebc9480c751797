/**
 * Sends what was encoded, several sends under way at a time, bounded in bytes. While all slots are taken, records gather into larger batches.
 * A send that fails for a passing reason is repeated, with all after it, through a new producer: nothing is left out, order stays.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectError, type Logger } from '../../api/index.ts';
import type { PendingBatch, Producer } from '../../broker/port.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import { isRetriable } from '../errors/errorPolicy.ts';
import type { OffsetTracker, SendGroup, SourcePosition } from './offsetTracker.ts';
import { OpenBatches } from './openBatches.ts';
import type { MarkedBatch, RecordSender } from './recordSender.ts';
import { Waiters } from './waiters.ts';

interface Sending {
  readonly group: SendGroup;
  readonly batches: readonly PendingBatch[];
  readonly bytes: number;
  readonly records: number;
  readonly sourceTimestampMs: number | null;
}

export interface SenderOptions {
  readonly createProducer: () => Producer;
  readonly tracker: OffsetTracker;
  readonly onTopicUsed: (topic: string) => void;
  readonly batchBytes: number;
  /** Bound for what is encoded and not yet acknowledged. */
  readonly bufferBytes: number;
  readonly meter: TaskMeter;
  readonly logger: Logger;
  /** Aborted when the task is given up: nothing is sent from then on. */
  readonly signal: AbortSignal;
}

const maxSends = 5;
const retryDelayMs = 100;
const maxRetryDelayMs = 5_000;
/** A full disk seldom passes by itself: the status of the task must tell of it. Nothing acknowledged for so long = it is no matter of a moment. */
const fullDiskPatienceMs = 5_000;

export class Sender implements RecordSender {
  readonly open: OpenBatches;
  readonly #options: SenderOptions;
  #producer: Producer;
  #sending: Sending[] = [];
  #positions: SourcePosition[] = [];
  #sourceTimestampMs: number | null = null;
  #sendingBytes = 0;
  #sendingRecords = 0;
  #underWay = 0;
  #sendError: { readonly error: unknown } | null = null;
  #failure: { readonly error: unknown } | null = null;
  #attempts = 0;
  #acknowledgedMs = Date.now();
  readonly #waiters = new Waiters();
  #closed = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#producer = options.createProducer();
    this.open = new OpenBatches(options.batchBytes);
  }

  mark({ sourcePartition: partition, sourceOffset: offset, sourceTimestampMs }: MarkedBatch): void {
    if (offset !== null) this.#positions.push({ partition, offset });
    if (sourceTimestampMs !== null) this.#sourceTimestampMs = sourceTimestampMs;
  }

  /** Sends what is open if a slot is free; else it goes when one is. */
  flush(): void {
    if (this.#underWay >= maxSends || this.#sendError !== null || this.#failure !== null) return;
    // A task that was given up may come back from its poll: another may run in its place by now.
    if (this.#options.signal.aborted) return;
    if (this.open.recordCount === 0 && this.#positions.length === 0) return;
    const group = this.#options.tracker.open();
    group.positions.push(...this.#positions);
    const records = this.open.recordCount;
    const batches = this.open.take();
    const bytes = batches.reduce((sum, batch) => sum + batch.bytes.length, 0);
    const sending = { group, batches, bytes, records, sourceTimestampMs: this.#sourceTimestampMs };
    this.#positions = [];
    this.#sourceTimestampMs = null;
    this.#sending.push(sending);
    this.#sendingBytes += bytes;
    this.#sendingRecords += records;
    this.#send(sending);
  }

  pollDone(): void {
    this.flush();
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

  /** Sends the rest and waits until all is acknowledged. */
  async drain(signal: AbortSignal): Promise<boolean> {
    while (this.#failure === null && !signal.aborted) {
      this.flush();
      if (this.#sending.length === 0 && this.#positions.length === 0) return true;
      await this.#waiters.next(signal).catch(() => undefined);
    }
    return this.#sending.length === 0 && this.open.recordCount === 0;
  }

  get activeRecords(): number {
    return this.#sendingRecords + this.open.recordCount;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#producer.close();
  }

  #send(sending: Sending): void {
    if (sending.batches.length === 0) {
      this.#acknowledged(sending);
      return;
    }
    this.#underWay++;
    this.#producer.send(sending.batches).then(
      () => {
        this.#underWay--;
        this.#attempts = 0;
        this.#acknowledgedMs = Date.now();
        this.#acknowledged(sending);
        this.flush();
        this.#retryWhenSettled();
      },
      error => {
        this.#underWay--;
        this.#sendError ??= { error };
        this.#retryWhenSettled();
      },
    );
  }

  #acknowledged(sending: Sending): void {
    this.#sending.splice(this.#sending.indexOf(sending), 1);
    this.#sendingBytes -= sending.bytes;
    this.#sendingRecords -= sending.records;
    const { meter, tracker, onTopicUsed } = this.#options;
    for (const batch of sending.batches) {
      onTopicUsed(batch.topic);
      this.open.release(batch);
    }
    meter.add('source_record_write_total', sending.records);
    meter.add('source_record_write_bytes_total', sending.bytes);
    meter.set('source_record_active_count', this.activeRecords);
    if (sending.sourceTimestampMs !== null) {
      meter.observe('source_record_lag_ms', Math.max(0, Date.now() - sending.sourceTimestampMs));
    }
    tracker.ack(sending.group);
    this.#waiters.wake();
  }

  /** A failed producer fails all its sends; their buffers are ours again when every one has settled. */
  #retryWhenSettled(): void {
    if (this.#sendError === null || this.#underWay > 0 || this.#failure !== null) return;
    const { error } = this.#sendError;
    if (!isRetriable(error) || this.#isLasting(error) || this.#closed || this.#options.signal.aborted) {
      this.fail(error);
      return;
    }
    this.#retry(error).catch(failure => this.fail(failure));
  }

  #isLasting(error: unknown): boolean {
    const isDiskFull = error instanceof ConnectError && error.code === 'BROKER_DISK_FULL';
    return isDiskFull && this.#attempts > 0 && Date.now() - this.#acknowledgedMs > fullDiskPatienceMs;
  }

  async #retry(error: unknown): Promise<void> {
    const { logger, signal, createProducer, meter } = this.#options;
    const waitMs = Math.min(retryDelayMs * 2 ** this.#attempts++, maxRetryDelayMs);
    logger.warn({ err: error, waitMs, records: this.#sendingRecords }, 'records could not be sent; sending them again');
    meter.add('total_retries');
    await this.#producer.close().catch(closing => logger.debug({ err: closing }, 'failed producer did not close'));
    try {
      await delay(waitMs, undefined, { signal });
    } catch {
      // The stop came first: the records were not delivered, and the send's error says why.
      throw error;
    }
    this.#producer = createProducer();
    this.#sendError = null;
    for (const sending of [...this.#sending]) this.#send(sending);
    this.#waiters.wake();
  }
}
