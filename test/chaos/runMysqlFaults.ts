/**
 * MySQL to topics to MySQL under load, while worker and server are killed, the network is cut, the server falls silent, the log is rotated every second, transactions come
 * compressed, and a table changes its columns and is replaced. Afterwards the target equals the source row by row, and the topics hold every committed change.
 * Then the log is purged while the source is stopped.
 */
import assert from 'node:assert/strict';
import type { RowDataPacket } from 'mysql2/promise';
import { avroConverter } from '../services/avroConverter.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { DdlStorm, finalCounts, LEDGER, LEDGER_TABLES, MysqlLedgerLoad } from './mysqlLedger.ts';
import { MysqlLedgerPipeline, SOURCE } from './mysqlLedgerPipeline.ts';
import { checkTopics, topicEnds } from './topicCheck.ts';

export interface MysqlFaultRun {
  /** How often each fault strikes. */
  readonly rounds: number;
  /** Longest pause between two faults. */
  readonly maxPauseMs: number;
  readonly report: (line: string) => void;
}

const LANES = 2;
const ROTATE_MS = 1000;
const DDL_PAUSE_MS = 150;
const SNAPSHOT_TIMEOUT_MS = 60_000;
const CATCH_UP_TIMEOUT_MS = 120_000;
/** Longer than the source waits for a sign of life. */
const SILENCE_MS = 4000;

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

export async function runMysqlFaults(run: MysqlFaultRun): Promise<void> {
  const started = Date.now();
  const pipeline = await MysqlLedgerPipeline.start({ schema: LEDGER, tables: LEDGER_TABLES });
  const end = new AbortController();
  const loads = Array.from({ length: LANES }, (_, lane) => new MysqlLedgerLoad(pipeline.sourceUrl, lane, LANES));
  const storm = new DdlStorm(pipeline.sourceUrl, DDL_PAUSE_MS);
  let running: Promise<unknown> = Promise.resolve();
  try {
    await waitUntil('the snapshot is complete', SNAPSHOT_TIMEOUT_MS, () => pipeline.isStreaming());
    const snapshotEnd = await topicEnds(pipeline.brokerSettings, 'ledger.ledger.counter');
    running = Promise.all([...loads, storm].map(load => load.run(end.signal)).concat(rotate(pipeline, end.signal)));
    for (let round = 0; round < run.rounds; round++) {
      for (const [name, strike] of faultsOf(pipeline)) {
        await pause(Math.random() * run.maxPauseMs);
        await strike();
        assert.ok(pipeline.worker.running, `the worker ended by itself after a fault of the ${name}`);
      }
    }
    await pause(1000);
    end.abort();
    await running;

    const lastFault = Date.now();
    await pipeline.caughtUp(CATCH_UP_TIMEOUT_MS);
    const commits = loads.reduce((sum, load) => sum + load.commits, 0);
    run.report(
      `${run.rounds * faultsOf(pipeline).length} faults, ${commits} commits, ${storm.statements} changes of the table; equal ${Date.now() - lastFault} ms after the load's end; ${Date.now() - started} ms in all`,
    );
    assert.ok(commits > 50 && storm.statements > 4, `only ${commits} commits and ${storm.statements} changes`);
    const client = await pipeline.server.connect('ledger');
    const counts = await finalCounts(client).finally(() => client.end());
    const problems = await checkTopics({
      settings: pipeline.brokerSettings,
      converter: avroConverter(pipeline.registryUrl),
      prefix: 'ledger.ledger',
      snapshotEnd,
      finalCounts: counts,
      insertedItems: loads.flatMap(load => load.inserted),
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(pipeline.worker.complaints, []);
    await purge(pipeline);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await pipeline.describe()}`, { cause: error });
  } finally {
    end.abort();
    await running.catch(() => {});
    await pipeline.close();
  }
}

/** Another file every second. */
async function rotate(pipeline: MysqlLedgerPipeline, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pipeline.query('FLUSH BINARY LOGS').catch(() => {}); // it is down
    await pause(ROTATE_MS);
  }
}

type Fault = readonly [name: string, strike: () => Promise<void>];

const faultsOf = ({ server, worker, proxy }: MysqlLedgerPipeline): readonly Fault[] => [
  [
    'worker',
    async () => {
      await worker.kill();
      await worker.restart();
    },
  ],
  [
    'network',
    async () => {
      proxy.cut();
      await pause(Math.random() * 1000);
      proxy.restore();
    },
  ],
  [
    'server',
    async () => {
      await server.kill();
      await server.restart();
    },
  ],
  [
    'silent server',
    async () => {
      server.suspend();
      await pause(SILENCE_MS);
      server.resume();
    },
  ],
];

/** What the server removed while nobody read it is told, never skipped; a new snapshot brings the rows. */
async function purge(pipeline: MysqlLedgerPipeline): Promise<void> {
  await pipeline.worker.request('PUT', `/connectors/${SOURCE}/stop`);
  await waitUntil(
    'the source is stopped',
    30_000,
    async () => (await pipeline.worker.status(SOURCE)).tasks.length === 0,
  );
  await pipeline.query('UPDATE counter SET n = n + 1; FLUSH BINARY LOGS; UPDATE volume SET amount = amount + 1');
  const client = await pipeline.server.connect('ledger');
  const files = async (): Promise<readonly string[]> =>
    (await client.query<RowDataPacket[]>('SHOW BINARY LOGS'))[0].map(row => String(row.Log_name));
  const last = (await files()).at(-1)!;
  // The server keeps what a reader is reading, and does not see at once that the one of the stopped source has gone.
  await waitUntil('the log is purged', 30_000, async () => {
    await client.query('PURGE BINARY LOGS TO ?', [last]);
    return (await files())[0] === last;
  });
  await client.end();
  await pipeline.worker.request('PUT', `/connectors/${SOURCE}/resume`);
  await waitUntil('the source tells of the purge', 30_000, async () => {
    const failure = await pipeline.failure();
    assert.ok(failure === null || failure.includes('MYSQL_LOG_PURGED'), failure ?? '');
    return failure !== null;
  });
  await pipeline.setSource({ 'snapshot.mode': 'when_needed' });
  await pipeline.caughtUp(CATCH_UP_TIMEOUT_MS);
}
