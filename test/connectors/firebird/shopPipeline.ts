/** A Firebird server of its own, a worker, and three connectors: the shop into topics, and from there into another Firebird database and a PostgreSQL one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrokerSettings } from '../../../runtime/broker/port.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { readEnvelopes } from '../../chaos/topicCheck.ts';
import { avroConverter } from '../../services/avroConverter.ts';
import { FirebirdServer, type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { WorkerProcess } from '../../services/workerProcess.ts';
import { openPgTarget, type PgTarget, servers } from '../postgres/sink/pgTarget.ts';
import { differences, firebirdRows, postgresRows, SHOP_TABLES } from './equalRows.ts';
import { createShop } from './shopLoad.ts';

const PREFIX = 'shop';
const DEAD = -2;

interface Parts {
  readonly server: FirebirdServer;
  readonly source: TestFirebird;
  readonly target: TestFirebird;
  readonly postgres: PgTarget;
  readonly worker: WorkerProcess;
  readonly broker: BrokerSettings;
}

/** What the topics hold. */
export interface TopicFacts {
  readonly events: number;
  /** Numbers of the transactions that were published. */
  readonly transactions: ReadonlySet<string>;
  /** Events that must not be there, as texts. */
  readonly problems: readonly string[];
}

export class ShopPipeline {
  readonly server: FirebirdServer;
  readonly source: TestFirebird;
  readonly worker: WorkerProcess;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.server = parts.server;
    this.source = parts.source;
    this.worker = parts.worker;
    this.#parts = parts;
  }

  /** The targets are on the shared servers: only the source's server is killed. */
  static async start(t: { after(f: () => Promise<void>): void }, version: FirebirdVersion): Promise<ShopPipeline> {
    const server = await FirebirdServer.start(t, version);
    const source = await TestFirebird.create(t, server, {
      JOURNAL_SEGMENT_SIZE: '131072',
      JOURNAL_BUFFER_SIZE: '4096',
    });
    await createShop(source);
    const target = await TestFirebird.create(t, version);
    const postgres = await openPgTarget(servers[0]![1]);
    t.after(async () => {
      await postgres[Symbol.asyncDispose]();
    });
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-firebird-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const worker = await WorkerProcess.start(['--data-dir', dataDir], {
      CONNECT_OFFSET_FLUSH_INTERVAL_MS: '500',
      CONNECT_ERRORS_RESTART_MAX: '-1',
      CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '1000',
    });
    t.after(() => worker.kill());
    const pipeline = new ShopPipeline({
      server,
      source,
      target,
      postgres,
      worker,
      broker: { kind: 'embedded', dataDir },
    });
    await pipeline.#createConnectors();
    return pipeline;
  }

  async #createConnectors(): Promise<void> {
    const { source, target, postgres, worker } = this.#parts;
    await worker.createConnector('shop-source', {
      'connector.class': 'millrace.FirebirdSource',
      'database.hostname': source.address.host,
      'database.port': String(source.address.port),
      'database.user': source.address.user,
      'database.password': source.address.password,
      'database.dbname': source.address.database,
      'topic.prefix': PREFIX,
      'journal.source.dir': source.archive,
      'poll.interval.ms': '50',
    });
    const sink = {
      'topics.regex': `${PREFIX}\\.[A-Z]+`,
      'table.name.format': '${source.table}',
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      'auto.create': 'true',
      'auto.evolve': 'true',
      'delivery.guarantee': 'exactly-once',
      'consumer.override.metadata.max.age.ms': '1000',
      'consumer.override.session.timeout.ms': '6000',
    };
    await worker.createConnector('to-firebird', {
      ...sink,
      'connector.class': 'millrace.FirebirdSink',
      'connection.url': target.url,
      'connection.user': target.address.user,
      'connection.password': target.address.password,
    });
    await worker.createConnector('to-postgres', {
      ...sink,
      'connector.class': 'millrace.PostgresSink',
      ...postgres.connection,
    } as Record<string, string>);
  }

  /** Waits until both targets equal the source, row by row. Returns the rows of the source. */
  async equal(timeoutMs: number): Promise<number> {
    const expected = await firebirdRows(this.source);
    const rows = [...expected.values()].reduce((sum, of) => sum + of.length, 0);
    let last = '';
    const isEqual = async (): Promise<boolean> => {
      const [firebird, postgres] = [
        differences(expected, await firebirdRows(this.#parts.target)),
        differences(expected, await postgresRows(this.#parts.postgres.client)),
      ];
      last = JSON.stringify({ firebird, postgres }, null, 1);
      return firebird.length + postgres.length === 0;
    };
    const tolerant = (): Promise<boolean> =>
      isEqual().catch((error: unknown) => {
        last = String(error); // a table is not there yet
        return false;
      });
    await waitUntil('the targets equal the source', timeoutMs, tolerant, 250).catch(async error => {
      const status = await this.worker.request('GET', '/connectors?expand=status').catch(String);
      const offsets = await this.worker.request('GET', '/connectors/shop-source/offsets').catch(String);
      const about = JSON.stringify({ status, offsets }, null, 1);
      throw new Error(`${last}\n${about}\n${this.worker.output.slice(-5000)}`, { cause: error });
    });
    return rows;
  }

  /** Reads all topics as another team's consumer would; `undone` are texts that must not be there. */
  async topics(undone: ReadonlySet<string>): Promise<TopicFacts> {
    const transactions = new Set<string>();
    const problems: string[] = [];
    let events = 0;
    const reader = { settings: this.#parts.broker, converter: avroConverter(`${this.worker.url}/registry`) };
    for (const table of SHOP_TABLES.keys()) {
      await readEnvelopes(reader, `${PREFIX}.${table}`, (_op, before, after, partition, offset, envelope) => {
        events++;
        const source = envelope.get('source') as Struct;
        if (source.get('snapshot') === 'false') transactions.add(String(source.get('txId')));
        for (const row of [before, after]) {
          const text = row?.values.find(value => undone.has(String(value)));
          if (text !== undefined) problems.push(`${table} ${partition}:${offset}: ${String(text)}`);
        }
      });
    }
    const dead = await this.#dead([...transactions]);
    problems.push(...dead.map(tnx => `transaction ${tnx} was published, and is rolled back in the database`));
    return { events, transactions, problems };
  }

  async #dead(transactions: readonly string[]): Promise<string[]> {
    const dead: string[] = [];
    for (let at = 0; at < transactions.length; at += 200) {
      const selects = transactions
        .slice(at, at + 200)
        .map(tnx => `select ${tnx} tnx, rdb$get_transaction_cn(${tnx}) cn from rdb$database`);
      for (const { TNX, CN } of await this.source.query(selects.join(' union all '))) {
        if (Number(CN) === DEAD) dead.push(String(TNX));
      }
    }
    return dead;
  }

  /** Numbers of transactions that the source left out although the journal has their COMMIT, as the end of its log tells. */
  heldBack(): readonly string[] {
    const lines = this.worker.output.split('\n').filter(line => line.includes('rolled it back: it is left out'));
    return lines.map(line => /"tnx":(\d+)/.exec(line)?.[1] ?? line);
  }
}
