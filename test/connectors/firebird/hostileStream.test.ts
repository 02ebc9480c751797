import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzStream } from './fuzzStream.ts';

test('damaged segments give an error with a code, a wait or events, at the connector too', async () => {
  const mutations = 1500;
  const { errors, waits } = await fuzzStream(mutations, 5);
  assert.ok(errors > mutations / 20, `${errors} errors`);
  assert.ok(waits > 0, 'some were waited for');
});
