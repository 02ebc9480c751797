import { test } from 'node:test';
import { faults, runClusterFaults } from './clusterFaults.ts';

/** CLUSTER_SECONDS (900): how long faults come; FAULT_SEED to repeat a run. */
const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 900);

test(`a cluster of three workers under faults for ${SECONDS} s`, async t => {
  const seed = Number(process.env.FAULT_SEED ?? Date.now() % 2 ** 32);
  t.diagnostic(`FAULT_SEED=${seed}`);
  let untilMs = 0;
  await runClusterFaults(t, {
    next: random => {
      untilMs ||= Date.now() + SECONDS * 1_000;
      return Date.now() < untilMs ? faults[Math.floor(random() * faults.length)]! : null;
    },
    seed,
    haltMs: 20_000,
    delayMs: 5_000,
    // 12 connectors with 30 tasks.
    rows: 7,
    files: 3,
    sinks: 2,
    rowsPerSecond: 45,
    goesOver: true,
    report: line => t.diagnostic(line),
  });
});
