/** The shop in a PostgreSQL of its own, in two databases. */
import pg from 'pg';
import { LocalPostgres } from '../services/localPostgres.ts';
import { type Comparison, compareTables } from './compareTables.ts';
import type { DemoShop } from './demoShop.ts';
import { LagProbe } from './lagProbe.ts';
import type { LagTimes } from './lagTimes.ts';
import { createShop, SHOP_TABLES, ShopWorkload, TARGET_SCHEMA } from './shop.ts';

export class PostgresShop implements DemoShop {
  readonly sourceUrl: string;
  readonly copyUrl: string;
  readonly topic = 'shop.public.orders';
  readonly #server: LocalPostgres;
  readonly #workload: ShopWorkload;
  readonly #probe: LagProbe;

  private constructor(server: LocalPostgres, probe: LagProbe) {
    this.#server = server;
    this.#probe = probe;
    this.sourceUrl = server.url('shop');
    this.copyUrl = server.url('copy');
    this.#workload = new ShopWorkload(this.sourceUrl);
  }

  static async start(): Promise<PostgresShop> {
    const server = await LocalPostgres.start({ fsync: 'off' });
    try {
      await query(server.url('postgres'), 'CREATE DATABASE shop');
      await query(server.url('postgres'), 'CREATE DATABASE copy');
      await createShop(server.url('shop'));
      await query(server.url('copy'), TARGET_SCHEMA);
      return new PostgresShop(server, await LagProbe.start(server.url('copy')));
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get source(): Readonly<Record<string, string>> {
    return {
      'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
      'database.hostname': '127.0.0.1',
      'database.port': String(this.#server.port),
      'database.user': 'postgres',
      'database.password': 'postgres',
      'database.dbname': 'shop',
      'topic.prefix': 'shop',
      'plugin.name': 'pgoutput',
      'table.include.list': 'public\\..*',
    };
  }

  get sink(): Readonly<Record<string, string>> {
    return {
      'connector.class': 'millrace.PostgresSink',
      'topics.regex': 'shop\\.public\\..*',
      'connection.url': this.copyUrl,
    };
  }

  get lag(): LagTimes {
    return this.#probe.times;
  }

  get changes(): number {
    return this.#workload.changes;
  }

  runWorkload(signal: AbortSignal, transactionsPerSecond: number): Promise<void> {
    return this.#workload.run(signal, transactionsPerSecond);
  }

  compare(): Promise<Comparison> {
    return compareTables(this.sourceUrl, this.copyUrl, SHOP_TABLES);
  }

  async stop(): Promise<void> {
    await this.#probe.stop();
    await this.#server.stop();
  }
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
