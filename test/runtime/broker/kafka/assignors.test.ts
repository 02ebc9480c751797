import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cooperativeStickyAssignor, rangeAssignor } from '../../../../runtime/broker/kafka/assignors.ts';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  type Subscription,
} from '../../../../runtime/broker/kafka/consumerProtocol.ts';

const partitions = (topic: string, ...list: number[]) => list.map(partition => ({ topic, partition }));
const member = (topics: string[], owned = partitions('t'), generationId = 1): Subscription => ({
  topics,
  owned,
  generationId,
});
const shown = (assignment: ReadonlyMap<string, readonly { topic: string; partition: number }[]>) =>
  Object.fromEntries(
    [...assignment].map(([id, list]) => [
      id,
      list
        .map(p => `${p.topic}${p.partition}`)
        .sort()
        .join(),
    ]),
  );

test('range gives neighbours, the first members one more', () => {
  const members = new Map([
    ['b', member(['t', 'u'])],
    ['a', member(['t'])],
  ]);
  const assignment = rangeAssignor.assign(
    members,
    new Map([
      ['t', 3],
      ['u', 1],
    ]),
  );
  assert.deepEqual(shown(assignment), { a: 't0,t1', b: 't2,u0' });
});

test('sticky: a new member gets its share in two steps, others keep theirs', () => {
  const counts = new Map([['t', 4]]);
  const first = cooperativeStickyAssignor.assign(
    new Map([
      ['a', member(['t'], partitions('t', 0, 1, 2, 3))],
      ['b', member(['t'])],
    ]),
    counts,
  );
  assert.equal(first.get('a')!.length, 2);
  assert.deepEqual(first.get('b'), [], 'what a still holds is given to nobody');
  const second = cooperativeStickyAssignor.assign(
    new Map([
      ['a', member(['t'], first.get('a'), 2)],
      ['b', member(['t'], [], 2)],
    ]),
    counts,
  );
  assert.deepEqual(second.get('a'), first.get('a'));
  assert.equal(second.get('b')!.length, 2);
});

test('sticky: of two that claim a partition the one of the younger generation holds it', () => {
  const assignment = cooperativeStickyAssignor.assign(
    new Map([
      ['old', member(['t'], partitions('t', 0), 3)],
      ['new', member(['t'], partitions('t', 0), 4)],
    ]),
    new Map([['t', 2]]),
  );
  assert.deepEqual(shown(assignment), { new: 't0', old: 't1' });
});

test('sticky: balanced to one, and whole, for members that come and go at random', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 48271) & 0x7fffffff) >>> 0;
    return (seed >>> 8) % below;
  };
  let held = new Map<string, { topic: string; partition: number }[]>();
  for (let round = 0; round < 200; round++) {
    const ids = Array.from({ length: 1 + random(6) }, (_, i) => `m${i}`);
    const counts = new Map([
      ['t', 1 + random(9)],
      ['u', random(4)],
    ]);
    const subscriptions = (): Map<string, Subscription> =>
      new Map(ids.map(id => [id, member(['t', 'u'], held.get(id) ?? [], round)]));
    held = cooperativeStickyAssignor.assign(subscriptions(), counts);
    held = cooperativeStickyAssignor.assign(subscriptions(), counts);
    const sizes = [...held.values()].map(list => list.length);
    const all = [...held.values()].flat().map(p => `${p.topic}${p.partition}`);
    const total = counts.get('t')! + counts.get('u')!;
    assert.equal(new Set(all).size, total, 'every partition has one holder after two rounds');
    assert.equal(all.length, total, 'no partition has two');
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `sizes ${sizes}`);
  }
});

test('the consumer protocol comes back as written', () => {
  const subscription = {
    topics: ['t', 'é'],
    owned: [...partitions('t', 2, 5), ...partitions('é', 0)],
    generationId: 9,
  };
  assert.deepEqual(decodeSubscription(encodeSubscription(subscription)), subscription);
  assert.deepEqual(decodeAssignment(encodeAssignment(subscription.owned)), subscription.owned);
  assert.deepEqual(decodeAssignment(Buffer.alloc(0)), []);
  // Version 0, as kafkajs and old librdkafka write it.
  assert.deepEqual(decodeSubscription(Buffer.from('00000000000100017400000000', 'hex')), {
    topics: ['t'],
    owned: [],
    generationId: -1,
  });
});
