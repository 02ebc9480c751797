/** Folding against a model that applies every row by itself: random histories, over shapes that give all or some of the columns. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FoldRules, foldRows } from '../../../connectors/shared/foldRows.ts';
import { RowLog, RowOp } from '../../../connectors/shared/rowLog.ts';

/** Shape = bit set of the columns given; a row is a key byte and a byte per column given. Shape 0 = delete, 8 = truncate. */
const COLUMNS = [1, 2, 4];
const COMPLETE = 7;

function pushRow(log: RowLog, op: RowOp, shape: number, key: number | null, values: readonly number[]): number {
  const start = log.out.position;
  if (key !== null) log.out.writeByte(key);
  const keyEnd = log.out.position;
  for (const value of values) log.out.writeByte(value);
  return log.push(op, shape, 0, start, start, keyEnd, 0, log.count);
}

function columnsOf(log: RowLog, row: number): Map<number, number> {
  const given = COLUMNS.filter(c => (log.shapes[row]! & c) !== 0);
  return new Map(given.map((c, i) => [c, log.out.bytes[log.keyEnds[row]! + i]!]));
}

const rules = (mode: FoldRules['mode']): FoldRules => ({
  mode,
  isComplete: shape => shape === COMPLETE,
  merge: (log, earlier, later) => {
    if ((log.shapes[earlier]! & ~log.shapes[later]!) === 0) return later;
    const merged = new Map([...columnsOf(log, earlier), ...columnsOf(log, later)]);
    const shape = [...merged.keys()].reduce((all, c) => all | c, 0);
    const values = COLUMNS.filter(c => merged.has(c)).map(c => merged.get(c)!);
    return pushRow(log, RowOp.write, shape, log.out.bytes[log.keyStarts[later]!]!, values);
  },
});

type Table = Map<number, Map<number, number>>;

function apply(table: Table, log: RowLog, row: number, mode: FoldRules['mode']): void {
  const key = log.out.bytes[log.keyStarts[row]!]!;
  switch (log.ops[row] as RowOp) {
    case RowOp.truncate:
      table.clear();
      return;
    case RowOp.delete:
      table.delete(key);
      return;
    case RowOp.create:
    case RowOp.write: {
      if (mode === 'change' && !table.has(key)) return;
      const before = table.get(key) ?? new Map(COLUMNS.map(c => [c, 0]));
      table.set(key, new Map([...before, ...columnsOf(log, row)]));
    }
  }
}

const sorted = (table: Table): unknown => [...table].sort(([a], [b]) => a - b).map(([k, v]) => [k, [...v].sort()]);

describe('foldRows', () => {
  for (const mode of ['merge', 'change'] as const)
    it(`leads to the same rows as the changes one by one: ${mode}`, () => {
      let state = 7;
      const random = (below: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
      };
      for (let round = 0; round < 300; round++) {
        const log = new RowLog(4, 16);
        const count = 1 + random(60);
        for (let i = 0; i < count; i++) {
          const key = random(8);
          const kind = random(20);
          if (kind === 0) pushRow(log, RowOp.truncate, 8, null, []);
          else if (kind < 6) pushRow(log, RowOp.delete, 0, key, []);
          else {
            const shape = random(2) === 0 ? COMPLETE : 1 + random(7);
            const values = COLUMNS.filter(c => (shape & c) !== 0).map(() => 1 + random(200));
            pushRow(log, kind < 10 ? RowOp.create : RowOp.write, shape, key, values);
          }
        }
        const start: Table = new Map([
          [1, new Map(COLUMNS.map(c => [c, 250]))],
          [2, new Map(COLUMNS.map(c => [c, 251]))],
        ]);
        const expected = structuredClone(start);
        for (let row = 0; row < count; row++) apply(expected, log, row, mode);
        const { steps, foldedRows } = foldRows(log, 0, count, rules(mode));
        const found = structuredClone(start);
        let applied = 0;
        for (const step of steps) {
          const keysOf = (rows: readonly number[]) => rows.map(row => log.out.bytes[log.keyStarts[row]!]!);
          assert.equal(new Set(keysOf(step.writes)).size, step.writes.length, 'a key is written twice in a step');
          assert.equal(new Set(keysOf(step.deletes)).size, step.deletes.length, 'a key is deleted twice in a step');
          for (const row of [...step.truncates, ...step.deletes, ...step.writes]) apply(found, log, row, mode);
          applied += step.truncates.length + step.writes.length;
        }
        assert.deepEqual(sorted(found), sorted(expected));
        assert.ok(foldedRows <= count && applied <= count);
      }
    });

  it('leaves no row out where rows are kept, and starts a new step at a repeated key', () => {
    const log = new RowLog();
    for (const key of [1, 2, 1, 3]) pushRow(log, RowOp.create, COMPLETE, key, [0, 0, 0]);
    pushRow(log, RowOp.delete, 0, 3, []);
    const { steps, foldedRows } = foldRows(log, 0, 5, rules('keep'));
    assert.deepEqual(
      steps.map(s => [s.writes, s.deletes]),
      [
        [[0, 1], []],
        [[2, 3], []],
        [[], [4]],
      ],
    );
    assert.equal(foldedRows, 0);
  });

  it('takes rows without key as different from each other', () => {
    const log = new RowLog();
    for (let i = 0; i < 3; i++) pushRow(log, RowOp.create, COMPLETE, null, [0, 0, 0]);
    assert.deepEqual(foldRows(log, 0, 3, rules('keep')).steps, [{ truncates: [], deletes: [], writes: [0, 1, 2] }]);
  });
});
