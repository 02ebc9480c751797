/** A MySQL of its own with a ledger, a worker, and the two connectors that copy the ledger to another database; the source reaches the server by a proxy. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from 'mysql2/promise';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { compareMysqlTables } from '../services/compareMysqlTables.ts';
import { connectMysql, LocalMysql } from '../services/localMysql.ts';
import { TcpProxy } from '../services/tcpProxy.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

export const SOURCE = 'ledger-source';
export const SINK = 'ledger-sink';

interface PipelineOptions {
  /** Statements that make the source's tables. */
  readonly schema: string;
  readonly tables: readonly string[];
  readonly mysqlArgs?: readonly string[];
  readonly source?: Readonly<Record<string, string>>;
  readonly sink?: Readonly<Record<string, string>>;
}

export class MysqlLedgerPipeline {
  readonly server: LocalMysql;
  readonly proxy: TcpProxy;
  readonly worker: WorkerProcess;
  readonly brokerSettings: BrokerSettings;
  readonly #tables: readonly string[];
  readonly #sourceConfig: Readonly<Record<string, string>>;
  readonly #cleanups: readonly (() => Promise<void>)[];

  private constructor(
    server: LocalMysql,
    proxy: TcpProxy,
    worker: WorkerProcess,
    dataDir: string,
    options: PipelineOptions,
    cleanups: readonly (() => Promise<void>)[],
  ) {
    this.server = server;
    this.proxy = proxy;
    this.worker = worker;
    this.brokerSettings = { kind: 'embedded', dataDir };
    this.#tables = options.tables;
    this.#sourceConfig = sourceConfig(proxy.port, options);
    this.#cleanups = cleanups;
  }

  static async start(options: PipelineOptions): Promise<MysqlLedgerPipeline> {
    const cleanups: (() => Promise<void>)[] = [];
    try {
      const server = await LocalMysql.start(options.mysqlArgs);
      cleanups.push(() => server.stop());
      const client = await server.connect();
      await client.query('CREATE DATABASE ledger; CREATE DATABASE copy; USE ledger');
      await client.query(options.schema);
      await client.end();
      const proxy = await TcpProxy.open(server.port);
      cleanups.push(() => proxy.close());
      const dataDir = await mkdtemp(join(tmpdir(), 'millrace-mysql-faults-'));
      cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
      const worker = await WorkerProcess.start(['--data-dir', dataDir], {
        CONNECT_OFFSET_FLUSH_INTERVAL_MS: '500',
        // faults come faster than any user's: they shall meet tasks that run
        CONNECT_ERRORS_RESTART_MAX: '-1',
        CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '2000',
      });
      cleanups.push(() => worker.kill());
      const pipeline = new MysqlLedgerPipeline(server, proxy, worker, dataDir, options, cleanups);
      await worker.createConnector(SOURCE, pipeline.#sourceConfig);
      await worker.createConnector(SINK, sinkConfig(server.port, options));
      return pipeline;
    } catch (error) {
      for (const cleanup of cleanups.reverse()) await cleanup();
      throw error;
    }
  }

  get registryUrl(): string {
    return `${this.worker.url}/registry`;
  }

  get sourceUrl(): string {
    return this.server.url('ledger');
  }

  async query(statements: string): Promise<void> {
    const client = await connectMysql(this.sourceUrl);
    await client.query(statements).finally(() => client.destroy());
  }

  /** Creates the source again with other options; its offsets stay. */
  async setSource(extra: Readonly<Record<string, string>>): Promise<void> {
    await this.worker.request('PUT', `/connectors/${SOURCE}/config`, { ...this.#sourceConfig, ...extra });
  }

  /** Whether all rows were read and a restart goes on in the log. */
  async isStreaming(): Promise<boolean> {
    const { offsets } = await this.worker.request<{ offsets: { offset: Record<string, unknown> }[] }>(
      'GET',
      `/connectors/${SOURCE}/offsets`,
    );
    return offsets.some(({ offset }) => offset.snapshot === undefined || offset.snapshot_completed === true);
  }

  /** The message of the source's failure; null while it has none. */
  async failure(): Promise<string | null> {
    const { tasks } = await this.worker.status(SOURCE);
    return tasks.find(task => task.trace !== undefined)?.trace ?? null;
  }

  /** Waits until the target equals the source, row by row. */
  async caughtUp(timeoutMs: number): Promise<void> {
    let last = '';
    const clients: Connection[] = [];
    try {
      for (const database of ['ledger', 'copy']) clients.push(await this.server.connect(database));
      const [source, target] = clients as [Connection, Connection];
      await waitUntil(
        'the target equals the source',
        timeoutMs,
        async () => {
          const { rows, differences, examples } = await compareMysqlTables(source, target, this.#tables);
          last = `${differences} of ${rows} rows differ: ${examples.join('; ')}`;
          return rows > 0 && differences === 0;
        },
        500,
      );
    } catch (error) {
      throw new Error(last === '' ? (error as Error).message : last, { cause: error });
    } finally {
      for (const client of clients) await client.end();
    }
  }

  /** For the message of a failure. */
  async describe(): Promise<string> {
    const ask = (path: string): Promise<unknown> => this.worker.request('GET', path).catch(String);
    const paths = ['/connectors?expand=status', `/connectors/${SOURCE}/offsets`, `/connectors/${SINK}/offsets`];
    return `${JSON.stringify(await Promise.all(paths.map(ask)), null, 1)}\n${this.worker.output}`;
  }

  async close(): Promise<void> {
    for (const cleanup of [...this.#cleanups].reverse()) await cleanup();
  }
}

const sourceConfig = (port: number, { tables, source }: PipelineOptions): Record<string, string> => ({
  'connector.class': 'io.debezium.connector.mysql.MySqlConnector',
  'database.hostname': '127.0.0.1',
  'database.port': String(port),
  'database.user': 'root',
  'database.include.list': 'ledger',
  'table.include.list': tables.map(table => `ledger.${table}`).join(','),
  'topic.prefix': 'ledger',
  'connect.keep.alive.interval.ms': '3000',
  ...source,
});

const sinkConfig = (port: number, { sink }: PipelineOptions): Record<string, string> => ({
  'connector.class': 'millrace.MySqlSink',
  'topics.regex': 'ledger\\.ledger\\..*',
  'connection.url': `mysql://root@127.0.0.1:${port}/copy`,
  'table.name.format': '${source.table}',
  'insert.mode': 'upsert',
  'pk.mode': 'record_key',
  'delete.enabled': 'true',
  'auto.create': 'true',
  'auto.evolve': 'true',
  'consumer.override.metadata.max.age.ms': '1000',
  'consumer.override.session.timeout.ms': '6000',
  ...sink,
});
