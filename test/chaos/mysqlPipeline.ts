/** A worker of its own between a database of the MySQL server and another one, and what both tables must have in the end. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { connect, servers } from '../connectors/mysql/sink/mysqlTarget.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

/** Of the row that goes through last. */
export const LAST_ID = 99_999_999;

type Cleanup = { after(f: () => Promise<void>): void };

export class MysqlPipeline {
  readonly source: string;
  readonly target: string;
  readonly sql: Connection;
  readonly worker: WorkerProcess;
  readonly url = servers[0]![1];

  private constructor(names: { source: string; target: string }, sql: Connection, worker: WorkerProcess) {
    this.source = names.source;
    this.target = names.target;
    this.sql = sql;
    this.worker = worker;
  }

  /** Both databases have the table `t` of the statement, the source's is used. */
  static async open(t: Cleanup, createTable: string): Promise<MysqlPipeline> {
    const id = randomBytes(5).toString('hex');
    const [source, target] = [`from_${id}`, `to_${id}`];
    const sql = await connect(servers[0]![1]);
    t.after(async () => {
      await sql.query(`DROP DATABASE IF EXISTS ${source}; DROP DATABASE IF EXISTS ${target}`);
      await sql.end();
    });
    await sql.query("SET time_zone = '+00:00'");
    for (const name of [target, source]) {
      await sql.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4; USE ${name}; ${createTable}`);
    }
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-mysql-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const worker = await WorkerProcess.start(['--data-dir', dataDir], {
      CONNECT_OFFSET_FLUSH_INTERVAL_MS: '1000',
      CONNECT_ERRORS_RESTART_MAX: '-1',
      CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '1000',
    });
    t.after(() => worker.kill());
    return new MysqlPipeline({ source, target }, sql, worker);
  }

  get topic(): string {
    return `${this.source}.${this.source}.t`;
  }

  async startSource(config: Readonly<Record<string, string>> = {}): Promise<void> {
    const { hostname, port, username } = new URL(this.url);
    await this.worker.createConnector('source', {
      'connector.class': 'millrace.MysqlSource',
      'database.hostname': hostname,
      'database.port': port,
      'database.user': username,
      'database.include.list': this.source,
      'topic.prefix': this.source,
      'include.schema.changes': 'false',
      'topic.creation.default.partitions': '2',
      'topic.creation.default.replication.factor': '1',
      ...config,
    });
  }

  async startSink(config: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.worker.createConnector('sink', {
      'connector.class': 'millrace.MySqlSink',
      topics: this.topic,
      'connection.url': `jdbc:${this.url}/${this.target}`,
      'table.name.format': 't',
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      ...config,
    });
  }

  async rows(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.sql.query<RowDataPacket[]>(sql))[0];
  }

  /** A last row goes through: all before it have come, of its partition at least; the caller compares until it is the same. */
  async finish(timeoutMs: number): Promise<void> {
    await this.sql.query(`INSERT INTO ${this.source}.t (id) VALUES (${LAST_ID})`);
    await waitUntil('the last row has come', timeoutMs, async () => {
      const failures = await this.worker.failures();
      if (failures.length > 0) throw new Error(failures.join('\n'));
      return (await this.rows(`SELECT id FROM ${this.target}.t WHERE id = ${LAST_ID}`)).length > 0;
    });
  }

  /** Rows that differ, or are in one table only. Texts are compared by their bytes. */
  async differences(columns: readonly string[]): Promise<number> {
    const { source, target } = this;
    const same = columns.map(name => `(${same_(name)})`).join(' AND ');
    const [row] = await this.rows(
      `SELECT (SELECT COUNT(*) FROM ${source}.t s LEFT JOIN ${target}.t d ON d.id = s.id WHERE d.id IS NULL OR NOT (${same}))
            + (SELECT COUNT(*) FROM ${target}.t d LEFT JOIN ${source}.t s ON s.id = d.id WHERE s.id IS NULL) AS n`,
    );
    return Number(row!.n);
  }
}

const same_ = (name: string): string => {
  const text = (side: string): string => `CAST(CONCAT(${side}.${name}) AS BINARY)`;
  return `s.${name} <=> d.${name} AND ${text('s')} <=> ${text('d')}`;
};
