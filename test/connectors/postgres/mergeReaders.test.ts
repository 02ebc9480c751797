import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { mergeReaders } from '../../../connectors/postgres/source/mergeReaders.ts';

async function* reader(items: readonly number[], failure: Error | null): AsyncGenerator<number> {
  for (const item of items) yield item;
  await delay(1);
  if (failure !== null) throw failure;
}

test('gives what all readers give', async () => {
  const given: number[] = [];
  for await (const item of mergeReaders([reader([1, 2], null), reader([3], null)])) given.push(item);
  assert.deepEqual(given.sort(), [1, 2, 3]);
});

test('a reader that fails while nobody waits for it is told of at the next step, and ends no process', async () => {
  const merged = mergeReaders([reader([1], new Error('the connection is lost'))]);
  assert.equal((await merged.next()).value, 1);
  await delay(20);
  await assert.rejects(merged.next(), /the connection is lost/);
});
