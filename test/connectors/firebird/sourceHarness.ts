/** A source task over a test database, driven by hand, and all records it gave. */
import { sourcePlugin } from '../../../connectors/firebird/source/connector.ts';
import type { Config, ConnectRecord, Logger, SourceOffset, SourceTask } from '../../../runtime/api/index.ts';
import { Struct } from '../../../schemas/data/index.ts';
import type { TestFirebird } from '../../services/localFirebird.ts';

const DEADLINE_MS = 30_000;

export interface Change {
  readonly table: string;
  /** null = a tombstone. */
  readonly op: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly record: ConnectRecord;
}

export class FirebirdHarness {
  readonly database: TestFirebird;
  readonly changes: Change[] = [];
  readonly warnings: string[] = [];
  offset: SourceOffset | null = null;
  stored: SourceOffset | null = null;
  #task: SourceTask | null = null;
  #changesAtOffset = 0;
  #abort = new AbortController();

  constructor(t: { after(f: () => Promise<void>): void }, database: TestFirebird) {
    this.database = database;
    t.after(() => this.stop());
  }

  config(overrides: Config = {}): Config {
    const { address, archive, name } = this.database;
    return {
      'database.hostname': address.host,
      'database.port': String(address.port),
      'database.user': address.user,
      'database.password': address.password,
      'database.dbname': address.database,
      'topic.prefix': name,
      'journal.source.dir': archive,
      'poll.interval.ms': '50',
      ...overrides,
    };
  }

  async start(overrides: Config = {}): Promise<void> {
    this.#abort = new AbortController();
    const config = this.config(overrides);
    this.#task = sourcePlugin.createTask();
    await this.#task.start(config, {
      connectorName: this.database.name,
      taskId: 0,
      config,
      logger: this.#logger,
      signal: this.#abort.signal,
      metrics: { gauge() {}, count() {} },
      offsets: { offset: async () => this.stored },
    });
  }

  readonly #logger: Logger = {
    error: (_fields, message) => this.warnings.push(message),
    warn: (_fields, message) => this.warnings.push(message),
    info: () => {},
    debug: () => {},
  };

  async poll(): Promise<void> {
    for (const batch of await this.#task!.poll()) {
      for (let i = 0; i < batch.count; i++) this.changes.push(changeOf(batch.record(i)));
      if (batch.sourceOffset === null) continue;
      // As the worker does: what tells where the task begins is stored before the next poll.
      if (batch.count === 0) this.stored ??= batch.sourceOffset;
      this.offset = batch.sourceOffset;
      this.#changesAtOffset = this.changes.length;
    }
  }

  /** Whether the offset last given is one of the journal, and not of a snapshot. */
  get isStreaming(): boolean {
    return this.offset !== null && this.offset.snapshot === undefined;
  }

  async pollUntil(what: string, condition: (changes: readonly Change[]) => boolean): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    while (!condition(this.changes)) {
      if (Date.now() > deadline) throw new Error(`not in time: ${what}; ${this.changes.length} changes came`);
      await this.poll();
    }
  }

  async commit(): Promise<void> {
    this.stored = this.offset;
    if (this.offset !== null) await this.#task!.commit!({ server: this.database.name }, this.offset);
  }

  /** Goes on from the last offset given: what was given behind it comes again. */
  async restart(): Promise<void> {
    await this.stop();
    this.stored = this.offset;
    this.changes.length = this.#changesAtOffset;
    await this.start();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    const task = this.#task;
    this.#task = null;
    await task?.stop();
  }
}

export function changeOf(record: ConnectRecord): Change {
  const value = record.value as Struct | null;
  // Transactions, heartbeats, and documents of event.format=journal.
  if (typeof record.value === 'string' || (value !== null && !value.schema.fieldIndex.has('op'))) {
    return { table: record.topic, op: null, before: null, after: null, record };
  }
  const row = (name: string): Record<string, unknown> | null => {
    const of = value?.get(name) as Struct | null | undefined;
    return of == null ? null : plain(of);
  };
  const key = record.key as Struct | null;
  return {
    table: value === null ? record.topic : String((value.get('source') as Struct).get('table')),
    op: value === null ? null : String(value.get('op')),
    before: value === null && key !== null ? plain(key) : row('before'),
    after: row('after'),
    record,
  };
}

export function plain(of: Struct): Record<string, unknown> {
  return Object.fromEntries(
    of.schema.fields.map((field, i) => {
      const value = of.values[i];
      if (value instanceof Struct) return [field.name, plain(value)];
      if (value instanceof Uint8Array) return [field.name, Buffer.from(value).toString('hex')];
      return [field.name, typeof value === 'object' && value !== null ? String(value) : value];
    }),
  );
}
