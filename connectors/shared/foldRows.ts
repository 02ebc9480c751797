/**
 * Folds a range of a row log by key, so that a set-based statement meets each key once: the last change wins, columns that only an earlier change
 * carried are kept, and a row written after its deletion is deleted first unless it gives every column. What comes out touches disjoint keys
 * within a step: deletes run before writes. Where rows must not be folded (insert mode) a repeated key starts a new step instead.
 */
import { type RowLog, RowOp } from './rowLog.ts';

export interface FoldRules {
  /**
   * `merge`: one row per key, which is there afterwards (upsert). `change`: the same, but a write changes nothing where there is no row (update).
   * `keep`: no row is left out (insert).
   */
  readonly mode: 'merge' | 'change' | 'keep';
  /** Whether rows of the shape give every column of their table. */
  isComplete(shape: number): boolean;
  /**
   * Appends to the log the row that has the columns of `later` and, where it lacks some, those of `earlier`, and returns its index; or returns
   * `later` where it lacks none.
   */
  merge(log: RowLog, earlier: number, later: number): number;
}

/** Row indexes, in order of the last change. Keys are disjoint in `writes`; a key in `deletes` and in `writes` is deleted, then written. */
export interface FoldStep {
  /** Runs first: the tables of these rows are emptied. */
  readonly truncates: readonly number[];
  readonly deletes: readonly number[];
  readonly writes: readonly number[];
}
export interface FoldResult {
  readonly steps: readonly FoldStep[];
  readonly foldedRows: number;
}

/** A truncate is a barrier: rows before and after it are never folded together. */
export function foldRows(log: RowLog, from: number, to: number, rules: FoldRules): FoldResult {
  const steps: FoldStep[] = [];
  let foldedRows = 0;
  let start = from;
  for (let row = from; row <= to; row++) {
    if (row < to && log.ops[row] !== RowOp.truncate) continue;
    if (row > start) {
      const part = rules.mode === 'keep' ? keepRows(log, start, row) : mergeRows(log, start, row, rules);
      steps.push(...part.steps);
      foldedRows += part.foldedRows;
    }
    if (row < to) steps.push({ truncates: [row], deletes: [], writes: [] });
    start = row + 1;
  }
  return { steps, foldedRows };
}

/** Open addressing over row numbers relative to `from`, one more than that in the slots. */
class KeySlots {
  readonly #slots: Int32Array;
  readonly #mask: number;
  readonly #log: RowLog;
  readonly #from: number;

  constructor(log: RowLog, from: number, rows: number) {
    let size = 16;
    while (size < rows * 2) size *= 2;
    this.#slots = new Int32Array(size);
    this.#mask = size - 1;
    this.#log = log;
    this.#from = from;
  }

  /** Puts the row in and returns the row with the same key that was there, or -1. */
  replace(row: number): number {
    const slots = this.#slots;
    const from = this.#from;
    let at = this.#log.hashes[row]! & this.#mask;
    for (;;) {
      const found = slots[at]!;
      if (found === 0) {
        slots[at] = row - from + 1;
        return -1;
      }
      if (this.#log.sameKey(found - 1 + from, row)) {
        slots[at] = row - from + 1;
        return found - 1 + from;
      }
      at = (at + 1) & this.#mask;
    }
  }

  clear(): void {
    this.#slots.fill(0);
  }
}

const NOTHING = -1;

function mergeRows(log: RowLog, from: number, to: number, rules: FoldRules): FoldResult {
  const keys = new KeySlots(log, from, to - from);
  /** By row: what stands for it now (itself, a merged row, or nothing), and the delete that must run before it. */
  const now = new Int32Array(to - from);
  const deleteFirst = new Int32Array(to - from).fill(NOTHING);
  let folded = 0;
  for (let row = from; row < to; row++) {
    const at = row - from;
    now[at] = row;
    if (log.keyStarts[row] === log.keyEnds[row]) continue;
    const before = keys.replace(row);
    if (before === -1) continue;
    folded++;
    const previous = now[before - from]!;
    now[before - from] = NOTHING;
    if (log.ops[row] === RowOp.delete) continue;
    if (log.ops[previous] === RowOp.delete) {
      if (rules.mode === 'change') now[at] = previous;
      else if (!rules.isComplete(log.shapes[row]!)) deleteFirst[at] = previous;
      continue;
    }
    deleteFirst[at] = deleteFirst[before - from]!;
    now[at] = rules.merge(log, previous, row);
  }
  const deletes: number[] = [];
  const writes: number[] = [];
  for (let at = 0; at < to - from; at++) {
    const row = now[at]!;
    if (row === NOTHING) continue;
    if (deleteFirst[at] !== NOTHING) deletes.push(deleteFirst[at]!);
    (log.ops[row] === RowOp.delete ? deletes : writes).push(row);
  }
  return { steps: [{ truncates: [], deletes, writes }], foldedRows: folded };
}

function keepRows(log: RowLog, from: number, to: number): FoldResult {
  const keys = new KeySlots(log, from, to - from);
  const steps: FoldStep[] = [];
  let deletes: number[] = [];
  let writes: number[] = [];
  for (let row = from; row < to; row++) {
    if (log.keyStarts[row] !== log.keyEnds[row] && keys.replace(row) !== -1) {
      steps.push({ truncates: [], deletes, writes });
      [deletes, writes] = [[], []];
      keys.clear();
      keys.replace(row);
    }
    (log.ops[row] === RowOp.delete ? deletes : writes).push(row);
  }
  steps.push({ truncates: [], deletes, writes });
  return { steps, foldedRows: 0 };
}
