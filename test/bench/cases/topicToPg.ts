/**
 * A topic of rows with new keys into an empty table with only a primary key, as upserts; timed from the creation of the sink until all rows are there.
 * Against it PostgreSQL's own COPY of the same rows from a file. With `--existing` the table has all the keys with other values; against it the server's own way
 * for that: COPY into a staging table, and from there INSERT … ON CONFLICT DO UPDATE.
 */
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { PUBLICATION, SourceConnector } from '../sourceConnector.ts';
import { createTable, fill, TABLE } from '../tables.ts';
import { TopicReader } from '../topicReader.ts';
import { sinkConfig } from './sinkConfig.ts';
import { dropSlot } from './slots.ts';
import { createSourceDatabase, DATABASE } from './sourceSetup.ts';

const TARGET = 'bench_target';
const SINK_TIMEOUT_MS = 600_000;
const WARM_UP_ROWS = 20_000;

export async function topicToPg(servers: Servers, options: Options, report: Report): Promise<void> {
  await createSourceDatabase(servers, options, options.records);
  await servers.database(TARGET);
  const worker = await servers.startWorker();
  const reader = await TopicReader.open(servers.brokerSettings);

  await servers.database('bench_warm_up');
  const warm = await servers.connect('bench_warm_up');
  await warm.query(createTable(options.columns));
  await warm.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLE}`);
  await fill(warm, options.columns, WARM_UP_ROWS);
  await warm.end();
  const warmTopic = await publish(servers, worker, reader, 'bench_warm_up', WARM_UP_ROWS);
  await applyOnce(servers, worker, options, warmTopic, 'warm_up', WARM_UP_ROWS);

  progress(`publishing ${options.records} rows`);
  const topic = await publish(servers, worker, reader, DATABASE, options.records);
  const bytes = await reader.byteLength(topic, 0, options.records);
  for (let run = 1; run <= options.runs; run++) {
    progress(`run ${run}: ${worker.system}`);
    const meter = new ProcessMeter(worker.pid);
    const seconds = await applyOnce(servers, worker, options, topic, String(run), options.records);
    report.run(worker.system, { records: options.records, bytes, seconds, ...meter.stop() });
    if (options.peer) {
      const peer = options.existing ? 'staged upsert' : 'copy';
      progress(`run ${run}: ${peer}`);
      report.run(peer, await copyOnce(servers, options));
    }
  }
  await reader.close();
}

/** Fills a topic with the rows of a database's table; returns its name. */
export async function publish(
  servers: Servers,
  worker: Worker,
  reader: TopicReader,
  database: string,
  records: number,
): Promise<string> {
  const connector = new SourceConnector(servers, worker, database, `rows_of_${database}`);
  await connector.create('initial');
  await reader.drain(connector.topic, 0, records, connector.check);
  await worker.rest.delete(connector.name);
  await dropSlot(servers, database, connector.slot);
  return connector.topic;
}

async function applyOnce(
  servers: Servers,
  worker: Worker,
  options: Options,
  topic: string,
  purpose: string,
  records: number,
): Promise<number> {
  const target = await servers.connect(TARGET);
  await makeTarget(target, options, records);
  const name = `millrace_sink_${purpose}`;
  const start = performance.now();
  await worker.rest.create(name, sinkConfig(servers, options, TARGET, topic));
  const isThere = async (): Promise<boolean> =>
    (await target.query(`SELECT 1 FROM ${TABLE} WHERE id = ${records} AND a >= 0`)).rows.length === 1;
  let asked = 0;
  await waitUntil(
    'the last row is there',
    SINK_TIMEOUT_MS,
    async () => {
      if (++asked % 100 === 0) await worker.rest.check(name);
      return isThere();
    },
    10,
  );
  const count = async (): Promise<number> =>
    Number((await target.query<{ n: string }>(`SELECT count(*) AS n FROM ${TABLE} WHERE a >= 0`)).rows[0]!.n);
  await waitUntil('all rows are there', SINK_TIMEOUT_MS, async () => (await count()) === records, 10);
  const seconds = (performance.now() - start) / 1000;
  await worker.rest.delete(name);
  await target.end();
  return seconds;
}

/** Empty, or with all the keys and a value that no record has. */
async function makeTarget(target: pg.Client, options: Options, records: number): Promise<void> {
  await target.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await target.query(createTable(options.columns));
  if (!options.existing) return;
  await fill(target, options.columns, records);
  await target.query(`UPDATE ${TABLE} SET a = -1`);
  await target.query(`VACUUM FULL ANALYZE ${TABLE}`);
}

async function copyOnce(
  servers: Servers,
  options: Options,
): Promise<{
  records: number;
  bytes: number;
  seconds: number;
  cpuMicros: null;
  rssMiB: null;
}> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-bench-copy-'));
  await chmod(dir, 0o777); // the server, another user, writes and reads the file
  const file = join(dir, 'rows');
  const source = await servers.connect(DATABASE);
  const target = await servers.connect(TARGET);
  try {
    await source.query(`COPY ${TABLE} TO '${file}'`);
    await makeTarget(target, options, options.records);
    const start = performance.now();
    if (options.existing) await stagedUpsert(target, file);
    else await target.query(`COPY ${TABLE} FROM '${file}'`);
    const seconds = (performance.now() - start) / 1000;
    return { records: options.records, bytes: (await stat(file)).size, seconds, cpuMicros: null, rssMiB: null };
  } finally {
    await source.end();
    await target.end();
    await rm(dir, { recursive: true, force: true });
  }
}

async function stagedUpsert(target: pg.Client, file: string): Promise<void> {
  await target.query(`CREATE TEMP TABLE stage (LIKE ${TABLE})`);
  await target.query(`COPY stage FROM '${file}'`);
  const { rows } = await target.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${TABLE}'::regclass AND attnum > 0 AND attname <> 'id'`,
  );
  const set = rows.map(({ name }) => `${name} = excluded.${name}`).join(', ');
  await target.query(`INSERT INTO ${TABLE} SELECT * FROM stage ON CONFLICT (id) DO UPDATE SET ${set}`);
  await target.query('DROP TABLE stage');
}
