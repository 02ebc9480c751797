/** A short one of the random schedules of the chaos runs. */
import { test } from 'node:test';
import { checkSchedule } from '../chaos/runSchedule.ts';

test('the topics hold exactly the committed changes in commit order, and the target equals the source', {
  timeout: 180_000,
}, async t => {
  const seed = Number(process.env.SCHEDULE_SEED ?? Math.floor(Math.random() * 1e9));
  t.diagnostic(`SCHEDULE_SEED=${seed}`);
  await checkSchedule({
    seed,
    clients: 4,
    transactions: 12,
    maxRows: 3000,
    isWild: false,
    source: { 'slot.two.phase': String(seed % 2 === 1) },
    catchUpMs: 60_000,
    report: line => t.diagnostic(line),
  });
});
