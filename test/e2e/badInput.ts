/** A PostgreSQL server with a source and a target database, a worker, and what the tests of bad input ask of them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

const TIMEOUT_MS = 60_000;

type Config = Readonly<Record<string, string>>;

export interface BenchOptions {
  readonly postgres?: Config;
  /** Arguments of the worker beside the data directory. */
  readonly args?: readonly string[];
}

export class Bench {
  readonly postgres: LocalPostgres;
  readonly worker: WorkerProcess;
  readonly dataDir: string;

  private constructor(postgres: LocalPostgres, worker: WorkerProcess, dataDir: string) {
    this.postgres = postgres;
    this.worker = worker;
    this.dataDir = dataDir;
  }

  static async start({ postgres: settings = {}, args = [] }: BenchOptions = {}): Promise<Bench> {
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-bad-input-'));
    const postgres = await LocalPostgres.start({ fsync: 'off', ...settings });
    try {
      for (const name of ['source', 'target']) await query(postgres.url('postgres'), `CREATE DATABASE ${name}`);
      const worker = await WorkerProcess.start([
        '--data-dir',
        dataDir,
        '--set',
        'offset.flush.interval.ms=200',
        ...args,
      ]);
      return new Bench(postgres, worker, dataDir);
    } catch (error) {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.worker.stop();
    await this.postgres.stop();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  source(text: string): Promise<Record<string, unknown>[]> {
    return query(this.postgres.url('source'), text);
  }

  target(text: string): Promise<Record<string, unknown>[]> {
    return query(this.postgres.url('target'), text);
  }

  /** A source of one table of schema public, with slot, publication and topics named after it. */
  sourceConfig(table: string, more: Config = {}): Record<string, string> {
    return {
      'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
      'database.hostname': '127.0.0.1',
      'database.port': String(this.postgres.port),
      'database.user': 'postgres',
      'database.password': 'postgres',
      'database.dbname': 'source',
      'topic.prefix': table,
      'plugin.name': 'pgoutput',
      'slot.name': table,
      'publication.name': table,
      'publication.autocreate.mode': 'filtered',
      'table.include.list': `public\\.${table}`,
      ...more,
    };
  }

  /** A sink of the topic of that table, into a table of the same name. */
  sinkConfig(table: string, more: Config = {}): Record<string, string> {
    return {
      'connector.class': 'millrace.PostgresSink',
      topics: `${table}.public.${table}`,
      'connection.url': this.postgres.url('target'),
      'table.name.format': '${source.table}',
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      'auto.create': 'true',
      'consumer.override.metadata.max.age.ms': '500',
      ...more,
    };
  }

  /** A table with `rows` rows, and its source, copied and streaming. */
  async startSource(table: string, more: Config = {}, rows = 3): Promise<string> {
    await this.source(`CREATE TABLE IF NOT EXISTS ${table} (id int PRIMARY KEY, v text)`);
    await this.source(`INSERT INTO ${table} SELECT i, 'v' || i FROM generate_series(1, ${rows}) i`);
    const name = `${table}-source`;
    await this.worker.createConnector(name, this.sourceConfig(table, more));
    await this.running(name);
    return name;
  }

  async startSink(table: string, more: Config = {}): Promise<string> {
    const name = `${table}-sink`;
    await this.worker.createConnector(name, this.sinkConfig(table, more));
    return name;
  }

  /** The body of the refusal; fails where the connector is accepted. */
  async refused(name: string, config: Config): Promise<{ error_code: number; message: string }> {
    const answer = await fetch(`${this.worker.url}/connectors`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, config }),
    });
    const body = (await answer.json()) as { error_code: number; message: string };
    assert.equal(answer.status, 400, JSON.stringify(body));
    return body;
  }

  async running(name: string): Promise<void> {
    await this.#taskIs(name, 'RUNNING');
  }

  /** The first line of the trace of a task that is FAILED (or RESTARTING, where the cause may pass by itself). */
  async failure(name: string, state: 'FAILED' | 'RESTARTING' = 'FAILED'): Promise<string> {
    const trace = await this.#taskIs(name, state);
    const text = trace.split('\n    at ')[0]!;
    if (process.env.SHOW_TRACES) console.log(`${name} ${state}: ${text}\n`);
    return text;
  }

  async #taskIs(name: string, state: string): Promise<string> {
    let seen = '';
    let trace = '';
    await waitUntil(`task of ${name} is ${state}`, TIMEOUT_MS, async () => {
      const { connector, tasks } = await this.worker.status(name);
      seen = JSON.stringify({ connector, tasks });
      trace = tasks[0]?.trace ?? '';
      return tasks[0]?.state === state;
    }).catch(error => assert.fail(`${error.message}; it is ${seen}`));
    return trace;
  }

  /** As the user does after mending. A task that fails again is not FAILED before it did. */
  async restart(name: string): Promise<void> {
    await this.worker.request('POST', `/connectors/${name}/restart?includeTasks=true&onlyFailed=true`);
  }

  /** Source rows of a table = target rows. */
  async copied(table: string): Promise<void> {
    const rows = `SELECT * FROM ${table} ORDER BY 1`;
    let difference = '';
    await waitUntil(`${table} is copied`, TIMEOUT_MS, async () => {
      const [from, to] = await Promise.all([this.source(rows), this.target(rows).catch(String)]);
      difference = `${JSON.stringify(from)}\n${JSON.stringify(to)}`;
      return JSON.stringify(from) === JSON.stringify(to);
    }).catch(async error =>
      assert.fail(`${error.message}:\n${difference}\n${(await this.worker.failures()).join('\n')}`),
    );
  }

  async remove(...names: string[]): Promise<void> {
    for (const name of names) await this.worker.request('DELETE', `/connectors/${name}`);
  }
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // told by the query
  await client.connect();
  try {
    const result = await client.query(text);
    return result.rows;
  } finally {
    await client.end();
  }
}
