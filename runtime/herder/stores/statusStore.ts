/**
 * The status topic and what it says. A status has its effect at once and is written behind, in order; one that cannot be written is logged, since
 * statuses follow from what runs and never decide it. In a cluster the topic is followed, and shows what other workers say.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../api/logger.ts';
import { type ApplyRecord, type InternalRecord, InternalTopic, type InternalTopicOptions } from './internalTopic.ts';
import { StatusState, statusRecord } from './statusState.ts';

const closeTimeoutMs = 1_000;
/** Bound for what waits for the broker: one record for each connector, task and topic. */
const maxPending = 10_000;

type OnChange = (record: InternalRecord, timestampMs: number) => void;

export class StatusStore {
  readonly state: StatusState;
  #topic!: InternalTopic;
  readonly #logger: Logger;
  readonly #workerId: string | null;
  /** Values that are written and not yet read back, by key: until then this worker knows better than the log. */
  readonly #unread = new Map<string, string[]>();
  /** What others wrote meanwhile, the last of each key. */
  readonly #overtaken = new Map<string, InternalRecord>();
  #follows = false;
  #pending = new Map<string, InternalRecord>();
  #writing: Promise<void> | null = null;

  private constructor(logger: Logger, workerId: string | null) {
    this.#logger = logger;
    this.#workerId = workerId;
    this.state = new StatusState(workerId);
  }

  static async open(options: InternalTopicOptions): Promise<StatusStore> {
    const store = new StatusStore(options.logger, null);
    store.#topic = await InternalTopic.open(options, record => store.state.apply(record));
    return store;
  }

  /**
   * Reads on; `onChange` is told of what others wrote after the start, and must not throw. A status of `workerId` that another writes over too late is
   * written again.
   */
  static async follow(options: InternalTopicOptions, workerId: string, onChange: OnChange): Promise<StatusStore> {
    const store = new StatusStore(options.logger, workerId);
    const read: ApplyRecord = (record, _, timestampMs) => store.#read(record, timestampMs, onChange);
    store.#topic = await InternalTopic.open(options, read, true);
    store.#follows = true;
    return store;
  }

  put(record: InternalRecord): void {
    this.state.apply(record);
    // Only the latest of a key matters in a compacted topic.
    this.#pending.delete(record.key);
    if (this.#pending.size < maxPending) this.#pending.set(record.key, record);
    else this.#logger.error({ key: record.key }, 'status is not written: too many wait for the broker');
    this.#writing ??= this.#writeBehind();
  }

  /** Where the topic is followed: resolves when all that is in it by now is read. */
  readToEnd(timeoutMs: number): Promise<void> {
    return this.#topic.readUpTo('end', timeoutMs);
  }

  /** Resolves when all that was put is written or given up. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  /** The last statuses are worth a moment: where the broker is away they are given up, and named in the log. */
  async close(): Promise<void> {
    const waiting = new AbortController();
    const late = wait(closeTimeoutMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.flush(), late]);
    waiting.abort();
    await this.#topic.close(0);
    await this.flush();
  }

  async #writeBehind(): Promise<void> {
    await Promise.resolve();
    try {
      while (this.#pending.size > 0) {
        const records = [...this.#pending.values()];
        this.#pending = new Map();
        if (this.#follows) for (const record of records) this.#expect(record);
        try {
          await this.#topic.write(records);
        } catch (error) {
          for (const { key } of records) this.#giveUp(key);
          this.#logger.error({ err: error, keys: records.map(record => record.key) }, 'statuses could not be written');
        }
      }
    } finally {
      this.#writing = null;
    }
  }

  #expect({ key, value }: InternalRecord): void {
    const values = this.#unread.get(key);
    if (values === undefined) this.#unread.set(key, [JSON.stringify(value)]);
    else values.push(JSON.stringify(value));
  }

  #read(record: InternalRecord, timestampMs: number, onChange: OnChange): void {
    const { key, value } = record;
    const unread = this.#unread.get(key);
    if (unread === undefined) {
      if (!this.#pending.has(key)) this.#apply(record);
      if (this.#follows) onChange(record, timestampMs);
      return;
    }
    if (unread[0] !== JSON.stringify(value)) {
      this.#overtaken.set(key, record);
      return;
    }
    unread.shift();
    if (unread.length > 0) return;
    this.#unread.delete(key);
    const overtaken = this.#overtaken.get(key);
    if (overtaken === undefined) return;
    this.#overtaken.delete(key);
    if (this.#pending.has(key)) return;
    // In the order of the log, which may show that ours came too late.
    this.#apply(overtaken);
    this.#apply(record);
  }

  /** Whether it is in the log nobody knows; what others wrote meanwhile is. */
  #giveUp(key: string): void {
    this.#unread.delete(key);
    const overtaken = this.#overtaken.get(key);
    this.#overtaken.delete(key);
    if (overtaken !== undefined && !this.#pending.has(key)) this.#apply(overtaken);
  }

  #apply(record: InternalRecord): void {
    const better = this.state.apply(record);
    // Compaction would keep only what came too late.
    if (this.#follows && better !== null && better.workerId === this.#workerId)
      this.put(statusRecord(record.key, better));
  }
}
