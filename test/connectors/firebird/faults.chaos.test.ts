import { test } from 'node:test';
import type { FirebirdVersion } from '../../services/localFirebird.ts';
import { runShop } from './runShop.ts';

/** Kills can damage a database: Firebird then ends each session that meets the damage. Such a run shows nothing, and another database takes its place. */
const DATABASES = 3;
const DAMAGED = /consistency check/;

for (const version of [4, 5] as readonly FirebirdVersion[]) {
  test(`Firebird ${version} to Firebird and PostgreSQL under 30 random faults`, async t => {
    const first = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
    for (let n = 1; ; n++) {
      const seed = first + n - 1;
      t.diagnostic(`FAULT_SEED=${seed}`);
      try {
        await runShop(t, {
          version,
          faults: Number(process.env.FAULTS ?? 30),
          seed,
          maxPauseMs: 1500,
          peacefulCommits: 150,
          report: line => t.diagnostic(line),
        });
        return;
      } catch (error) {
        if (n === DATABASES || !DAMAGED.test(String(error))) throw error;
        t.diagnostic(`the database is damaged, and the run begins again with another: ${String(error).slice(0, 200)}`);
      }
    }
  });
}
