import { test } from 'node:test';
import { type Fault, runClusterFaults } from '../chaos/clusterFaults.ts';

test('a cluster of three workers under one fault of each kind', async t => {
  const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
  t.diagnostic(`FAULT_SEED=${seed}`);
  const left: Fault[] = ['kill -9', 'halt', 'broker killed', 'network cut'];
  await runClusterFaults(t, {
    next: () => left.shift() ?? null,
    seed,
    // A little longer than a session.
    haltMs: 8_000,
    delayMs: 1_000,
    rows: 2,
    files: 1,
    sinks: 1,
    rowsPerSecond: 60,
    goesOver: false,
    report: line => t.diagnostic(line),
  });
});
