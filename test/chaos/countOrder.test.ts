import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CountOrder } from './countOrder.ts';

/** `r5` = snapshot, `5` = change, all of row 1. */
function problems(records: string, final: number): readonly string[] {
  const order = new CountOrder();
  for (const record of records.split(' ')) {
    if (record.startsWith('r')) order.snapshotRow(1, Number(record.slice(1)));
    else order.change(1, Number(record));
  }
  return order.finish(new Map([[1, final]]));
}

describe('the check of counts in a topic', () => {
  it('takes each change once, or again from any earlier one on', () => {
    assert.deepEqual(problems('r3 4 5 6', 6), []);
    assert.deepEqual(problems('r3 4 5 6 4 5 4 5 6 7', 7), []);
    assert.deepEqual(problems('r3 r3 r5 4 5 6', 6), []);
    assert.deepEqual(problems('r9 7 8 9 10', 10), []);
    assert.deepEqual(problems('r3 4 5 r7 5 6 7 8', 8), []);
    assert.deepEqual(problems('r3 4 5 6 5 7', 7), []);
  });

  it('finds a change that was left out, at the end too', () => {
    assert.deepEqual(problems('r3 5', 5), ['row 1: 3 is followed by 5 (highest 3)']);
    assert.deepEqual(problems('r3 4 5 6 4 6 7', 7), ['row 1: 4 is followed by 6 (highest 6)']);
    assert.deepEqual(problems('r3 4', 5), ['row 1: the topic ends at 4, the table at 5']);
    assert.deepEqual(problems('4', 4), ['row 1: a change to 4 before its snapshot']);
  });

  it('finds what happened between two snapshots and has no event', () => {
    assert.deepEqual(problems('r3 r5 6', 6), ['row 1: 3 is followed by 6 (highest 3)']);
    assert.deepEqual(problems('r3 r5', 5), ['row 1: the topic ends at 3, the table at 5']);
  });

  it('finds changes that changed places', () => {
    assert.deepEqual(problems('r3 5 4 6', 6), ['row 1: 3 is followed by 5 (highest 3)']);
    assert.deepEqual(problems('r3 4 r3 4', 4), ['row 1: a snapshot has 3 after 4']);
  });

  it('finds a row that is not in the topic', () => {
    const order = new CountOrder();
    assert.deepEqual(order.finish(new Map([[2, 0]])), ['row 2: the topic ends at undefined, the table at 0']);
  });
});
