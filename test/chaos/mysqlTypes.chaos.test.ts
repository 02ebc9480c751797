/** 1,000,000 random changes over every type; `SEED` repeats a run. */
import { test } from 'node:test';
import { runMysqlTypes } from './mysqlTypes.ts';

test('1,000,000 random changes of every type reach both targets', { timeout: 7_200_000 }, async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${seed}`);
  // Of a hundred inserted rows about forty are updated and ten deleted.
  const { changes, seconds } = await runMysqlTypes(t, { rows: 670_000, seed, timeoutMs: 3_600_000 });
  t.diagnostic(`${changes} changes in ${seconds.toFixed(0)} s`);
});
