/** What both source cases need: the table, the workers, and their cold start measured. */
import { MysqlSource } from '../mysqlSource.ts';
import { change, createMysqlTable } from '../mysqlTables.ts';
import type { Options } from '../options.ts';
import { rssMiB } from '../processMeter.ts';
import type { Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { type BenchSource, PUBLICATION, SourceConnector } from '../sourceConnector.ts';
import { createTable, createUpdater, fill, TABLE } from '../tables.ts';
import { TopicReader } from '../topicReader.ts';

export const DATABASE = 'bench_source';
const WARM_UP = 'bench_warm_up';
const WARM_UP_ROWS = 20_000;

export async function createSourceDatabase(servers: Servers, options: Options, rows: number): Promise<void> {
  await servers.database(DATABASE);
  const client = await servers.connect(DATABASE);
  try {
    await client.query(createTable(options.columns));
    await client.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLE}`);
    await createUpdater(client);
    await fill(client, options.columns, rows);
  } finally {
    await client.end();
  }
}

/** Makes a source for the warm-up database, which has WARM_UP_ROWS rows. */
type WarmUpSource = (worker: Worker, name: string) => BenchSource;

/** The workers of a PostgreSQL case. */
export async function startWorkers(servers: Servers, options: Options, report: Report): Promise<Worker[]> {
  await servers.database(WARM_UP);
  const client = await servers.connect(WARM_UP);
  await client.query(createTable(options.columns));
  await client.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLE}`);
  await fill(client, options.columns, WARM_UP_ROWS);
  await client.end();
  const source: WarmUpSource = (worker, name) => new SourceConnector(servers, worker, WARM_UP, name);
  return startTimed(servers, options, report, source);
}

/** The workers of a MySQL case. */
export async function startMysqlWorkers(servers: Servers, options: Options, report: Report): Promise<Worker[]> {
  const client = await servers.mysql.connect();
  await client.query(`CREATE DATABASE ${WARM_UP}; USE ${WARM_UP}`);
  await createMysqlTable(client, options.columns, WARM_UP_ROWS);
  await change(client, 'insert', 0, WARM_UP_ROWS);
  await client.end();
  const source: WarmUpSource = (worker, name) => new MysqlSource(servers, worker, WARM_UP, name);
  return startTimed(servers, options, report, source);
}

/**
 * The workers of the case, each started cold and timed to its first event, and thereby warmed up. Before them a worker runs that nobody times: the first
 * who asks a new broker and registry waits for them to get warm.
 */
async function startTimed(servers: Servers, options: Options, report: Report, source: WarmUpSource): Promise<Worker[]> {
  const untimed = await servers.startWorker();
  await firstEvents(servers, source(untimed, 'untimed'));
  await untimed.stop();

  const ours = await servers.startWorker();
  const oursMs = await timed(servers, source(ours, 'warm_up'), report);
  if (!options.peer || servers.brokerSettings.kind !== 'kafka') return [ours];
  const peer = await servers.startPeer();
  const peerMs = await timed(servers, source(peer, 'warm_up'), report);
  report.ratio('startToFirstEventMs', ours.system, peer.system, oursMs / peerMs);
  return [ours, peer];
}

async function timed(servers: Servers, source: BenchSource, report: Report): Promise<number> {
  const { worker } = source;
  const startToFirstEventMs = Math.round(worker.startMs + (await firstEvents(servers, source)));
  report.start(worker.system, { startToFirstEventMs, rssMiB: Math.round(rssMiB(worker.pid)) });
  return startToFirstEventMs;
}

/** Milliseconds from the request for a connector to its first event; resolves after its last. */
async function firstEvents(servers: Servers, source: BenchSource): Promise<number> {
  const reader = await TopicReader.open(servers.brokerSettings);
  const begin = performance.now();
  await source.create('initial');
  const posted = performance.now() - begin;
  const { firstEventMs } = await reader.drain(source.topic, 0, WARM_UP_ROWS, source.check);
  await source.worker.rest.delete(source.name);
  await reader.close();
  return posted + firstEventMs;
}
