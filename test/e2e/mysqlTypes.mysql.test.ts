/** A short run of the random changes over every type that `npm run test:chaos` makes by the million. */
import { test } from 'node:test';
import { runMysqlTypes } from '../chaos/mysqlTypes.ts';

test('random changes of every type reach MySQL and PostgreSQL as they are', { timeout: 120_000 }, async t => {
  await runMysqlTypes(t, { rows: 1500, seed: 4, timeoutMs: 60_000, report: line => t.diagnostic(line) });
});
