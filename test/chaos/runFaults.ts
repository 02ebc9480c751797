/**
 * The fault run: PostgreSQL to topics to PostgreSQL under load, while worker, databases, broker and task threads are killed at random, the snapshot
 * included. Afterwards the target must equal the source row by row, and the topic must hold every committed change, in order per key.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { compareTables } from '../demo/compareTables.ts';
import { avroConverter } from '../services/avroConverter.ts';
import { LocalKafka } from '../services/localKafka.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { createLedger, finalCounts, LEDGER_TABLES, LedgerLoad } from './ledger.ts';
import { checkCounterTopic } from './topicCounts.ts';

export interface FaultRun {
  readonly broker: 'embedded' | 'kafka';
  readonly faults: number;
  /** Rows of the table that makes the snapshot long. */
  readonly bulkRows: number;
  readonly seed: number;
  /** Longest pause between two faults. */
  readonly maxPauseMs: number;
  readonly report: (line: string) => void;
}

const CATCH_UP_TIMEOUT_MS = 180_000;

/** Numbers in [0, 1) from a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

export async function runFaults(run: FaultRun): Promise<void> {
  const random = randomFrom(run.seed);
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const source = await LocalPostgres.start({ fsync: 'off' });
    cleanups.push(() => source.stop());
    const target = await LocalPostgres.start({ fsync: 'off' });
    cleanups.push(() => target.stop());
    await query(source.url('postgres'), 'CREATE DATABASE ledger');
    await query(target.url('postgres'), 'CREATE DATABASE copy');
    await createLedger(source.url('ledger'), run.bulkRows);

    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
    const kafka = run.broker === 'kafka' ? await LocalKafka.start() : null;
    if (kafka) cleanups.push(() => kafka.stop());
    const where = kafka
      ? ['--bootstrap-servers', kafka.bootstrapServers, '--schema-registry', kafka.registryUrl]
      : ['--data-dir', dataDir];
    const worker = await WorkerProcess.start(where, {
      MILLRACE_TEST_HOOKS: '1', // SIGUSR2 ends a task thread
      CONNECT_OFFSET_FLUSH_INTERVAL_MS: '500',
      CONNECT_ERRORS_RESTART_MAX: '1000',
    });
    cleanups.push(() => worker.kill());
    await createConnectors(worker, source.port, target.port);

    const stopLoad = new AbortController();
    const load = new LedgerLoad(source.url('ledger'));
    const loading = load.run(stopLoad.signal);
    cleanups.push(async () => {
      stopLoad.abort();
      await loading;
    });

    const kinds: [string, () => Promise<void>][] = [
      ['worker', () => killWorker(worker, random)],
      ['task thread', async () => void process.kill(worker.pid, 'SIGUSR2')],
      ['source database', () => killDatabase(source, random)],
      ['target database', () => killDatabase(target, random)],
    ];
    if (kafka) {
      const killBroker = async (): Promise<void> => {
        await kafka.killBroker();
        await pause(random() * 1000);
        await kafka.startBroker();
      };
      kinds.push(['broker', killBroker]);
    }
    const counts = new Map<string, number>();
    for (let n = 0; n < run.faults; n++) {
      await pause(random() * run.maxPauseMs);
      const [name, strike] = kinds[n < kinds.length ? n : Math.floor(random() * kinds.length)]!;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      await strike();
      assert.ok(worker.running, `the worker ended by itself after a fault of the ${name}:\n${worker.output}`);
    }
    await pause(1000);
    stopLoad.abort();
    await loading;
    run.report(
      `${run.broker}: ${[...counts].map(([name, times]) => `${times} × ${name}`).join(', ')}; ${load.commits} commits`,
    );

    await caughtUp(worker, source.url('ledger'), target.url('copy'));
    const settings: BrokerSettings = kafka
      ? { kind: 'kafka', settings: { 'bootstrap.servers': kafka.bootstrapServers } }
      : { kind: 'embedded', dataDir };
    const converter = avroConverter(`${kafka ? kafka.registryUrl : `${worker.url}/registry`}`);
    const problems = await checkCounterTopic(
      settings,
      converter,
      'ledger.public.counter',
      await finalCounts(source.url('ledger')),
    );
    assert.deepEqual(problems, []);
    await worker.stop();
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

async function killWorker(worker: WorkerProcess, random: () => number): Promise<void> {
  await worker.kill();
  await pause(random() * 300);
  await worker.restart();
}

async function killDatabase(database: LocalPostgres, random: () => number): Promise<void> {
  await database.kill();
  await pause(random() * 1000);
  await database.restart();
}

async function caughtUp(worker: WorkerProcess, sourceUrl: string, targetUrl: string): Promise<void> {
  let last = '';
  const equal = async (): Promise<boolean> => {
    const { rows, differences, examples } = await compareTables(sourceUrl, targetUrl, LEDGER_TABLES);
    last = `${differences} of ${rows} rows differ: ${examples.join('; ')}`;
    return differences === 0;
  };
  try {
    await waitUntil('the target equals the source', CATCH_UP_TIMEOUT_MS, equal, 500);
  } catch (error) {
    const status = await worker.request('GET', '/connectors?expand=status').catch(String);
    throw new Error(`${last}\n${JSON.stringify(status, null, 1)}\n${worker.output}`, { cause: error });
  }
}

async function createConnectors(worker: WorkerProcess, sourcePort: number, targetPort: number): Promise<void> {
  await worker.createConnector('ledger-source', {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': '127.0.0.1',
    'database.port': String(sourcePort),
    'database.user': 'postgres',
    'database.password': 'postgres',
    'database.dbname': 'ledger',
    'topic.prefix': 'ledger',
    'plugin.name': 'pgoutput',
  });
  await worker.createConnector('ledger-sink', {
    'connector.class': 'millrace.PostgresSink',
    'topics.regex': 'ledger\\.public\\..*',
    'connection.url': `postgres://postgres:postgres@127.0.0.1:${targetPort}/copy`,
    'table.name.format': '${source.table}',
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'auto.create': 'true',
    'consumer.override.metadata.max.age.ms': '1000',
    'consumer.override.session.timeout.ms': '6000',
  });
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
