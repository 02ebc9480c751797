import { describe, it } from 'node:test';
import { runFaults } from '../chaos/runFaults.ts';

describe('PostgreSQL to PostgreSQL under a few faults of each kind', () => {
  for (const broker of ['embedded', 'kafka'] as const) {
    it(`loses nothing with the ${broker} broker`, async t => {
      const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
      t.diagnostic(`FAULT_SEED=${seed}`);
      await runFaults({
        broker,
        delivery: 'at-least-once',
        faults: 9,
        volumeRows: 200_000,
        seed,
        maxPauseMs: 1500,
        report: line => t.diagnostic(line),
      });
    });
  }
});
