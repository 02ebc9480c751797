import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowCheck } from './rowCheck.ts';

const value = (id: number, row: number): string => JSON.stringify({ id, at: 1_700_000_000_000 + row, name: 'n' });

test('rows that are missing, doubled, out of order or not committed are found', () => {
  const good = new RowCheck('t', 2);
  for (const [id, row] of [
    [0, 0],
    [1, 0],
    [2, 1],
    [0, 2],
  ] as const) {
    good.add(value(id, row));
  }
  assert.deepEqual(
    good.finish(
      new Map([
        [0, 3],
        [1, 1],
      ]),
    ),
    [],
  );

  const bad = new RowCheck('t', 1);
  for (const row of [0, 2, 1, 1, 5]) bad.add(value(row === 2 || row === 1 ? 7 : row, row));
  assert.deepEqual(bad.finish(new Map([[0, 5]])), [
    't: key 7: row 1 follows row 2',
    't: row 1 of task 0 is there twice',
    't: row 3 of task 0 is committed and not there',
    't: row 4 of task 0 is committed and not there',
    't: rows 5 of task 0 are there and not committed',
  ]);
});
