/**
 * Rows that the target refuses because of another row, which later rows may take out of the way: a unique value that has moved on in a range that is
 * applied again, a child whose parent comes in another topic. All later rows of their keys wait behind them, so that order per key is kept.
 */
import { RowLog, RowOp } from './rowLog.ts';

const MAX_ROWS = 20_000;
/** Of rows as the target takes them; the records that they came from are in memory as well. */
const MAX_BYTES = 32 << 20;

/** What is kept of the batch that a row came in. */
export type KeepOrigin = (origin: unknown, index: number) => unknown;

export class HeldRows {
  readonly #holdMs: number;
  readonly #keepOrigin: KeepOrigin;
  #rows: RowLog | null = null;
  readonly #hashes = new Set<number>();
  /** Since when there has always been one. */
  #sinceMs = 0;
  #triedMs = 0;

  constructor(holdMs: number, keepOrigin: KeepOrigin = origin => origin) {
    this.#holdMs = holdMs;
    this.#keepOrigin = keepOrigin;
  }

  get isEmpty(): boolean {
    return this.#rows === null;
  }

  get count(): number {
    return this.#rows?.count ?? 0;
  }

  get takesMore(): boolean {
    if (this.#holdMs === 0 || this.count >= MAX_ROWS || (this.#rows?.byteLength ?? 0) >= MAX_BYTES) return false;
    return this.#sinceMs === 0 || performance.now() - this.#sinceMs < this.#holdMs;
  }

  isDue(intervalMs: number): boolean {
    return this.#rows !== null && performance.now() - this.#triedMs >= intervalMs;
  }

  /** Hashes of their keys. */
  get keyHashes(): Iterable<number> {
    return this.#hashes;
  }

  add(log: RowLog, row: number): void {
    if (this.#sinceMs === 0) this.#sinceMs = performance.now();
    this.#rows ??= new RowLog();
    const origin = this.#keepOrigin(log.origins[log.originIds[row]!], log.originIndexes[row]!);
    this.#rows.copyRow(log, row, origin);
    this.#hashes.add(log.hashes[row]!);
  }

  /** Whether the row comes after a held one with its key. Another key with the same hash only waits along. A truncate does away with those of its table. */
  mustHold(log: RowLog, row: number): boolean {
    if (log.ops[row] !== RowOp.truncate) return this.#hashes.has(log.hashes[row]!);
    this.#keep((rows, held) => rows.tables[held] !== log.tables[row]);
    return false;
  }

  /** Takes all of them out, followed by the rows of the log. */
  takeBefore(log: RowLog | null): RowLog {
    const rows = this.#rows ?? new RowLog();
    this.#rows = null;
    this.#hashes.clear();
    this.#triedMs = performance.now();
    if (log) for (let row = 0; row < log.count; row++) rows.copyRow(log, row);
    return rows;
  }

  /** After everything was written that could be. */
  settle(): void {
    if (this.isEmpty) this.#sinceMs = 0;
  }

  /** The records that they came from, as the log has them: batch and index. */
  *origins(): Iterable<readonly [batch: unknown, index: number]> {
    const rows = this.#rows;
    if (rows === null) return;
    for (let row = 0; row < rows.count; row++) yield [rows.origins[rows.originIds[row]!], rows.originIndexes[row]!];
  }

  /** Forgets those whose batch is no longer this task's. */
  forget(isGone: (batch: unknown) => boolean): void {
    this.#keep((rows, held) => !isGone(rows.origins[rows.originIds[held]!]));
    this.settle();
  }

  #keep(isKept: (rows: RowLog, held: number) => boolean): void {
    const rows = this.#rows;
    if (rows === null) return;
    this.#rows = null;
    this.#hashes.clear();
    for (let row = 0; row < rows.count; row++) if (isKept(rows, row)) this.add(rows, row);
  }
}
