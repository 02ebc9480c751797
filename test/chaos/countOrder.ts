/**
 * The promise to a consumer of the topic, at least once and in order per key, as a check of one row's counts, which go up by one in the source.
 *
 * The first snapshot says where a row starts; each later count has an event of its own, since a snapshot that starts over is taken beside the slot of the
 * first. A task that starts again reads from its last committed offset. So the counts of a row come in stretches: inside one, each follows the one before
 * by exactly one; a new one may go back any way, and never begins beyond the first count that was not published yet. Hence every count is there at least
 * once, and the first time in order. That a repeat may not leave out counts either is more than the promise: it would show that something takes
 * records from the middle.
 */
export class CountOrder {
  readonly problems: string[] = [];
  readonly #rows = new Map<number, { highest: number; last: number }>();

  snapshotRow(id: number, n: number): void {
    const row = this.#rows.get(id);
    if (row !== undefined && n < row.highest) this.#report(`row ${id}: a snapshot has ${n} after ${row.highest}`);
    // What happened between two snapshots is still to come as changes.
    if (row === undefined) this.#rows.set(id, { highest: n, last: n });
    else row.last = row.highest;
  }

  change(id: number, n: number): void {
    const row = this.#rows.get(id);
    if (row === undefined) {
      this.#report(`row ${id}: a change to ${n} before its snapshot`);
      this.#rows.set(id, { highest: n, last: n });
      return;
    }
    const isNext = n === row.last + 1 || n === row.highest + 1;
    if (!isNext && n > row.last) this.#report(`row ${id}: ${row.last} is followed by ${n} (highest ${row.highest})`);
    row.last = n;
    row.highest = Math.max(row.highest, n);
  }

  /** The problems, those of the end included. */
  finish(finalCounts: ReadonlyMap<number, number>): readonly string[] {
    for (const [id, n] of finalCounts) {
      const highest = this.#rows.get(id)?.highest;
      if (highest !== n) this.#report(`row ${id}: the topic ends at ${highest}, the table at ${n}`);
    }
    return this.problems;
  }

  #report(problem: string): void {
    if (this.problems.length < 20) this.problems.push(problem);
  }
}
