/** What both source cases need: the table, the workers, and their cold start measured. */
import type { Options } from '../options.ts';
import { rssMiB } from '../processMeter.ts';
import type { Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { PUBLICATION, SourceConnector } from '../sourceConnector.ts';
import { createTable, createUpdater, fill, TABLE } from '../tables.ts';
import { TopicReader } from '../topicReader.ts';

export const DATABASE = 'bench_source';
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

/** The workers of the case, ours first, each started cold and timed to its first event, and thereby warmed up. */
export async function startWorkers(servers: Servers, options: Options, report: Report): Promise<Worker[]> {
  const warmUp = 'bench_warm_up';
  await servers.database(warmUp);
  const client = await servers.connect(warmUp);
  await client.query(createTable(options.columns));
  await client.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLE}`);
  await fill(client, options.columns, WARM_UP_ROWS);
  await client.end();

  const workers: Worker[] = [];
  const starts: { ms: number; rss: number }[] = [];
  for (const start of options.peer && servers.brokerSettings.kind === 'kafka'
    ? [() => servers.startWorker(), () => servers.startPeer()]
    : [() => servers.startWorker()]) {
    const worker = await start();
    workers.push(worker);
    const reader = await TopicReader.open(servers.brokerSettings);
    const connector = new SourceConnector(servers, worker, warmUp, 'warm_up');
    const begin = performance.now();
    await connector.create('initial');
    const posted = performance.now() - begin;
    const { firstEventMs } = await reader.drain(connector.topic, 0, WARM_UP_ROWS, connector.check);
    const startToFirstEventMs = Math.round(worker.startMs + posted + firstEventMs);
    const rss = Math.round(rssMiB(worker.pid));
    starts.push({ ms: startToFirstEventMs, rss });
    report.start(worker.system, { startToFirstEventMs, rssMiB: rss });
    await worker.rest.delete(connector.name);
    await reader.close();
  }
  const [ours, peer] = starts;
  if (ours !== undefined && peer !== undefined) {
    report.ratio('startToFirstEventMs', workers[0]!.system, workers[1]!.system, ours.ms / peer.ms);
  }
  return workers;
}
