/** One MySQL source connector on one worker: ours and the peer get the same settings. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { waitUntil } from '../services/waitUntil.ts';
import type { Servers, Worker } from './servers.ts';
import type { BenchSource } from './sourceConnector.ts';
import { TABLE } from './tables.ts';

/** A Java worker on a machine that others use too has taken four minutes. */
const TIMEOUT_MS = 300_000;
let serverIds = 5_000_000;

export class MysqlSource implements BenchSource {
  readonly name: string;
  readonly topic: string;
  readonly worker: Worker;
  readonly #servers: Servers;
  readonly #database: string;

  constructor(servers: Servers, worker: Worker, database: string, purpose: string) {
    this.#servers = servers;
    this.worker = worker;
    this.#database = database;
    this.name = `${worker.system}_${purpose}`;
    this.topic = `${this.name}.${database}.${TABLE}`;
  }

  async create(snapshotMode: 'initial' | 'no_data'): Promise<void> {
    const { brokerSettings, mysql } = this.#servers;
    await this.worker.rest.create(this.name, {
      'connector.class': 'io.debezium.connector.mysql.MySqlConnector',
      'tasks.max': '1',
      'database.hostname': '127.0.0.1',
      'database.port': String(mysql.port),
      'database.user': 'root',
      'database.password': '',
      'database.ssl.mode': 'disabled',
      'database.server.id': String(serverIds++),
      'topic.prefix': this.name,
      'database.include.list': this.#database,
      'table.include.list': `${this.#database}.${TABLE}`,
      'snapshot.mode': snapshotMode,
      'include.schema.changes': 'false',
      'max.batch.size': '8192',
      'max.queue.size': '32768',
      'topic.creation.default.partitions': '1',
      'topic.creation.default.replication.factor': '1',
      ...(brokerSettings.kind === 'kafka' && {
        'topic.creation.default.message.timestamp.type': 'LogAppendTime',
        'schema.history.internal.kafka.bootstrap.servers': brokerSettings.settings['bootstrap.servers']!,
        'schema.history.internal.kafka.topic': `${this.name}.history`,
      }),
      ...this.worker.settings,
    });
  }

  check = (): Promise<void> => this.worker.rest.check(this.name);
}

/** The readers of the log; one that is gone is on the list until the server next has something to send to it. */
export async function logReaders(client: Connection): Promise<ReadonlySet<string>> {
  const [rows] = await client.query<RowDataPacket[]>(
    "SELECT id AS id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'",
  );
  return new Set(rows.map(row => String(row.id)));
}

/** Waits for a reader that is none of `known`; the time of that, by `performance.now()`. */
export async function newLogReader(client: Connection, known: ReadonlySet<string>): Promise<number> {
  await waitUntil(
    'the log is read',
    TIMEOUT_MS,
    async () => [...(await logReaders(client))].some(id => !known.has(id)),
    5,
  );
  return performance.now();
}
