/**
 * A topic of rows with new keys into an empty MySQL table with only a primary key, as upserts; timed from the creation of the sink until all rows are
 * there. Against it the `mysql` client with the same rows as plain inserts of 1,000 rows each.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Connection, escape as escapeValue, type RowDataPacket } from 'mysql2/promise';
import { runScript } from '../../services/localKafka.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Raw, type Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { TABLE } from '../tables.ts';
import { TopicReader } from '../topicReader.ts';
import { createSourceDatabase, DATABASE } from './sourceSetup.ts';
import { publish } from './topicToPg.ts';

const TARGET = 'bench_target';
const PEER_TABLE = 'peer_item';
const SINK_TIMEOUT_MS = 600_000;
const WARM_UP_ROWS = 20_000;
const ROWS_PER_INSERT = 1000;

export async function topicToMysql(servers: Servers, options: Options, report: Report): Promise<void> {
  await createSourceDatabase(servers, options, options.records);
  // MariaDB's package has the client.
  if (options.peer) await runScript('mariadb.sh', 'install', {});
  const { port } = servers.mysql;
  const target = await servers.mysql.connect();
  await target.query(`create database ${TARGET}; use ${TARGET}`);
  const worker = await servers.startWorker();
  const reader = await TopicReader.open(servers.brokerSettings);
  const topic = await publish(servers, worker, reader, DATABASE, options.records);
  const bytes = await reader.byteLength(topic, 0, options.records);
  const apply = (purpose: string, records: number): Promise<number> =>
    applyOnce(target, port, worker, options, topic, purpose, records);
  await apply('warm_up', Math.min(WARM_UP_ROWS, options.records));
  for (let run = 1; run <= options.runs; run++) {
    progress(`run ${run}: ${worker.system}`);
    const meter = new ProcessMeter(worker.pid);
    const seconds = await apply(String(run), options.records);
    report.run(worker.system, { records: options.records, bytes, seconds, ...meter.stop() });
    if (options.peer) {
      progress(`run ${run}: mysql client`);
      report.run('mysql-client', await insertOnce(target, port, options.records));
    }
  }
  await reader.close();
  await target.end();
}

/** The sink makes the table, and is deleted once it has written as many rows. */
async function applyOnce(
  target: Connection,
  port: number,
  worker: Worker,
  options: Options,
  topic: string,
  purpose: string,
  records: number,
): Promise<number> {
  await target.query(`drop table if exists ${TABLE}`);
  const name = `millrace_sink_${purpose}`;
  const start = performance.now();
  await worker.rest.create(name, {
    'connector.class': 'millrace.MySqlSink',
    'tasks.max': '1',
    topics: topic,
    'connection.url': `mysql://root@127.0.0.1:${port}/${TARGET}`,
    'table.name.format': TABLE,
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'auto.create': 'true',
    'errors.restart.max': '0',
    ...(options.connections !== null && { connections: options.connections }),
  });
  const count = async (where: string): Promise<number> => {
    const [rows] = await target
      .query<RowDataPacket[]>(`select count(*) as n from ${TABLE} ${where}`)
      .catch((error: { errno?: number }) => {
        if (error.errno !== NO_SUCH_TABLE) throw error; // the sink has not made it yet
        return [[{ n: 0 }]] as const;
      });
    return Number(rows[0]!.n);
  };
  let asked = 0;
  await waitUntil(
    'the last row is there',
    SINK_TIMEOUT_MS,
    async () => {
      if (++asked % 100 === 0) await worker.rest.check(name);
      return (await count(`where id = ${records}`)) === 1;
    },
    10,
  );
  await waitUntil('all rows are there', SINK_TIMEOUT_MS, async () => (await count('')) >= records, 10);
  const seconds = (performance.now() - start) / 1000;
  await worker.rest.delete(name);
  return seconds;
}

const NO_SUCH_TABLE = 1146;

async function insertOnce(target: Connection, port: number, records: number): Promise<Raw> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-bench-mysql-'));
  const file = join(dir, 'rows.sql');
  try {
    await target.query(`drop table if exists ${PEER_TABLE}; create table ${PEER_TABLE} like ${TABLE}`);
    const out = await open(file, 'w');
    for (let from = 0; from < records; from += ROWS_PER_INSERT) {
      const [rows] = await target.query<RowDataPacket[][]>({
        sql: `select * from ${TABLE} where id > ${from} and id <= ${from + ROWS_PER_INSERT}`,
        rowsAsArray: true,
      });
      const tuples = rows.map(row => `(${row.map(value => escapeValue(value)).join(',')})`);
      await out.write(`insert into ${PEER_TABLE} values ${tuples.join(',')};\n`);
    }
    await out.close();
    const client = `exec mysql -h 127.0.0.1 -P ${port} -u root ${TARGET} < "$0"`;
    const start = performance.now();
    await promisify(execFile)('bash', ['-c', client, file]);
    const seconds = (performance.now() - start) / 1000;
    return { records, bytes: (await stat(file)).size, seconds, cpuMicros: null, rssMiB: null };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
