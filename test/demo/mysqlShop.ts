/** The shop in MySQL, in two databases of a server that is started for it or of one that is there; there they are removed at the end. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { compareMysqlTables } from '../services/compareMysqlTables.ts';
import { connectMysql, LocalMysql } from '../services/localMysql.ts';
import type { Comparison } from './compareTables.ts';
import type { DemoShop } from './demoShop.ts';
import { LagTimes } from './lagTimes.ts';
import { MysqlWorkload, SHOP, SHOP_TABLES } from './mysqlWorkload.ts';

const SOURCE = 'millrace_demo_shop';
const COPY = 'millrace_demo_copy';
const PROBE_INTERVAL_MS = 5;
const NO_SUCH_TABLE = 1146;

export class MysqlShop implements DemoShop {
  readonly topic = `shop.${SOURCE}.orders`;
  readonly lag = new LagTimes();
  readonly sourceUrl: string;
  readonly copyUrl: string;
  readonly #server: LocalMysql | null;
  readonly #url: URL;
  readonly #clients: { readonly source: Connection; readonly copy: Connection; readonly probe: Connection };
  readonly #workload: MysqlWorkload;
  readonly #end = new AbortController();
  readonly #probing: Promise<void>;

  private constructor(server: LocalMysql | null, url: URL, clients: [Connection, Connection, Connection]) {
    const [source, copy, probe] = clients;
    this.#server = server;
    this.#url = url;
    this.#clients = { source, copy, probe };
    this.sourceUrl = urlOf(url, SOURCE);
    this.copyUrl = urlOf(url, COPY);
    this.#workload = new MysqlWorkload(source);
    this.#probing = this.#watchProbes();
  }

  /** `url` null = a server of its own. */
  static async start(url: string | null): Promise<MysqlShop> {
    const server = url === null ? await LocalMysql.start() : null;
    try {
      const address = new URL(url ?? server!.url());
      const source = await connectMysql(urlOf(address, ''));
      for (const database of [SOURCE, COPY])
        await source.query(`DROP DATABASE IF EXISTS ${database}; CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
      await source.query(`USE ${SOURCE}`);
      await source.query(SHOP);
      const copy = [await connectMysql(urlOf(address, COPY)), await connectMysql(urlOf(address, COPY))] as const;
      return new MysqlShop(server, address, [source, ...copy]);
    } catch (error) {
      await server?.stop();
      throw error;
    }
  }

  get source(): Readonly<Record<string, string>> {
    return {
      'connector.class': 'io.debezium.connector.mysql.MySqlConnector',
      'database.hostname': this.#url.hostname,
      'database.port': this.#url.port || '3306',
      'database.user': decodeURIComponent(this.#url.username),
      'database.password': decodeURIComponent(this.#url.password),
      'database.include.list': SOURCE,
      'topic.prefix': 'shop',
    };
  }

  get sink(): Readonly<Record<string, string>> {
    return {
      'connector.class': 'millrace.MySqlSink',
      'topics.regex': `shop\\.${SOURCE}\\..*`,
      'connection.url': this.copyUrl,
    };
  }

  get changes(): number {
    return this.#workload.changes;
  }

  runWorkload(signal: AbortSignal, transactionsPerSecond: number): Promise<void> {
    return this.#workload.run(signal, transactionsPerSecond);
  }

  compare(): Promise<Comparison> {
    return compareMysqlTables(this.#clients.source, this.#clients.copy, SHOP_TABLES);
  }

  /** Probes count as they come into sight. */
  async #watchProbes(): Promise<void> {
    for (let last = 0; !this.#end.signal.aborted; ) {
      const rows = await this.#clients.probe
        .query<RowDataPacket[]>('SELECT id, sent_at_ms FROM lag_probe WHERE id > ? ORDER BY id', [last])
        .then(
          ([found]) => found,
          (error: { errno?: number }) => {
            if (error.errno === NO_SUCH_TABLE || this.#end.signal.aborted) return [];
            throw error;
          },
        );
      for (const row of rows) {
        this.lag.arrived(Number(row.sent_at_ms));
        last = Number(row.id);
      }
      await new Promise(resolve => setTimeout(resolve, PROBE_INTERVAL_MS));
    }
  }

  async stop(): Promise<void> {
    this.#end.abort();
    const { source, copy, probe } = this.#clients;
    await this.#probing;
    if (this.#server === null) await source.query(`DROP DATABASE ${SOURCE}; DROP DATABASE ${COPY}`);
    for (const client of [source, copy, probe]) await client.end();
    await this.#server?.stop();
  }
}

function urlOf(server: URL, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
