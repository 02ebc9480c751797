/**
 * The fault run: PostgreSQL to topics to PostgreSQL under load, while worker, databases, broker and task threads are killed at random, first during the
 * snapshot, then during the stream. Afterwards the target equals the source row by row, the topics hold every committed change (see countOrder.ts),
 * nothing went wrong that nobody caused, the worker stops in time and leaves nothing behind in the databases.
 */
import assert from 'node:assert/strict';
import { avroConverter } from '../services/avroConverter.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { finalCounts, LedgerLoad } from './ledger.ts';
import { LedgerPipeline } from './ledgerPipeline.ts';
import { randomOf } from './random.ts';
import { checkTopics } from './topicCheck.ts';

export interface FaultRun {
  readonly broker: 'embedded' | 'kafka';
  /** Of the sink that keeps the target equal; the one that logs is exactly-once always. */
  readonly delivery: 'at-least-once' | 'exactly-once';
  readonly faults: number;
  /** Rows of the table that makes the snapshot long. */
  readonly volumeRows: number;
  readonly seed: number;
  /** Longest pause between two faults. */
  readonly maxPauseMs: number;
  readonly report: (line: string) => void;
}

const LANES = 2;
const SNAPSHOT_TIMEOUT_MS = 120_000;
/** From the last fault on. The longest wait before a restart is part of it, and all that was written meanwhile: more with more faults. */
const catchUpTimeoutMs = (faults: number): number => Math.max(300_000, faults * 9_000);

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

type Fault = readonly [name: string, strike: () => Promise<void>];

export async function runFaults(run: FaultRun): Promise<void> {
  const below = randomOf(run.seed);
  const random = (): number => below(2 ** 32) / 2 ** 32;
  const started = Date.now();
  const pipeline = await LedgerPipeline.start({
    broker: run.broker,
    volumeRows: run.volumeRows,
    hasNetworks: true,
    hasLog: true,
    sink: { 'delivery.guarantee': run.delivery },
  });
  const stopLoad = new AbortController();
  const lanes = Array.from({ length: LANES }, (_, lane) => new LedgerLoad(pipeline.sourceUrl, lane, LANES));
  const loading = Promise.all(lanes.map(load => load.run(stopLoad.signal)));
  try {
    const faults = faultsOf(pipeline, random);
    const counts = new Map<string, number>();
    const strike = async (...struck: readonly Fault[]): Promise<void> => {
      for (const [name] of struck) counts.set(name, (counts.get(name) ?? 0) + 1);
      await Promise.all(struck.map(([, how]) => how()));
      const what = struck.map(([name]) => name).join(' and ');
      assert.ok(pipeline.worker.running, `the worker ended by itself after a fault of the ${what}`);
    };

    let duringSnapshot = 0;
    for (const fault of faults) {
      if (!(await pipeline.isSnapshotUnderWay())) break;
      await pause(random() * 300);
      if (await pipeline.isCopying()) duringSnapshot++;
      await strike(fault);
    }
    await waitUntil('the snapshot is complete', SNAPSHOT_TIMEOUT_MS, () => pipeline.isSnapshotSafe());
    const snapshotEnd = await pipeline.topicEnds('ledger.public.counter');
    const insertedBefore = lanes.map(load => load.inserted.length);

    const total = (): number => [...counts.values()].reduce((sum, times) => sum + times, 0);
    for (let n = 0; total() < run.faults; n++) {
      await pause(random() * run.maxPauseMs);
      const first = n < faults.length ? n : Math.floor(random() * faults.length);
      // now and then two at once
      const second = random() < 0.15 && total() + 2 <= run.faults ? Math.floor(random() * faults.length) : first;
      await strike(...[...new Set([first, second])].map(index => faults[index]!));
    }
    await pause(1000);
    stopLoad.abort();
    await loading;

    const lastFault = Date.now();
    await pipeline.caughtUp(catchUpTimeoutMs(run.faults));
    const recoveredMs = Date.now() - lastFault;
    const logged = await pipeline.logHasAllOnce(catchUpTimeoutMs(run.faults));
    const commits = lanes.reduce((sum, load) => sum + load.commits, 0);
    run.report(
      `${run.broker}: ${total()} faults (${[...counts].map(([name, times]) => `${times} × ${name}`).join(', ')}), ${duringSnapshot} of them during the snapshot; ` +
        `${commits} commits; equal ${recoveredMs} ms after the load's end; ${logged} records of counters, each once in the log; ${Date.now() - started} ms in all`,
    );
    assert.ok(duringSnapshot >= 3, `only ${duringSnapshot} faults met the snapshot: it is too short`);
    assert.ok(commits > run.faults * 10, `only ${commits} commits`);

    const problems = await checkTopics({
      settings: pipeline.brokerSettings,
      converter: avroConverter(pipeline.registryUrl),
      snapshotEnd,
      finalCounts: await finalCounts(pipeline.sourceUrl),
      insertedItems: lanes.flatMap((load, lane) => load.inserted.slice(insertedBefore[lane])),
    });
    assert.deepEqual(problems, []);
    run.report(`${run.broker}: idle CPU ${((await pipeline.idleCpu()) * 100).toFixed(1)} %`);
    await pipeline.stopsWell();
    await pipeline.stopsAlone();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await pipeline.describe()}`, { cause: error });
  } finally {
    stopLoad.abort();
    await loading;
    await pipeline.close();
  }
}

/** Those that interrupt the snapshot first. */
function faultsOf(pipeline: LedgerPipeline, random: () => number): readonly Fault[] {
  const { source, target, worker, kafka, networks } = pipeline;
  const faults: Fault[] = [
    [
      'source database',
      async () => {
        await source.kill();
        await pause(random() * 1000);
        await source.restart();
      },
    ],
    [
      'worker',
      async () => {
        await worker.kill();
        await pause(random() * 300);
        await worker.restart();
      },
    ],
    // a worker that is being killed as well has no threads left
    ['task thread', async () => void (worker.running && process.kill(worker.pid, 'SIGUSR2'))],
    [
      'target database',
      async () => {
        await target.kill();
        await pause(random() * 1000);
        await target.restart();
      },
    ],
  ];
  for (const [name, network] of Object.entries(networks ?? {})) {
    faults.push([
      `network of the ${name}`,
      async () => {
        network.cut();
        await pause(random() * 1000);
        network.restore();
      },
    ]);
  }
  if (kafka !== null) {
    faults.push([
      'broker',
      async () => {
        await kafka.killBroker();
        await pause(random() * 1000);
        await kafka.startBroker();
      },
    ]);
  }
  return faults;
}
