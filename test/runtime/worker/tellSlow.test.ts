import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellSlow } from '../../../runtime/worker/tellSlow.ts';

test('what takes long is told while it is waited for', async () => {
  const told: string[] = [];
  const logger = { error() {}, info() {}, debug() {}, warn: (_: object, message: string) => void told.push(message) };
  let resolve = (_: string): void => {};
  const slow = tellSlow(new Promise<string>(done => (resolve = done)), 'its offsets', logger, 1);
  // Of the test itself: the timer of what is tested keeps nothing alive.
  const alive = setInterval(() => told.length >= 2 && resolve('there'), 1);
  assert.equal(await slow, 'there');
  clearInterval(alive);
  assert.equal(told[0], 'the task waits for its offsets');
  const { length } = told;
  assert.equal(await tellSlow(Promise.resolve('at once'), 'nothing', logger, 1), 'at once');
  assert.equal(told.length, length);
});
