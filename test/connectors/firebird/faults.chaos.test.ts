import { test } from 'node:test';
import type { FirebirdVersion } from '../../services/localFirebird.ts';
import { runShop } from './runShop.ts';

for (const version of [4, 5] as readonly FirebirdVersion[]) {
  test(`Firebird ${version} to Firebird and PostgreSQL under 30 random faults`, async t => {
    const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
    t.diagnostic(`FAULT_SEED=${seed}`);
    await runShop(t, {
      version,
      faults: Number(process.env.FAULTS ?? 30),
      seed,
      maxPauseMs: 1500,
      peacefulCommits: 150,
      report: line => t.diagnostic(line),
    });
  });
}
