/** SCHEDULES (5) random schedules with up to SCHEDULE_ROWS (1,000,000) rows a transaction; SCHEDULE_SEED repeats one. */
import { test } from 'node:test';
import { checkSchedule } from './runSchedule.ts';

const RUNS = process.env.SCHEDULE_SEED === undefined ? Number(process.env.SCHEDULES ?? 5) : 1;

for (let run = 0; run < RUNS; run++) {
  const seed = Number(process.env.SCHEDULE_SEED ?? Math.floor(Math.random() * 1e9));
  const isWild = seed % 3 === 0;
  test(`random transactions, SCHEDULE_SEED=${seed}`, async t => {
    await checkSchedule({
      seed,
      clients: 5,
      transactions: 60,
      maxRows: Number(process.env.SCHEDULE_ROWS ?? 1_000_000),
      isWild,
      source: { 'slot.two.phase': String(run % 2 === 1) },
      catchUpMs: 900_000,
      report: line => t.diagnostic(line),
    });
  });
}
