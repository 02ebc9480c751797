/** 1,000,000 random changes over every type; `SEED` repeats a run, `ROWS` makes it shorter. */
import { test } from 'node:test';
import { runMysqlTypes } from './mysqlTypes.ts';

test('1,000,000 random changes of every type reach both targets', { timeout: 7_200_000 }, async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${seed}`);
  // Of a hundred inserted rows almost forty are updated and ten deleted; what changes a row that is gone is no change.
  const rows = Number(process.env.ROWS ?? 690_000);
  await runMysqlTypes(t, { rows, seed, timeoutMs: 3_600_000, report: line => t.diagnostic(line) });
});
