/**
 * Whether rows of a table that seem new are worth a try by COPY. A key that turns out to be there (a replay, a change in a flat record) costs the flush a
 * second try, and the table a number of flushes without COPY: doubled each time, halved each time it goes well. Shared by all connections of a task.
 */
const MIN_PAUSE = 4;
const MAX_PAUSE = 256;

export class CopyTrust {
  /** By table: flushes to come without COPY, and how many the next failure costs. */
  readonly #pauses = new Map<number, { left: number; next: number }>();

  /** To be asked once per flush and table. */
  mayTry(table: number): boolean {
    const pause = this.#pauses.get(table);
    if (pause === undefined || pause.left === 0) return true;
    pause.left--;
    return false;
  }

  /** False = another connection has told of it before. */
  failed(table: number): boolean {
    const pause = this.#pauses.get(table);
    if (pause && pause.left > 0) return false;
    const next = pause?.next ?? MIN_PAUSE;
    this.#pauses.set(table, { left: next, next: Math.min(MAX_PAUSE, next * 2) });
    return true;
  }

  succeeded(table: number): void {
    const pause = this.#pauses.get(table);
    if (pause) pause.next = Math.max(MIN_PAUSE, pause.next / 2);
  }
}
