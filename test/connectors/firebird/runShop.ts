/**
 * The shop into topics and into two targets, under a load of three connections: first in peace, then while worker and Firebird server are killed at
 * random. Each time both targets equal the source row by row; no topic has anything that was rolled back.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { FirebirdVersion } from '../../services/localFirebird.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { randomFrom, ShopClient } from './shopLoad.ts';
import { ShopPipeline } from './shopPipeline.ts';

export interface ShopRun {
  readonly version: FirebirdVersion;
  readonly faults: number;
  readonly seed: number;
  /** Longest time between two faults. */
  readonly maxPauseMs: number;
  /** Commits before the first fault. */
  readonly peacefulCommits: number;
  readonly report: (line: string) => void;
}

const CLIENTS = [1, 2, 3];
const LOAD_TIMEOUT_MS = 120_000;
const CATCH_UP_TIMEOUT_MS = 120_000;

export async function runShop(t: { after(f: () => Promise<void>): void }, run: ShopRun): Promise<void> {
  const pipeline = await ShopPipeline.start(t, run.version);
  const { server, worker, source } = pipeline;
  const random = randomFrom(run.seed);
  const load = (seed: number): { stop(): Promise<void>; clients: readonly ShopClient[] } => {
    const end = new AbortController();
    const clients = CLIENTS.map(client => new ShopClient(source, client, seed, client === 1));
    const working = Promise.all(clients.map(client => client.run(end.signal)));
    // Told by `stop`.
    working.catch(() => {});
    return {
      clients,
      stop: async () => {
        end.abort();
        await working;
      },
    };
  };
  const commitsOf = (clients: readonly ShopClient[]): number =>
    clients.reduce((sum, client) => sum + client.commits, 0);

  const peaceful = load(run.seed);
  try {
    await waitUntil(
      'the load',
      LOAD_TIMEOUT_MS,
      () => commitsOf(peaceful.clients) >= run.peacefulCommits && peaceful.clients.every(client => client.isThroughDdl),
    );
  } finally {
    await peaceful.stop();
  }
  const rows = await pipeline.equal(CATCH_UP_TIMEOUT_MS);
  run.report(`in peace: ${commitsOf(peaceful.clients)} commits, ${rows} rows equal in both targets`);
  if (run.faults === 0) return;

  const counts = { worker: 0, server: 0 };
  const heldBack = new Set<string>();
  const lookAtLog = (): void => {
    for (const tnx of pipeline.heldBack()) heldBack.add(tnx);
  };
  const hard = load(run.seed + 1000);
  try {
    for (let fault = 0; fault < run.faults; fault++) {
      await delay(200 + random(run.maxPauseMs));
      // Both kinds come about, whatever the seed; now and then both at once.
      const kind = fault < 2 ? fault : random(5) === 0 ? 2 : random(2);
      if (kind !== 0) {
        counts.server++;
        await server.kill();
      }
      if (kind !== 1) {
        counts.worker++;
        lookAtLog();
        await worker.kill();
        await worker.restart();
      }
      if (kind !== 0) await server.restart();
    }
    await delay(500);
  } finally {
    await hard.stop();
  }
  lookAtLog();
  const all = await pipeline.equal(CATCH_UP_TIMEOUT_MS);
  const { events, transactions, problems } = await pipeline.topics(
    new Set([...peaceful.clients, ...hard.clients].flatMap(client => [...client.undone])),
  );
  run.report(
    `${counts.worker} × worker and ${counts.server} × server killed: ${commitsOf(hard.clients)} commits, ${all} rows equal in both targets; ${events} events of ${transactions.size} transactions in the topics; ` +
      `${heldBack.size} transactions left out whose COMMIT is in the journal and which the server rolled back`,
  );
  assert.deepEqual(problems, []);
  assert.ok(commitsOf(hard.clients) > run.faults, `only ${commitsOf(hard.clients)} commits`);
}
