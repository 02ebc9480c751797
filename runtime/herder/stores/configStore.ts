/**
 * The config topic and what it says. A write has its effect on `state` once it is durable; in a cluster once it is read back, so that all workers see
 * one order, and what others write has its effect as well.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import { type ConfigChange, ConfigState } from './configState.ts';
import { type InternalRecord, InternalTopic, type InternalTopicOptions, type LogEnd } from './internalTopic.ts';
import { LeaderWriter } from './leaderWriter.ts';

/** Nobody waits for a write any more when the worker stops. */
const closeTimeoutMs = 1_000;
const readBackTimeoutMs = 30_000;

export class ConfigStore {
  readonly state = new ConfigState();
  #topic!: InternalTopic;
  #follows = false;
  #offset = -1;
  #leader: LeaderWriter | null = null;

  private constructor() {}

  static async open(options: InternalTopicOptions): Promise<ConfigStore> {
    const store = new ConfigStore();
    store.#topic = await InternalTopic.open(options, record => store.state.apply(record));
    return store;
  }

  /** Reads on; `onChange` is told what comes after the start. It must not throw. */
  static async follow(options: InternalTopicOptions, onChange: (change: ConfigChange) => void): Promise<ConfigStore> {
    const store = new ConfigStore();
    const apply = (record: InternalRecord, offset: number): void => {
      store.#offset = offset + 1;
      const change = store.state.apply(record);
      if (store.#follows && change !== null) onChange(change);
    };
    store.#topic = await InternalTopic.open(options, apply, true);
    store.#follows = true;
    return store;
  }

  /** Of the record behind the last one read; -1 = none was. What workers of a cluster compare. */
  get offset(): number {
    return this.#offset;
  }

  /** Where the topic is followed: rejects unless it is read that far within the time. */
  async readTo(offset: number, timeoutMs: number): Promise<void> {
    if (this.#offset < offset) await this.readToEnd(timeoutMs);
    if (this.#offset >= offset) return;
    const message = `the config topic ends at offset ${this.#offset}, but other workers have read to ${offset}: do all use the same topic?`;
    throw new ConnectError('INTERNAL_TOPIC_BEHIND', message, { retriable: true });
  }

  /** Where the topic is followed: rejects unless all that is in it by now is read within the time. */
  readToEnd(timeoutMs: number): Promise<void> {
    return this.#topic.readUpTo('end', timeoutMs);
  }

  /** From now on `writeAsLeader` needs the right to write, which one worker of the cluster has. Kafka Connect's transactional.id, so that its workers share it. */
  needRightToWrite(options: InternalTopicOptions, groupId: string, onFenced: () => void): void {
    const { broker, clientId, logger } = options;
    const transactionalId = `connect-cluster-${groupId}`;
    this.#leader = new LeaderWriter({ broker, transactionalId, clientId: `${clientId}-leader`, onFenced, logger });
  }

  /** This worker leads; or, false, another does. Resolves when no earlier leader can write any more. */
  async lead(leads: boolean): Promise<void> {
    if (leads) await this.#leader?.claim();
    else this.#leader?.release();
  }

  /** What every worker may write: target states and log levels. */
  write(records: readonly InternalRecord[]): Promise<void> {
    return this.#written(records, () => this.#topic.write(records));
  }

  /** All or nothing where the right to write is needed. */
  writeAsLeader(records: readonly InternalRecord[]): Promise<void> {
    const leader = this.#leader;
    if (leader === null) return this.write(records);
    return this.#written(records, () => leader.write(producer => this.#topic.writeWith(producer, records)));
  }

  async #written(records: readonly InternalRecord[], write: () => Promise<readonly LogEnd[]>): Promise<void> {
    try {
      const ends = await write();
      if (this.#follows) await this.#topic.readUpTo(ends, readBackTimeoutMs);
    } catch (error) {
      throw new ConnectError(
        'INTERNAL_TOPIC_WRITE_FAILED',
        'Failed to write to config topic; this may be due to a transient error and the request can be safely retried',
        { cause: error, retriable: true },
      );
    }
    if (!this.#follows) for (const record of records) this.state.apply(record);
  }

  async close(): Promise<void> {
    await this.#leader?.close();
    await this.#topic.close(closeTimeoutMs);
  }
}
