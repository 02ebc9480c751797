/** Databases of its own, a source task driven by hand, and all records it gave; everything is removed at the end. */
import mysql, { type Connection } from 'mysql2/promise';
import { mariadbSourcePlugin, mysqlSourcePlugin } from '../../../connectors/mysql/source/connector.ts';
import type {
  Config,
  ConnectRecord,
  Logger,
  SourceBatch,
  SourceOffset,
  SourceTask,
  TopicFollower,
} from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';

export const MYSQL_URL = process.env.MYSQL_URL ?? 'mysql://root@127.0.0.1:13306';
export const MARIADB_URL = process.env.MARIADB_URL ?? 'mysql://root@127.0.0.1:13307';

const DEADLINE_MS = 20_000;

export type Cleanup = { after(f: () => Promise<void>): void };

export class MysqlHarness {
  readonly name: string;
  sql: Connection;
  readonly records: ConnectRecord[] = [];
  readonly batches: SourceBatch[] = [];
  readonly warnings: string[] = [];
  readonly metrics = new Map<string, number>();
  private readonly sent: { readonly topic: string; readonly key: string; readonly value: unknown }[] = [];
  /** Topics that the task made, with their configs. */
  readonly topics = new Map<string, Readonly<Record<string, string>>>();
  /** The last offset handed out, and the one the next task starts from. */
  offset: SourceOffset | null = null;
  stored: SourceOffset | null = null;
  task: SourceTask | null = null;
  readonly url: URL;
  private readonly isMariaDb: boolean;
  private readonly databases: readonly string[];
  /** The server ends with the test: nothing is removed. */
  isLost = false;
  /** Run at the end, before the databases go. */
  readonly cleanup: string[] = [];
  private abort = new AbortController();

  private constructor(url: URL, isMariaDb: boolean, sql: Connection, name: string, databases: readonly string[]) {
    this.url = url;
    this.isMariaDb = isMariaDb;
    this.sql = sql;
    this.name = name;
    this.databases = databases;
  }

  static async open(
    t: Cleanup,
    {
      url = MYSQL_URL,
      isMariaDb = url === MARIADB_URL,
      name = `src_${Math.random().toString(36).slice(2, 10)}`,
      more = [] as readonly string[],
    }: { url?: string; isMariaDb?: boolean; name?: string; more?: readonly string[] } = {},
  ): Promise<MysqlHarness> {
    const address = new URL(url);
    const sql = await open(address);
    const databases = [name, ...more];
    const harness = new MysqlHarness(address, isMariaDb, sql, name, databases);
    t.after(() => harness.close());
    const collation = isMariaDb ? 'utf8mb4_general_ci' : 'utf8mb4_0900_ai_ci';
    for (const database of databases) {
      await sql.query(`DROP DATABASE IF EXISTS ${database}`);
      await sql.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4 COLLATE ${collation}`);
    }
    await sql.query(`USE ${name}`);
    return harness;
  }

  /** A session with the server's own settings. */
  async newSession(): Promise<void> {
    await this.sql.end();
    this.sql = await open(this.url);
    await this.sql.query(`USE ${this.name}`);
  }

  /** Another session in the same database. */
  async connect(): Promise<Connection> {
    const connection = await open(this.url);
    await connection.query(`USE ${this.name}`);
    return connection;
  }

  config(overrides: Config = {}): Config {
    return {
      'database.hostname': this.url.hostname,
      'database.port': this.url.port,
      'database.user': decodeURIComponent(this.url.username),
      'database.password': decodeURIComponent(this.url.password),
      'database.include.list': this.databases.join(','),
      'topic.prefix': this.name,
      'poll.interval.ms': '50',
      // One topic less; the recorded cases have it.
      'include.schema.changes': 'false',
      ...overrides,
    };
  }

  /** Runs statements one by one: each ends with a semicolon at a line's end. */
  async script(text: string): Promise<void> {
    for (const statement of text.split(/;\s*$/m)) if (statement.trim() !== '') await this.sql.query(statement);
  }

  async start(overrides: Config = {}): Promise<void> {
    this.abort = new AbortController();
    const task = (this.isMariaDb ? mariadbSourcePlugin : mysqlSourcePlugin).createTask();
    this.task = task;
    const config = this.config(overrides);
    await task.start(config, {
      connectorName: this.name,
      taskId: 0,
      config,
      logger: this.logger,
      signal: this.abort.signal,
      metrics: {
        gauge: (name, value) => this.metrics.set(name, value),
        count: (name, by = 1, topic = '') => {
          const key = topic === '' ? name : `${name} ${topic}`;
          this.metrics.set(key, (this.metrics.get(key) ?? 0) + by);
        },
      },
      offsets: { offset: async () => this.stored },
      followTopic: async (topic, from) => this.follow(topic, from),
      createTopic: async (topic, configs) => void this.topics.set(topic, configs),
    });
  }

  /** A record of somebody else, for a topic that the task follows. */
  send(topic: string, key: string, value: unknown): void {
    this.sent.push({ topic, key, value });
  }

  /** A topic that has what was sent to it, and what the task gave for it. */
  private follow(topic: string, from: number | 'end'): TopicFollower {
    const given = () => [
      ...this.sent.filter(record => record.topic === topic),
      ...this.records.filter(record => record.topic === topic).map(({ value }) => ({ key: null, value })),
    ];
    return {
      position: from === 'end' ? given().length : from,
      async poll() {
        const all = given();
        const texts = all.slice(this.position).map(({ key, value }, i) => ({
          offset: this.position + i,
          key,
          value: JSON.stringify(value),
        }));
        (this as { position: number }).position = all.length;
        return texts;
      },
      close: async () => {},
    };
  }

  private readonly logger: Logger = {
    error: (_fields, message) => this.warnings.push(message),
    warn: (_fields, message) => this.warnings.push(message),
    info: () => {},
    debug: () => {},
  };

  async poll(): Promise<readonly SourceBatch[]> {
    const batches = await this.task!.poll();
    for (const batch of batches) {
      this.batches.push(batch);
      for (let i = 0; i < batch.count; i++) this.records.push(batch.record(i));
      if (batch.sourceOffset !== null) this.offset = batch.sourceOffset;
      // As the worker does: what tells where the task begins is stored before the next poll.
      if (batch.count === 0) this.stored ??= batch.sourceOffset;
    }
    return batches;
  }

  /** Polls until there are this many records, then once more; fails after a deadline. */
  async pollUntil(count: number): Promise<readonly ConnectRecord[]> {
    await this.pollWhile(() => this.records.length < count);
    await this.poll();
    return this.records;
  }

  /** Polls until the snapshot is done and the log is asked for. */
  async pollUntilStreaming(): Promise<void> {
    const state = (): { snapshot: unknown; stream: { isConnected: boolean } | null } =>
      this.task as unknown as { snapshot: unknown; stream: { isConnected: boolean } | null };
    await this.pollWhile(() => state().snapshot !== null || state().stream?.isConnected !== true);
  }

  async pollWhile(condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    while (await condition()) {
      if (Date.now() > deadline) throw new Error(`the condition did not come true: ${this.records.length} records`);
      await this.poll();
    }
  }

  /** What the worker does after an acknowledged batch: stores the offset. */
  commit(): void {
    this.stored = this.offset;
  }

  async stop(): Promise<void> {
    this.abort.abort();
    const task = this.task;
    this.task = null;
    await task?.stop();
  }

  private async close(): Promise<void> {
    await this.stop().catch(() => {});
    if (this.isLost) {
      this.sql.destroy();
      return;
    }
    for (const statement of this.cleanup) await this.sql.query(statement);
    for (const database of this.databases) await this.sql.query(`DROP DATABASE IF EXISTS ${database}`);
    await this.sql.end();
  }
}

/** A struct as an object, nested ones too. */
export function plain(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const struct = value as Struct;
  if (!('schema' in struct && Array.isArray(struct.values))) return value;
  return Object.fromEntries(struct.schema.fields.map((field, i) => [field.name, plain(struct.values[i])]));
}

const open = (address: URL): Promise<Connection> =>
  mysql.createConnection({
    host: address.hostname,
    port: Number(address.port),
    user: decodeURIComponent(address.username),
    password: decodeURIComponent(address.password),
    charset: 'utf8mb4',
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    multipleStatements: true,
  });
