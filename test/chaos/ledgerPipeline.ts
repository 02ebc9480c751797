/** The servers, the worker and the two connectors that copy the ledger from one PostgreSQL to another, all of their own. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { compareTables } from '../demo/compareTables.ts';
import { LocalKafka } from '../services/localKafka.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { TcpProxy } from '../services/tcpProxy.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { createLedger, LEDGER_TABLES } from './ledger.ts';
import { topicEnds } from './topicCheck.ts';

interface Parts {
  readonly source: LocalPostgres;
  readonly target: LocalPostgres;
  readonly kafka: LocalKafka | null;
  readonly dataDir: string;
  readonly worker: WorkerProcess;
  readonly networks: Networks | null;
}

/** What the worker reaches the databases through. */
interface Networks {
  readonly source: TcpProxy;
  readonly target: TcpProxy;
}

export interface PipelineOptions {
  readonly broker: 'embedded' | 'kafka';
  /** Rows of the table that makes the snapshot long. */
  readonly volumeRows: number;
  /** Whether the databases are reached through networks that can be cut. */
  readonly hasNetworks?: boolean;
  /** Whether a second sink appends each event of the counters to a table without a key, exactly once. */
  readonly hasLog?: boolean;
  readonly source?: Readonly<Record<string, string>>;
  readonly sink?: Readonly<Record<string, string>>;
}

const LOG_TABLE = 'counter_log';
const COUNTER_TOPIC = 'ledger.public.counter';
const APPLICATIONS = "application_name LIKE 'millrace%'";
const SNAPSHOT_START_TIMEOUT_MS = 60_000;
/** task.shutdown.graceful.timeout.ms, and a little for statuses and connections. */
const STOP_TIMEOUT_MS = 5_000 + 3_000;
/** Where nothing answers any more, the worker may use what it has for closing connections too. */
const LONELY_STOP_TIMEOUT_MS = 5_000 + 6_000;
const IDLE_MS = 5000;
/** What a load leaves behind, such as garbage, is worked off first. */
const IDLE_WINDOWS = 8;
/** Share of a core: offsets are flushed twice a second here, and a loop that spins takes all of one. */
const MAX_IDLE_CPU = 0.4;

export class LedgerPipeline {
  readonly source: LocalPostgres;
  readonly target: LocalPostgres;
  /** null = the embedded broker. */
  readonly kafka: LocalKafka | null;
  readonly worker: WorkerProcess;
  readonly networks: Networks | null;
  readonly #dataDir: string;
  readonly #cleanups: readonly (() => Promise<void>)[];

  private constructor(parts: Parts, cleanups: readonly (() => Promise<void>)[]) {
    this.source = parts.source;
    this.target = parts.target;
    this.kafka = parts.kafka;
    this.worker = parts.worker;
    this.networks = parts.networks;
    this.#dataDir = parts.dataDir;
    this.#cleanups = cleanups;
  }

  static async start(options: PipelineOptions): Promise<LedgerPipeline> {
    const { broker, volumeRows } = options;
    const cleanups: (() => Promise<void>)[] = [];
    try {
      const source = await LocalPostgres.start({ fsync: 'off' });
      cleanups.push(() => source.stop());
      const target = await LocalPostgres.start({ fsync: 'off' });
      cleanups.push(() => target.stop());
      await rowsOf(source.url('postgres'), 'CREATE DATABASE ledger');
      await rowsOf(target.url('postgres'), 'CREATE DATABASE copy');
      await createLedger(source.url('ledger'), volumeRows);
      const dataDir = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
      cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
      const kafka = broker === 'kafka' ? await LocalKafka.start() : null;
      if (kafka) cleanups.push(() => kafka.stop());
      const where = kafka
        ? ['--bootstrap-servers', kafka.bootstrapServers, '--schema-registry', kafka.registryUrl]
        : ['--data-dir', dataDir];
      const worker = await WorkerProcess.start(where, {
        MILLRACE_TEST_HOOKS: '1', // SIGUSR2 ends a task thread
        CONNECT_OFFSET_FLUSH_INTERVAL_MS: '500',
        // faults come faster than any user's: they shall meet tasks that run
        CONNECT_ERRORS_RESTART_MAX: '-1',
        CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '2000',
      });
      cleanups.push(() => worker.kill());
      const networks = options.hasNetworks === true ? await openNetworks(source, target, cleanups) : null;
      const sourcePort = networks?.source.port ?? source.port;
      const targetPort = networks?.target.port ?? target.port;
      await createConnectors(worker, sourcePort, targetPort, options);
      if (options.hasLog === true) await createLog(worker, target.url('copy'), targetPort);
      return new LedgerPipeline({ source, target, kafka, dataDir, worker, networks }, cleanups);
    } catch (error) {
      for (const cleanup of cleanups.reverse()) await cleanup();
      throw error;
    }
  }

  get sourceUrl(): string {
    return this.source.url('ledger');
  }

  get targetUrl(): string {
    return this.target.url('copy');
  }

  get registryUrl(): string {
    return this.kafka?.registryUrl ?? `${this.worker.url}/registry`;
  }

  get brokerSettings(): BrokerSettings {
    return this.kafka
      ? { kind: 'kafka', settings: { 'bootstrap.servers': this.kafka.bootstrapServers } }
      : { kind: 'embedded', dataDir: this.#dataDir };
  }

  topicEnds(topic: string): Promise<readonly number[]> {
    return topicEnds(this.brokerSettings, topic);
  }

  /** Whether the snapshot reads its last and longest table at this moment. */
  async isCopying(): Promise<boolean> {
    const copying = `SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'millrace snapshot%' AND state = 'active' AND query LIKE 'COPY%volume%'`;
    return (await rowsOf(this.sourceUrl, copying)).length > 0;
  }

  /** Waits until the snapshot reads rows. False = it is complete already. */
  async isSnapshotUnderWay(): Promise<boolean> {
    let isSafe = false;
    await waitUntil(
      'the snapshot reads rows',
      SNAPSHOT_START_TIMEOUT_MS,
      async () => (await this.isCopying()) || (isSafe = await this.isSnapshotSafe()),
      10,
    );
    return !isSafe;
  }

  /** Whether a restart would no longer take the snapshot again. */
  async isSnapshotSafe(): Promise<boolean> {
    const { offsets } = await this.worker.request<{ offsets: { offset: Record<string, unknown> }[] }>(
      'GET',
      '/connectors/ledger-source/offsets',
    );
    return offsets.some(({ offset }) => offset.snapshot === undefined || offset.snapshot_completed === true);
  }

  /** WAL that the server keeps because of our slot. */
  async keptWalBytes(): Promise<number> {
    const kept = 'SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 AS bytes FROM pg_replication_slots';
    return (await rowsOf(this.sourceUrl, kept))[0]!.bytes as number;
  }

  /** Waits until the target equals the source, row by row. */
  async caughtUp(timeoutMs: number): Promise<void> {
    let last = '';
    const equal = async (): Promise<boolean> => {
      const { rows, differences, examples } = await compareTables(this.sourceUrl, this.targetUrl, LEDGER_TABLES);
      last = `${differences} of ${rows} rows differ: ${examples.join('; ')}`;
      return differences === 0;
    };
    await waitUntil('the target equals the source', timeoutMs, equal, 500).catch(error => {
      throw new Error(last, { cause: error });
    });
  }

  /** Waits until the log has each record of the topic of the counters; throws where it has one twice. Returns how many there are. */
  async logHasAllOnce(timeoutMs: number): Promise<number> {
    const ends = await this.topicEnds(COUNTER_TOPIC);
    const wanted = ends.reduce((sum, end) => sum + end, 0);
    const counts = async (): Promise<{ rows: number; records: number }> => {
      const sql = `SELECT count(*)::float8 AS rows, count(DISTINCT (__connect_partition, __connect_offset))::float8 AS records FROM ${LOG_TABLE}`;
      return (await rowsOf(this.targetUrl, sql))[0] as { rows: number; records: number };
    };
    await waitUntil('the log has all records', timeoutMs, async () => (await counts()).records >= wanted, 500);
    assert.deepEqual(await counts(), { rows: wanted, records: wanted }, 'records in the log');
    return wanted;
  }

  /** A worker that has nothing to do takes next to no time of a core, soon after it had much to do. Returns how much. */
  async idleCpu(): Promise<number> {
    let share = 1;
    for (let n = 0; n < IDLE_WINDOWS && share >= MAX_IDLE_CPU; n++) {
      const before = await cpuSeconds(this.worker.pid);
      await new Promise(resolve => setTimeout(resolve, IDLE_MS));
      share = ((await cpuSeconds(this.worker.pid)) - before) / (IDLE_MS / 1000);
    }
    assert.ok(share < MAX_IDLE_CPU, `an idle worker takes ${share} of a core`);
    return share;
  }

  /** The worker stops in time, nothing unexplained was logged, nothing stays behind in the databases or changes them afterwards. */
  async stopsWell(): Promise<void> {
    await this.#stop(STOP_TIMEOUT_MS);
    assert.equal(this.worker.exitCode, 0);
    assert.deepEqual(this.worker.complaints, []);
    await waitUntil('no connection is left', 10_000, async () => (await this.#leftConnections()) === 0);
    assert.deepEqual(await this.#slots(), ['debezium']);
    await this.caughtUp(0);
  }

  /** It also stops in time when the databases and the broker are gone. Last of all: they stay gone. */
  async stopsAlone(): Promise<void> {
    await this.worker.restart();
    await waitUntil('the tasks run', 30_000, async () => {
      const states = await Promise.all(['ledger-source', 'ledger-sink'].map(name => this.worker.status(name)));
      return states.every(({ tasks }) => tasks.length > 0 && tasks.every(task => task.state === 'RUNNING'));
    });
    await Promise.all([this.source.kill(), this.target.kill(), this.kafka?.killBroker()]);
    await this.#stop(LONELY_STOP_TIMEOUT_MS);
    assert.deepEqual(this.worker.complaints, []);
  }

  async #stop(timeoutMs: number): Promise<void> {
    const asked = Date.now();
    await this.worker.stop();
    const tookMs = Date.now() - asked;
    assert.ok(tookMs < timeoutMs, `the worker took ${tookMs} ms to stop`);
  }

  async #leftConnections(): Promise<number> {
    const count = `SELECT 1 FROM pg_stat_activity WHERE ${APPLICATIONS}`;
    return (await rowsOf(this.sourceUrl, count)).length + (await rowsOf(this.targetUrl, count)).length;
  }

  async #slots(): Promise<readonly unknown[]> {
    return (await rowsOf(this.sourceUrl, 'SELECT slot_name FROM pg_replication_slots')).map(row => row.slot_name);
  }

  /** For the message of a failure. */
  async describe(): Promise<string> {
    const ask = (path: string): Promise<unknown> => this.worker.request('GET', path).catch(String);
    const status = await ask('/connectors?expand=status');
    // Twice: what does not move is stuck, what does is late.
    const offsets = [];
    for (const waitMs of [0, 3000]) {
      await new Promise(resolve => setTimeout(resolve, waitMs));
      offsets.push(await ask('/connectors/ledger-source/offsets'), await ask('/connectors/ledger-sink/offsets'));
    }
    const wal = await rowsOf(this.sourceUrl, 'SELECT pg_current_wal_lsn() AS wal, * FROM pg_replication_slots').catch(
      String,
    );
    return `${JSON.stringify({ status, offsets, wal }, null, 1)}\n${this.worker.output}`;
  }

  async close(): Promise<void> {
    for (const cleanup of [...this.#cleanups].reverse()) await cleanup();
  }
}

async function createConnectors(
  worker: WorkerProcess,
  sourcePort: number,
  targetPort: number,
  options: PipelineOptions,
): Promise<void> {
  await worker.createConnector('ledger-source', {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': '127.0.0.1',
    'database.port': String(sourcePort),
    'database.user': 'postgres',
    'database.password': 'postgres',
    'database.dbname': 'ledger',
    'topic.prefix': 'ledger',
    'plugin.name': 'pgoutput',
    ...options.source,
  });
  await worker.createConnector('ledger-sink', {
    ...sinkTo(targetPort),
    'topics.regex': 'ledger\\.public\\..*',
    'table.name.format': '${source.table}',
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'auto.create': 'true',
    ...options.sink,
  });
}

const sinkTo = (port: number): Readonly<Record<string, string>> => ({
  'connector.class': 'millrace.PostgresSink',
  'connection.url': `postgres://postgres:postgres@127.0.0.1:${port}/copy`,
  'consumer.override.metadata.max.age.ms': '1000',
  'consumer.override.session.timeout.ms': '6000',
});

/** Nothing but the sink's own care keeps a record out of this table that is there already. */
async function createLog(worker: WorkerProcess, targetUrl: string, targetPort: number): Promise<void> {
  await rowsOf(
    targetUrl,
    `CREATE TABLE ${LOG_TABLE} (__connect_topic text, __connect_partition integer, __connect_offset bigint, id integer, n integer, note text)`,
  );
  await worker.createConnector('ledger-log', {
    ...sinkTo(targetPort),
    topics: COUNTER_TOPIC,
    'table.name.format': LOG_TABLE,
    'insert.mode': 'insert',
    'pk.mode': 'kafka',
    'delivery.guarantee': 'exactly-once',
  });
}

async function openNetworks(
  source: LocalPostgres,
  target: LocalPostgres,
  cleanups: (() => Promise<void>)[],
): Promise<Networks> {
  const [sourceProxy, targetProxy] = [await TcpProxy.open(source.port), await TcpProxy.open(target.port)];
  cleanups.push(
    () => sourceProxy.close(),
    () => targetProxy.close(),
  );
  return { source: sourceProxy, target: targetProxy };
}

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100; // utime and stime, in ticks of 10 ms
}

async function rowsOf(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // told by the query
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
