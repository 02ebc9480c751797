/**
 * The way of rows into a target over one connection: rows are collected in one log while the log before is being written. Transient failures are
 * retried with back-off, a log that the target refuses because of a record is cut in halves down to that record, and only that one is reported.
 * Order within the lane is kept. Nothing is forgotten: a failure comes out of the next call, whichever it is.
 */
import type { TaskMetrics } from '../../runtime/api/index.ts';
import { HeldRows, type KeepOrigin } from './heldRows.ts';
import type { FailureClass, Retry } from './retryTransient.ts';
import { RowLog } from './rowLog.ts';

export interface FlushTarget {
  /** Writes rows [from, to) of the log in one transaction. Rejects with nothing written. */
  write(log: RowLog, from: number, to: number): Promise<void>;
  classify(error: unknown): FailureClass;
  /** Whether another row stands in the way of a refused one: of its unique value, its parent, its children. Rows to come may clear it. */
  isCollision?(error: unknown): boolean;
  /** A single row that the target refuses. Returns when it is safe elsewhere, or throws to fail the task. */
  reject(log: RowLog, row: number, error: unknown): Promise<void>;
}

export interface FlushBounds {
  readonly maxRows: number;
  readonly maxBytes: number;
  /** How long rows may wait for company while the connection is idle. */
  readonly lingerMs: number;
  /** How long rows are held back that another one stands in the way of; not at all if it is not given. */
  readonly holdMs?: number;
}

/** Between two tries of held rows while no others come. */
const HELD_RETRY_MS = 200;

export class FlushLane {
  readonly #target: FlushTarget;
  readonly #bounds: FlushBounds;
  readonly #metrics: TaskMetrics;
  readonly #retry: Retry;
  #log = new RowLog();
  #spare: RowLog | null = null;
  #oldestMs = 0;
  #flight: Promise<void> | null = null;
  #failure: unknown = null;
  readonly #held: HeldRows;
  /** Rows that were written, or are held back, since the start. */
  doneRows = 0;

  constructor(options: {
    target: FlushTarget;
    bounds: FlushBounds;
    metrics: TaskMetrics;
    retry: Retry;
    keepOrigin?: KeepOrigin;
  }) {
    this.#target = options.target;
    this.#bounds = options.bounds;
    this.#metrics = options.metrics;
    this.#retry = options.retry;
    this.#held = new HeldRows(options.bounds.holdMs ?? 0, options.keepOrigin);
  }

  /** The log to append to, with room for at least one row; append at most `room` rows, then call again. Waits while both logs are full. */
  async open(): Promise<{ log: RowLog; room: number }> {
    this.#throwFailure();
    if (this.#isFull()) await this.#launch();
    return { log: this.#log, room: this.#bounds.maxRows - this.#log.count };
  }

  /** Whether nothing is collected, held back or being written. */
  get isEmpty(): boolean {
    return this.#log.count === 0 && this.#flight === null && this.#held.isEmpty;
  }

  /** Rows that are held back: nothing behind them is safe. `drain` leaves them. */
  get held(): HeldRows {
    return this.#held;
  }

  get maxBytes(): number {
    return this.#bounds.maxBytes;
  }

  /** The log to append one row to, where there is room for it without a wait. It may be another one after the next wait. */
  roomyLog(): RowLog | null {
    return this.#isFull() ? null : this.#log;
  }

  /** Whether the log takes no more; checked between rows for the bytes. */
  #isFull(): boolean {
    return this.#log.count >= this.#bounds.maxRows || this.#log.byteLength >= this.#bounds.maxBytes;
  }

  /** Starts writing what is collected if nothing is being written and it has waited long enough. To be called after each put, and as a tick. */
  nudge(): void {
    this.#throwFailure();
    if (this.#log.count === 0) {
      if (this.#flight === null && this.#held.isDue(HELD_RETRY_MS)) this.#start();
      return;
    }
    if (this.#oldestMs === 0) this.#oldestMs = performance.now();
    if (this.#flight !== null) return;
    if (this.#isFull() || performance.now() - this.#oldestMs >= this.#bounds.lingerMs) this.#start();
  }

  /** Writes everything collected and waits for it. */
  async drain(): Promise<void> {
    while (this.#log.count > 0 || this.#flight !== null) await this.#launch();
    this.#throwFailure();
  }

  /** Forgets what is collected and waits for what is being written, whatever becomes of it. The signal should be aborted. */
  async abandon(): Promise<void> {
    this.#log.reset();
    if (this.#flight) await this.#flight;
  }

  async #launch(): Promise<void> {
    if (this.#flight) await this.#flight;
    this.#throwFailure();
    if (this.#log.count > 0) this.#start();
  }

  #start(): void {
    const log = this.#log;
    this.#log = this.#spare ?? new RowLog();
    this.#spare = null;
    this.#oldestMs = 0;
    this.#flight = this.#flush(log).then(
      () => {
        this.#flight = null;
        this.doneRows += log.count;
        log.reset();
        this.#spare = log;
        if (this.#log.count > 0) this.nudge();
      },
      error => {
        this.#flight = null;
        this.#failure = error;
      },
    );
  }

  async #flush(log: RowLog): Promise<void> {
    const started = performance.now();
    // Their keys come before those of the log: held rows are older.
    const rows = this.#held.isEmpty ? log : this.#held.takeBefore(log);
    await this.#writeRange(rows, 0, rows.count);
    await this.#writeHeld();
    this.#held.settle();
    this.#metrics.gauge('held_rows', this.#held.count);
    this.#metrics.count('flushes');
    this.#metrics.count('flush_time_ms', performance.now() - started);
    this.#metrics.gauge('last_flush_rows', log.count);
    this.#metrics.gauge('last_flush_time_ms', performance.now() - started);
  }

  /** What was written meanwhile may have made room for them, and the last change of a key may be free of what an earlier one met. */
  async #writeHeld(): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; !this.#held.isEmpty && this.#held.count < before; ) {
      before = this.#held.count;
      const rows = this.#held.takeBefore(null);
      await this.#writeRange(rows, 0, rows.count);
    }
  }

  async #writeRange(log: RowLog, from: number, to: number): Promise<void> {
    let start = from;
    if (!this.#held.isEmpty) {
      for (let row = from; row < to; row++) {
        if (!this.#held.mustHold(log, row)) continue;
        if (row > start) await this.#writeFree(log, start, row);
        this.#hold(log, row);
        start = row + 1;
      }
    }
    if (to > start) await this.#writeFree(log, start, to);
  }

  async #writeFree(log: RowLog, from: number, to: number): Promise<void> {
    try {
      await this.#writeRetrying(log, from, to);
      return;
    } catch (error) {
      if (this.#target.classify(error) !== 'record') throw error;
      if (to - from === 1) {
        if (this.#target.isCollision?.(error) && this.#held.takesMore) {
          this.#hold(log, from);
          return;
        }
        this.#metrics.count('rejected_records');
        await this.#target.reject(log, from, error);
        return;
      }
    }
    this.#metrics.count('bisections');
    const middle = from + ((to - from) >> 1);
    await this.#writeRange(log, from, middle);
    await this.#writeRange(log, middle, to);
  }

  #hold(log: RowLog, row: number): void {
    this.#held.add(log, row);
    this.#metrics.count('rows_held_back');
  }

  #writeRetrying(log: RowLog, from: number, to: number): Promise<void> {
    const position = log.byteLength;
    const count = log.count;
    return this.#retry(async () => {
      try {
        await this.#target.write(log, from, to);
      } finally {
        // Rows that folding merged are appended behind the last one; the next try merges anew.
        log.truncate(count, position);
      }
    });
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
