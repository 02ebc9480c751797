/**
 * The rows of a datagen connector as a reader of committed records sees them: each once, in order per key, and none missing that its task has committed. A row
 * says its number by its time, and its task by its key.
 */
import assert from 'node:assert/strict';

export const rowFields = 'id:long,at:timestamp,name:string';
const epochMs = 1_700_000_000_000;
const maxProblems = 20;

export class RowCheck {
  readonly problems: string[] = [];
  rows = 0;
  readonly #topic: string;
  readonly #tasks: number;
  /** Per task, what has come: bit n = row n. */
  readonly #seen: Set<number>[];
  readonly #lastOfKey = new Map<number, number>();

  constructor(topic: string, tasks: number) {
    this.#topic = topic;
    this.#tasks = tasks;
    this.#seen = Array.from({ length: tasks }, () => new Set());
  }

  /** A record's value, in the order of its partition. */
  add(value: string): void {
    const { id, at } = JSON.parse(value) as { id: number; at: number };
    const row = at - epochMs;
    const task = id % this.#tasks;
    const seen = this.#seen[task]!;
    this.rows++;
    if (seen.has(row)) this.#report(`row ${row} of task ${task} is there twice`);
    const last = this.#lastOfKey.get(id);
    if (last !== undefined && last > row) this.#report(`key ${id}: row ${row} follows row ${last}`);
    seen.add(row);
    this.#lastOfKey.set(id, row);
  }

  /** `committed`: of each task, the row behind the last one. */
  finish(committed: ReadonlyMap<number, number>): readonly string[] {
    assert.equal(committed.size, this.#tasks);
    for (const [task, next] of committed) {
      const seen = this.#seen[task]!;
      for (let row = 0; row < next; row++) {
        if (!seen.has(row)) this.#report(`row ${row} of task ${task} is committed and not there`);
      }
      const beyond = [...seen].filter(row => row >= next);
      if (beyond.length > 0) this.#report(`rows ${beyond.slice(0, 5)} of task ${task} are there and not committed`);
    }
    return this.problems;
  }

  #report(problem: string): void {
    if (this.problems.length < maxProblems) this.problems.push(`${this.#topic}: ${problem}`);
  }
}
