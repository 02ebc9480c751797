/**
 * Updates of one database into another. The backlog is made while the source connector, or the subscription, is at rest; timed from its start until the
 * last update is visible in the target. Against it PostgreSQL's native subscription.
 */
import type pg from 'pg';
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { percentile, progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';
import { PUBLICATION, SourceConnector } from '../sourceConnector.ts';
import { createTable, ROWS_PER_STEP, steadyLoad, TABLE, update } from '../tables.ts';
import { TopicReader } from '../topicReader.ts';
import { sinkConfig } from './sinkConfig.ts';
import { slotActive } from './slots.ts';
import { createSourceDatabase, DATABASE } from './sourceSetup.ts';

const ROWS = 100_000;
const WARM_UP_UPDATES = 20_000;
const LAG_LOAD_MS = 6000;
const WARM_STEPS = 100;
const TIMEOUT_MS = 600_000;
const SUBSCRIPTION = 'bench_subscription';

/** One of the two ways, started and stopped alike. */
interface Replication {
  readonly system: string;
  readonly pid: number | null;
  readonly target: pg.Client;
  start(): Promise<void>;
  stop(): Promise<void>;
  check(): Promise<void>;
  /** Bytes in the topic between two calls. */
  position(): Promise<number>;
  bytes(from: number, to: number): Promise<number | null>;
}

export async function pgToPg(servers: Servers, options: Options, report: Report): Promise<void> {
  const rows = Math.min(ROWS, options.records);
  await createSourceDatabase(servers, options, rows);
  const source = await servers.connect(DATABASE);
  const ways = [await throughTopics(servers, options, rows)];
  if (options.peer) ways.push(await subscription(servers, options, rows));

  for (const way of ways) {
    progress(`${way.system}: warming up, lag`);
    await update(source, WARM_UP_UPDATES, rows);
    await caughtUp(source, way);
    report.lag(way.system, await targetLag(source, way));
  }
  for (const way of ways) {
    await caughtUp(source, way);
    await way.stop();
  }
  for (let run = 1; run <= options.runs; run++) {
    progress(`run ${run}: ${options.records} updates`);
    await update(source, options.records, rows);
    const marker = await mark(source);
    for (const way of ways) {
      progress(`run ${run}: ${way.system}`);
      const from = await way.position();
      const meter = way.pid === null ? null : new ProcessMeter(way.pid);
      const start = performance.now();
      await way.start();
      await arrived(way, marker);
      const seconds = (performance.now() - start) / 1000;
      const usage = meter?.stop() ?? { cpuMicros: null, rssMiB: null };
      await way.stop();
      const bytes = await way.bytes(from, await way.position());
      report.run(way.system, { records: options.records, bytes, seconds, ...usage });
    }
  }
  for (const way of ways) await compare(source, way);
  for (const client of [source, ...ways.map(way => way.target)]) await client.end();
}

async function throughTopics(servers: Servers, options: Options, rows: number): Promise<Replication> {
  const database = 'bench_target';
  await servers.database(database);
  const target = await servers.connect(database);
  await target.query(createTable(options.columns));
  const worker = await servers.startWorker();
  const reader = await TopicReader.open(servers.brokerSettings);
  const connector = new SourceConnector(servers, worker, DATABASE, 'pg_to_pg');
  await connector.create('initial', { 'replace.null.with.default': 'false' });
  await reader.drain(connector.topic, 0, rows, connector.check);
  const sink = 'millrace_sink';
  await worker.rest.create(sink, sinkConfig(servers, options, database, connector.topic));
  return {
    system: worker.system,
    pid: worker.pid,
    target,
    start: () => worker.rest.resume(connector.name),
    async stop() {
      await worker.rest.stop(connector.name);
      await slotActive(servers, DATABASE, connector.slot, false);
    },
    async check() {
      await connector.check();
      await worker.rest.check(sink);
    },
    position: () => reader.endOffset(connector.topic),
    bytes: (from, to) => reader.byteLength(connector.topic, from, to),
  };
}

async function subscription(servers: Servers, options: Options, rows: number): Promise<Replication> {
  const database = 'bench_subscriber';
  await servers.database(database);
  const target = await servers.connect(database);
  await target.query(createTable(options.columns));
  // within one server the slot has to be there before the subscription
  const source = await servers.connect(DATABASE);
  await source.query(`SELECT pg_create_logical_replication_slot('${SUBSCRIPTION}', 'pgoutput')`);
  await source.end();
  await target.query(
    `CREATE SUBSCRIPTION ${SUBSCRIPTION} CONNECTION '${servers.postgres.url(DATABASE)}' PUBLICATION ${PUBLICATION} WITH (create_slot = false)`,
  );
  await waitUntil('the subscription has copied the rows', TIMEOUT_MS, async () => {
    const { rows: states } = await target.query<{ done: boolean }>(
      `SELECT bool_and(srsubstate = 'r') AS done FROM pg_subscription_rel`,
    );
    const { rows: counts } = await target.query<{ n: string }>(`SELECT count(*) AS n FROM ${TABLE}`);
    return states[0]?.done === true && Number(counts[0]!.n) === rows;
  });
  return {
    system: 'subscription',
    pid: null,
    target,
    start: async () => {
      await target.query(`ALTER SUBSCRIPTION ${SUBSCRIPTION} ENABLE`);
    },
    async stop() {
      await target.query(`ALTER SUBSCRIPTION ${SUBSCRIPTION} DISABLE`);
      await slotActive(servers, DATABASE, SUBSCRIPTION, false);
    },
    check: async () => {},
    position: async () => 0,
    bytes: async () => null,
  };
}

let marks = 0;
/** A change that is told apart from all others; returns its value of b in row 1. */
async function mark(source: pg.Client): Promise<number> {
  marks++;
  await source.query(`UPDATE ${TABLE} SET b = ${-marks} WHERE id = 1`);
  return -marks;
}

async function arrived(way: Replication, marker: number): Promise<void> {
  let asked = 0;
  await waitUntil(
    `${way.system} has applied all changes`,
    TIMEOUT_MS,
    async () => {
      if (++asked % 100 === 0) await way.check();
      return (await markOf(way.target)) === marker;
    },
    5,
  );
}

const caughtUp = async (source: pg.Client, way: Replication): Promise<void> => arrived(way, await mark(source));

const markOf = async (target: pg.Client): Promise<number | undefined> =>
  (await target.query<{ b: number }>(`SELECT b FROM ${TABLE} WHERE id = 1`)).rows[0]?.b;

/** From before a transaction begins at the source until it is visible in the target: each writes its time into a row that is looked at all the while. */
async function targetLag(source: pg.Client, way: Replication): Promise<number | null> {
  const now = (): number => performance.timeOrigin + performance.now();
  const zero = now();
  const lags: number[] = [];
  let loading = true;
  const watch = async (): Promise<void> => {
    for (let last: number | undefined; loading; ) {
      const value = await markOf(way.target);
      if (value !== undefined && value !== last && value > 0) lags.push(now() - zero - value / 1000);
      last = value;
    }
  };
  const watching = watch();
  await steadyLoad(
    source,
    LAG_LOAD_MS,
    began =>
      `UPDATE ${TABLE} SET b = CASE WHEN id = 1 THEN ${Math.round((began - zero) * 1000)} ELSE b END, a = a + 1 WHERE id <= ${ROWS_PER_STEP}`,
  );
  loading = false;
  await watching;
  const p99 = percentile(lags.slice(WARM_STEPS), 0.99);
  return p99 === null ? null : Math.round(p99 * 10) / 10;
}

/** The rows of both sides, as checksums: what was measured must also be right. */
async function compare(source: pg.Client, way: Replication): Promise<void> {
  const sum = async (client: pg.Client): Promise<string> =>
    (
      await client.query<{ sum: string }>(
        `SELECT count(*) || ' rows, ' || sum(hashtextextended(t::text, 0)) AS sum FROM ${TABLE} t`,
      )
    ).rows[0]!.sum;
  const [expected, found] = [await sum(source), await sum(way.target)];
  if (expected !== found)
    throw new Error(`${way.system}: the target differs from the source: ${found} against ${expected}`);
}
