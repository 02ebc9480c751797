import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzStream } from './fuzzStream.ts';

test('100,000 damaged segments', async t => {
  const mutations = Number(process.env.FUZZ_MUTATIONS ?? 100_000);
  const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
  t.diagnostic(`FAULT_SEED=${seed}`);
  const { errors, waits, events } = await fuzzStream(mutations, seed);
  t.diagnostic(`${mutations} mutations: ${errors} errors, ${waits} waits, ${events} events`);
  assert.ok(errors > mutations / 20);
});
