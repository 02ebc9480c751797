/**
 * The status topic and what it says. A status has its effect at once and is written behind, in order; one that cannot be written is logged, since
 * statuses follow from what runs and never decide it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../api/logger.ts';
import { type InternalRecord, InternalTopic, type InternalTopicOptions } from './internalTopic.ts';
import { StatusState } from './statusState.ts';

const closeTimeoutMs = 1_000;
/** Bound for what waits for the broker: one record for each connector, task and topic. */
const maxPending = 10_000;

export class StatusStore {
  readonly state: StatusState;
  readonly #topic: InternalTopic;
  readonly #logger: Logger;
  #pending = new Map<string, InternalRecord>();
  #writing: Promise<void> | null = null;

  private constructor(topic: InternalTopic, state: StatusState, logger: Logger) {
    this.#topic = topic;
    this.state = state;
    this.#logger = logger;
  }

  static async open(options: InternalTopicOptions): Promise<StatusStore> {
    const state = new StatusState();
    const topic = await InternalTopic.open(options, record => state.apply(record));
    return new StatusStore(topic, state, options.logger);
  }

  put(record: InternalRecord): void {
    this.state.apply(record);
    // Only the latest of a key matters in a compacted topic.
    this.#pending.delete(record.key);
    if (this.#pending.size < maxPending) this.#pending.set(record.key, record);
    else this.#logger.error({ key: record.key }, 'status is not written: too many wait for the broker');
    this.#writing ??= this.#writeBehind();
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
        try {
          await this.#topic.write(records);
        } catch (error) {
          this.#logger.error({ err: error, keys: records.map(record => record.key) }, 'statuses could not be written');
        }
      }
    } finally {
      this.#writing = null;
    }
  }
}
