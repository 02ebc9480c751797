/** 2,000,000 rows are copied while 2,000 changes a second run and the worker is killed ten times, in both ways of copying. */
import { test } from 'node:test';
import { runMysqlBootstrap } from './mysqlBootstrap.ts';

for (const mode of ['incremental', 'initial'] as const) {
  test(`a table is copied under load without locks: ${mode}`, { timeout: 3_600_000 }, async t => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    t.diagnostic(`seed ${seed}`);
    const run = { rows: 2_000_000, changesPerSecond: 2000, kills: 10, mode, seed, timeoutMs: 1_800_000 };
    const { changes, seconds } = await runMysqlBootstrap(t, run);
    t.diagnostic(`${changes} changes in ${seconds.toFixed(0)} s`);
  });
}
