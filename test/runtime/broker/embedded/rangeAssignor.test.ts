import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignRanges } from '../../../../runtime/broker/embedded/rangeAssignor.ts';

function assigned(
  members: Record<string, readonly string[]>,
  counts: Record<string, number>,
): Record<string, readonly string[]> {
  const list = Object.entries(members).map(([memberId, topics]) => ({ memberId, topics }));
  const result = assignRanges(list, new Map(Object.entries(counts)));
  return Object.fromEntries([...result].map(([id, ps]) => [id, ps.map(p => `${p.topic}${p.partition}`)]));
}

test('per topic, members in order of their ids get ranges, the first ones one more', () => {
  assert.deepEqual(assigned({ b: ['t', 'u'], a: ['u', 't'], c: ['t'] }, { t: 5, u: 3 }), {
    a: ['t0', 't1', 'u0', 'u1'],
    b: ['t2', 't3', 'u2'],
    c: ['t4'],
  });
});

test('members beyond the partitions, and topics that do not exist, get nothing', () => {
  assert.deepEqual(assigned({ a: ['t', 'none'], b: ['t'], c: ['none'] }, { t: 1 }), { a: ['t0'], b: [], c: [] });
});
