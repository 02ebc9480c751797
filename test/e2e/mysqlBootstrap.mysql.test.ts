/** A short run of what `npm run test:chaos` does at length: a table is copied while it changes and the worker is killed. */
import { test } from 'node:test';
import { runMysqlBootstrap } from '../chaos/mysqlBootstrap.ts';

test('a table is copied by an incremental snapshot under load, through kills', { timeout: 240_000 }, async t => {
  const run = {
    rows: 30_000,
    changesPerSecond: 500,
    kills: 2,
    mode: 'incremental',
    seed: 5,
    timeoutMs: 60_000,
  } as const;
  await runMysqlBootstrap(t, run);
});
