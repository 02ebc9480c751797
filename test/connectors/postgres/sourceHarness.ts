/** A database of its own, a source task driven by hand, and all records it gave; everything is removed at the end. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { sourcePlugin } from '../../../connectors/postgres/source/connector.ts';
import type {
  Config,
  ConnectRecord,
  Logger,
  SourceBatch,
  SourceOffset,
  SourceTask,
  SourceTaskContext,
} from '../../../runtime/api/index.ts';

export const PG18_URL = process.env.PG18_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432';
export const PG15_URL = process.env.PG15_URL ?? 'postgres://postgres:postgres@127.0.0.1:15433';

const DEADLINE_MS = 60_000;

export class SourceHarness {
  readonly name: string;
  readonly sql: pg.Client;
  readonly records: ConnectRecord[] = [];
  readonly batches: SourceBatch[] = [];
  readonly warnings: string[] = [];
  readonly infos: string[] = [];
  readonly gauges = new Map<string, number>();
  /** The last offset handed out, and the one the next task starts from. */
  offset: SourceOffset | null = null;
  stored: SourceOffset | null = null;
  task: SourceTask | null = null;
  /** Where the source reads a topic of signals. */
  followTopic: SourceTaskContext['followTopic'];
  private readonly url: URL;
  private readonly admin: pg.Client;
  private abort = new AbortController();

  private constructor(url: URL, admin: pg.Client, sql: pg.Client, name: string) {
    this.url = url;
    this.admin = admin;
    this.sql = sql;
    this.name = name;
  }

  static async open(t: { after(f: () => Promise<void>): void }, url = PG18_URL): Promise<SourceHarness> {
    const name = `src_${Math.random().toString(36).slice(2, 10)}`;
    const admin = new pg.Client(`${url}/postgres`);
    // Tests that end a server end these connections too; whoever uses one then fails there.
    admin.on('error', () => {});
    await admin.connect();
    await removeDatabase(admin, name);
    await admin.query(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'`,
    );
    const sql = new pg.Client(`${url}/${name}`);
    sql.on('error', () => {});
    await sql.connect();
    await sql.query("SET TimeZone = 'UTC'");
    const harness = new SourceHarness(new URL(url), admin, sql, name);
    t.after(() => harness.close());
    return harness;
  }

  config(overrides: Config = {}): Config {
    return {
      'database.hostname': this.url.hostname,
      'database.port': this.url.port,
      'database.user': decodeURIComponent(this.url.username),
      'database.password': decodeURIComponent(this.url.password),
      'database.dbname': this.name,
      'topic.prefix': this.name,
      'slot.name': this.name,
      'publication.name': this.name,
      'poll.interval.ms': '50',
      ...overrides,
    };
  }

  /** Runs statements one by one: each ends with a semicolon at a line's end. */
  async script(text: string): Promise<void> {
    for (const statement of text.split(/;\s*$/m)) if (statement.trim() !== '') await this.sql.query(statement);
  }

  async start(overrides: Config = {}): Promise<void> {
    this.abort = new AbortController();
    const task = sourcePlugin.createTask();
    this.task = task;
    const config = this.config(overrides);
    await task.start(config, {
      connectorName: this.name,
      taskId: 0,
      config,
      logger: this.logger,
      signal: this.abort.signal,
      metrics: { gauge: (name, value) => this.gauges.set(name, value), count() {} },
      offsets: { offset: async () => this.stored },
      ...(this.followTopic !== undefined && { followTopic: this.followTopic }),
    });
  }

  private readonly logger: Logger = {
    error: (_fields, message) => this.warnings.push(message),
    warn: (_fields, message) => this.warnings.push(message),
    info: (_fields, message) => this.infos.push(message),
    debug: () => {},
  };

  async poll(): Promise<readonly SourceBatch[]> {
    const batches = await this.task!.poll();
    for (const batch of batches) {
      this.batches.push(batch);
      for (let i = 0; i < batch.count; i++) this.records.push(batch.record(i));
      if (batch.sourceOffset !== null) this.offset = batch.sourceOffset;
    }
    return batches;
  }

  /** Polls until there are this many records, then once more; fails after a deadline. */
  async pollUntil(count: number): Promise<readonly ConnectRecord[]> {
    const deadline = Date.now() + DEADLINE_MS;
    while (this.records.length < count) {
      if (Date.now() > deadline) throw new Error(`only ${this.records.length} of ${count} records came`);
      await this.poll();
    }
    await this.poll();
    return this.records;
  }

  /** Polls until the server sees the slot in use. */
  async pollUntilStreaming(): Promise<void> {
    await this.pollWhile(async () => {
      const { rows } = await this.admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [
        this.name,
      ]);
      return !rows[0]?.active || (this.task as unknown as { snapshot: unknown }).snapshot !== null;
    });
  }

  async pollWhile(condition: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    while (await condition()) {
      if (Date.now() > deadline) throw new Error('the condition did not come true');
      await this.poll();
    }
  }

  /** What the worker does after an acknowledged batch: stores the offset and says so. */
  async commit(): Promise<void> {
    this.stored = this.offset;
    if (this.offset !== null) await this.task!.commit!({ server: this.name }, this.offset);
  }

  async stop(): Promise<void> {
    this.abort.abort();
    const task = this.task;
    this.task = null;
    await task?.stop();
  }

  async slot(): Promise<{ readonly active: boolean; readonly confirmed_flush_lsn: string } | null> {
    const { rows } = await this.admin.query(
      'SELECT active, confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1',
      [this.name],
    );
    return rows[0] ?? null;
  }

  private async close(): Promise<void> {
    await this.stop().catch(() => {});
    await this.sql.end();
    await removeDatabase(this.admin, this.name);
    await this.admin.end();
  }
}

async function removeDatabase(admin: pg.Client, name: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    await admin.query(
      'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active',
      [name],
    );
    try {
      await admin.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1', [
        name,
      ]);
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(50);
    }
  }
}
