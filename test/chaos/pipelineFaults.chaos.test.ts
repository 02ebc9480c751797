/** FAULTS (30) random faults with each broker, or with FAULT_BROKER only; FAULT_SEED repeats a run. The sinks deliver exactly once. */
import { describe, it } from 'node:test';
import { runFaults } from './runFaults.ts';

const FAULTS = Number(process.env.FAULTS ?? 30);

describe(`PostgreSQL to PostgreSQL under ${FAULTS} random faults`, () => {
  for (const broker of ['embedded', 'kafka'] as const) {
    if ((process.env.FAULT_BROKER ?? broker) !== broker) continue;
    it(`loses and repeats nothing with the ${broker} broker`, async t => {
      const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
      t.diagnostic(`FAULT_SEED=${seed}`);
      await runFaults({
        broker,
        delivery: 'exactly-once',
        faults: FAULTS,
        volumeRows: 300_000,
        seed,
        maxPauseMs: 3000,
        report: line => t.diagnostic(line),
      });
    });
  }
});
