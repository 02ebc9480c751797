/** One PostgreSQL source connector on one worker: ours and the peer get the same settings. */
import type { ConnectRest } from './connectRest.ts';
import type { Servers, Worker } from './servers.ts';
import { TABLE } from './tables.ts';

export const PUBLICATION = 'bench_publication';

/** A source of any system. */
export interface BenchSource {
  readonly name: string;
  readonly topic: string;
  readonly worker: Worker;
  create(snapshotMode: 'initial' | 'no_data'): Promise<void>;
  check(): Promise<void>;
}

export class SourceConnector implements BenchSource {
  readonly name: string;
  readonly topic: string;
  readonly slot: string;
  readonly worker: Worker;
  readonly #servers: Servers;
  readonly #database: string;

  constructor(servers: Servers, worker: Worker, database: string, purpose: string) {
    this.#servers = servers;
    this.worker = worker;
    this.#database = database;
    this.name = `${worker.system}_${purpose}`;
    this.topic = `${this.name}.public.${TABLE}`;
    this.slot = this.name;
  }

  get rest(): ConnectRest {
    return this.worker.rest;
  }

  async create(snapshotMode: 'initial' | 'no_data', extra: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.rest.create(this.name, {
      'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
      'tasks.max': '1',
      'database.hostname': '127.0.0.1',
      'database.port': String(this.#servers.postgres.port),
      'database.user': 'postgres',
      'database.password': 'postgres',
      'database.dbname': this.#database,
      'topic.prefix': this.name,
      'plugin.name': 'pgoutput',
      'slot.name': this.slot,
      'publication.name': PUBLICATION,
      'publication.autocreate.mode': 'disabled',
      'table.include.list': `public.${TABLE}`,
      'snapshot.mode': snapshotMode,
      'max.batch.size': '8192',
      'max.queue.size': '32768',
      'topic.creation.default.partitions': '1',
      'topic.creation.default.replication.factor': '1',
      ...(this.#servers.brokerSettings.kind === 'kafka' && {
        'topic.creation.default.message.timestamp.type': 'LogAppendTime',
      }),
      ...this.worker.settings,
      ...extra,
    });
  }

  check = (): Promise<void> => this.rest.check(this.name);
}
