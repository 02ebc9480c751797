import { test } from 'node:test';
import { runShop } from './runShop.ts';

test('Firebird to Firebird and PostgreSQL, through two faults', { timeout: 180_000 }, async t => {
  await runShop(t, {
    version: 4,
    faults: 2,
    seed: 4,
    maxPauseMs: 500,
    peacefulCommits: 40,
    report: line => t.diagnostic(line),
  });
});
