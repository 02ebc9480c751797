/** What both source cases need: the table, the workers, and their cold start measured. */
import type { Options } from '../options.ts';
import { rssMiB } from '../processMeter.ts';
import type { Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { PUBLICATION, SourceConnector } from '../sourceConnector.ts';
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

/**
 * The workers of the case, each started cold and timed to its first event, and thereby warmed up. Before them a worker runs that nobody times: the first
 * who asks a new broker and registry waits for them to get warm.
 */
export async function startWorkers(servers: Servers, options: Options, report: Report): Promise<Worker[]> {
  await servers.database(WARM_UP);
  const client = await servers.connect(WARM_UP);
  await client.query(createTable(options.columns));
  await client.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLE}`);
  await fill(client, options.columns, WARM_UP_ROWS);
  await client.end();

  const untimed = await servers.startWorker();
  await firstEvents(servers, untimed, 'untimed');
  await untimed.stop();

  const ours = await servers.startWorker();
  const oursMs = await timed(servers, ours, report);
  if (!options.peer || servers.brokerSettings.kind !== 'kafka') return [ours];
  const peer = await servers.startPeer();
  const peerMs = await timed(servers, peer, report);
  report.ratio('startToFirstEventMs', ours.system, peer.system, oursMs / peerMs);
  return [ours, peer];
}

async function timed(servers: Servers, worker: Worker, report: Report): Promise<number> {
  const startToFirstEventMs = Math.round(worker.startMs + (await firstEvents(servers, worker, 'warm_up')));
  report.start(worker.system, { startToFirstEventMs, rssMiB: Math.round(rssMiB(worker.pid)) });
  return startToFirstEventMs;
}

/** Milliseconds from the request for a connector to its first event; resolves after its last. */
async function firstEvents(servers: Servers, worker: Worker, name: string): Promise<number> {
  const reader = await TopicReader.open(servers.brokerSettings);
  const connector = new SourceConnector(servers, worker, WARM_UP, name);
  const begin = performance.now();
  await connector.create('initial');
  const posted = performance.now() - begin;
  const { firstEventMs } = await reader.drain(connector.topic, 0, WARM_UP_ROWS, connector.check);
  await worker.rest.delete(connector.name);
  await reader.close();
  return posted + firstEventMs;
}
