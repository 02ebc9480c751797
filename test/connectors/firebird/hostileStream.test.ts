import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzStream } from './fuzzStream.ts';

test('damaged segments give an error with a code, a wait or events, at the connector too', async () => {
  const mutations = 60;
  const { errors } = await fuzzStream(mutations, 5);
  assert.ok(errors > mutations / 20, `${errors} errors`);
});
