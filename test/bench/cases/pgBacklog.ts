/**
 * What pgbench changed while nothing was replicated (TPC-B, 50 clients), from one database into another: timed from the start of the source connector, or of
 * PostgreSQL's own subscription, until the target has all of it. `--far`: the target is a server of its own that waits for the disk at each commit, 2 ms away.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { LocalPostgres } from '../../services/localPostgres.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import { postgresTool, type Servers } from '../servers.ts';
import { slotActive } from './slots.ts';

const DATABASE = 'bench_backlog';
const PUBLICATION = 'bench_backlog';
const CLIENTS = 50;
const CHANGES_PER_TRANSACTION = 4;
const SCALE = 10;
const TIMEOUT_MS = 900_000;
/** Each way. */
const FAR_DELAY_MS = 1;
const TABLES = ['pgbench_accounts', 'pgbench_branches', 'pgbench_tellers', 'pgbench_history', 'bench_mark'];

/** One of the ways, started and stopped alike. */
interface Way {
  readonly system: string;
  readonly pid: number | null;
  readonly target: pg.Client;
  start(): Promise<void>;
  stop(): Promise<void>;
  check(): Promise<void>;
}

/** Where the copies are, and how a subscription there reaches the source, and a sink the copies. */
interface Target {
  readonly server: LocalPostgres;
  readonly sinkPort: number;
  readonly sourcePort: number;
  close(): Promise<void>;
}

export async function pgBacklog(servers: Servers, options: Options, report: Report): Promise<void> {
  const transactions = Math.ceil(options.records / CHANGES_PER_TRANSACTION / CLIENTS);
  const pgbench = await postgresTool('pgbench');
  const run = async (...args: string[]): Promise<void> => {
    await promisify(execFile)(pgbench, [...args, servers.postgres.url(DATABASE)], { maxBuffer: 1 << 26 });
  };
  await servers.database(DATABASE);
  await run('-i', '-q', '-s', String(SCALE));
  const source = await servers.connect(DATABASE);
  // so that it can be replicated by key; pgbench names the columns it inserts
  await source.query('ALTER TABLE pgbench_history ADD COLUMN id bigserial PRIMARY KEY');
  await source.query('CREATE TABLE bench_mark (id integer PRIMARY KEY)');
  await source.query(`CREATE PUBLICATION ${PUBLICATION} FOR TABLE ${TABLES.join(', ')}`);
  const target = options.far ? await farTarget(servers) : nearTarget(servers);
  try {
    const ways = [await throughTopics(servers, options, target)];
    if (options.peer) {
      for (const streaming of ['off', 'parallel'] as const)
        ways.push(await subscription(servers, target, streaming, options.far));
    }
    for (const way of ways) {
      await arrived(source, way);
      await way.stop();
    }
    for (let n = 0; n <= options.runs; n++) {
      // the first is the warm-up
      const count = n === 0 ? 200 : transactions;
      progress(`run ${n}: ${count * CLIENTS} transactions`);
      await run('-n', '-c', String(CLIENTS), '-j', '2', '-t', String(count), '-M', 'prepared');
      await source.query('INSERT INTO bench_mark SELECT count(*) FROM bench_mark');
      for (const way of ways) {
        progress(`run ${n}: ${way.system}`);
        const meter = way.pid === null ? null : new ProcessMeter(way.pid);
        const start = performance.now();
        await way.start();
        await arrived(source, way);
        const seconds = (performance.now() - start) / 1000;
        const usage = meter?.stop() ?? { cpuMicros: null, rssMiB: null };
        await way.stop();
        if (n > 0) {
          const records = count * CLIENTS * CHANGES_PER_TRANSACTION;
          report.run(way.system, { records, bytes: null, seconds, ...usage });
        }
      }
    }
    for (const client of [source, ...ways.map(way => way.target)]) await client.end();
  } finally {
    await target.close();
  }
}

const nearTarget = ({ postgres }: Servers): Target => ({
  server: postgres,
  sinkPort: postgres.port,
  sourcePort: postgres.port,
  close: async () => {},
});

async function farTarget({ postgres }: Servers): Promise<Target> {
  const server = await LocalPostgres.start({
    fsync: 'on',
    synchronous_commit: 'on',
    max_wal_size: '8GB',
    shared_buffers: '512MB',
    autovacuum: 'off',
    max_logical_replication_workers: '10',
    max_worker_processes: '20',
  });
  const [toTarget, toSource] = [
    await TcpProxy.open(server.port, FAR_DELAY_MS),
    await TcpProxy.open(postgres.port, FAR_DELAY_MS),
  ];
  return {
    server,
    sinkPort: toTarget.port,
    sourcePort: toSource.port,
    async close() {
      await toTarget.close();
      await toSource.close();
      await server.stop();
    },
  };
}

async function openCopy(target: Target, database: string): Promise<pg.Client> {
  const admin = new pg.Client(target.server.url('postgres'));
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database}`);
  await admin.end();
  const client = new pg.Client(target.server.url(database));
  client.on('error', () => {}); // a run that is broken off ends the server first; queries tell
  await client.connect();
  await client.query(`
    CREATE TABLE pgbench_accounts (aid integer PRIMARY KEY, bid integer, abalance integer, filler character(84));
    CREATE TABLE pgbench_branches (bid integer PRIMARY KEY, bbalance integer, filler character(88));
    CREATE TABLE pgbench_tellers (tid integer PRIMARY KEY, bid integer, tbalance integer, filler character(84));
    CREATE TABLE pgbench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler character(22), id bigint PRIMARY KEY);
    CREATE TABLE bench_mark (id integer PRIMARY KEY)`);
  return client;
}

const withPort = (url: string, port: number): string => {
  const changed = new URL(url);
  changed.port = String(port);
  return String(changed);
};

async function throughTopics(servers: Servers, options: Options, target: Target): Promise<Way> {
  const database = 'backlog_topics';
  const client = await openCopy(target, database);
  const worker = await servers.startWorker();
  const [source, sink] = ['backlog_source', 'backlog_sink'];
  await worker.rest.create(source, {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': '127.0.0.1',
    'database.port': String(servers.postgres.port),
    'database.user': 'postgres',
    'database.password': 'postgres',
    'database.dbname': DATABASE,
    'topic.prefix': 'backlog',
    'slot.name': source,
    'publication.name': PUBLICATION,
    'publication.autocreate.mode': 'disabled',
    'topic.creation.default.partitions': '1',
    'topic.creation.default.replication.factor': '1',
    'errors.restart.max': '0',
  });
  await worker.rest.create(sink, {
    'connector.class': 'millrace.PostgresSink',
    'tasks.max': '1',
    'topics.regex': 'backlog\\.public\\..*',
    'connection.url': withPort(target.server.url(database), target.sinkPort),
    'table.name.format': '${source.table}',
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'errors.restart.max': '0',
    'consumer.override.metadata.max.age.ms': '1000',
    ...(options.connections !== null && { connections: options.connections }),
  });
  return {
    system: worker.system,
    pid: worker.pid,
    target: client,
    start: () => worker.rest.resume(source),
    async stop() {
      await worker.rest.stop(source);
      await slotActive(servers, DATABASE, source, false);
    },
    async check() {
      await worker.rest.check(source);
      await worker.rest.check(sink);
    },
  };
}

async function subscription(
  servers: Servers,
  target: Target,
  streaming: 'off' | 'parallel',
  isDurable: boolean,
): Promise<Way> {
  const name = `backlog_${streaming}`;
  const client = await openCopy(target, name);
  // within one server the slot has to be there before the subscription
  const source = await servers.connect(DATABASE);
  await source.query(`SELECT pg_create_logical_replication_slot('${name}', 'pgoutput')`);
  await source.end();
  const url = withPort(servers.postgres.url(DATABASE), target.sourcePort);
  await client.query(
    `CREATE SUBSCRIPTION ${name} CONNECTION '${url}' PUBLICATION ${PUBLICATION} WITH (create_slot = false, streaming = ${streaming}, synchronous_commit = '${isDurable ? 'on' : 'off'}')`,
  );
  await waitUntil('the subscription has copied the rows', TIMEOUT_MS, async () => {
    const { rows } = await client.query<{ done: boolean }>(
      `SELECT bool_and(srsubstate = 'r') AS done FROM pg_subscription_rel`,
    );
    return rows[0]?.done === true;
  });
  return {
    system: `subscription ${streaming}`,
    pid: null,
    target: client,
    start: async () => {
      await client.query(`ALTER SUBSCRIPTION ${name} ENABLE`);
    },
    async stop() {
      await client.query(`ALTER SUBSCRIPTION ${name} DISABLE`);
      await slotActive(servers, DATABASE, name, false);
    },
    check: async () => {},
  };
}

/** Cheap questions first: tables go their own ways through topics, so that the mark is not the last of all. */
const QUESTIONS = [
  'SELECT count(*) FROM bench_mark',
  'SELECT sum(bbalance) FROM pgbench_branches',
  'SELECT sum(tbalance) FROM pgbench_tellers',
  'SELECT max(id) FROM pgbench_history',
  'SELECT count(*) FROM pgbench_history',
  'SELECT sum(abalance) FROM pgbench_accounts',
];

async function arrived(source: pg.Client, way: Way): Promise<void> {
  const ask = async (client: pg.Client, sql: string): Promise<unknown> =>
    Object.values((await client.query<Record<string, unknown>>(sql)).rows[0]!)[0];
  const wanted: unknown[] = [];
  for (const sql of QUESTIONS) wanted.push(await ask(source, sql));
  let done = 0;
  let asked = 0;
  await waitUntil(
    `${way.system} has applied all changes`,
    TIMEOUT_MS,
    async () => {
      if (++asked % 100 === 0) await way.check();
      while (done < QUESTIONS.length && String(await ask(way.target, QUESTIONS[done]!)) === String(wanted[done]))
        done++;
      return done === QUESTIONS.length;
    },
    10,
  );
}
