import { describe, it } from 'node:test';
import { runFaults } from './runFaults.ts';

describe('PostgreSQL to PostgreSQL under 30 random faults', () => {
  for (const broker of ['embedded', 'kafka'] as const) {
    it(`loses nothing with the ${broker} broker`, async t => {
      const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
      t.diagnostic(`FAULT_SEED=${seed}`);
      await runFaults({
        broker,
        faults: 30,
        volumeRows: 300_000,
        seed,
        maxPauseMs: 3000,
        report: line => t.diagnostic(line),
      });
    });
  }
});
