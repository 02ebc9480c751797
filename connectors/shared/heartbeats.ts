/** Heartbeats of a source: when one is due, the statement that it runs on the server, and the record that carries the offset forward while no change does. */
import {
  type Logger,
  plainBatch,
  type SourceBatch,
  type SourceOffset,
  type SourcePartition,
} from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { heartbeatKey, heartbeatValue } from '../../schemas/envelope/debezium.ts';
import { topicName } from './eventNames.ts';

export interface HeartbeatSettings {
  readonly prefix: string;
  readonly pollIntervalMs: number;
  /** 0 = there are none. */
  readonly heartbeatIntervalMs: number;
  readonly heartbeatTopic: string;
}

/** On a connection of its own, made when it is first needed, and again after a failure. */
export interface HeartbeatStatement<C> {
  open(): Promise<C>;
  run(connection: C): Promise<unknown>;
  end(connection: C): Promise<unknown>;
}

export class Heartbeats<C = never> {
  readonly #settings: HeartbeatSettings;
  readonly #sourcePartition: SourcePartition;
  readonly #logger: Logger;
  readonly #statement: HeartbeatStatement<C> | null;
  #connection: C | null = null;
  #nextMs: number;

  constructor(
    settings: HeartbeatSettings,
    sourcePartition: SourcePartition,
    logger: Logger,
    statement: HeartbeatStatement<C> | null = null,
  ) {
    this.#settings = settings;
    this.#sourcePartition = sourcePartition;
    this.#logger = logger;
    this.#statement = statement;
    this.#nextMs = Date.now() + settings.heartbeatIntervalMs;
  }

  /** How long a poll may wait for changes: not beyond the next heartbeat. */
  get waitMs(): number {
    const { pollIntervalMs, heartbeatIntervalMs } = this.#settings;
    return heartbeatIntervalMs === 0
      ? pollIntervalMs
      : Math.max(0, Math.min(pollIntervalMs, this.#nextMs - Date.now()));
  }

  /** The heartbeat that is due; null = none is, or there is no offset to carry. `offset` is asked for after the statement. */
  async take(offset: () => SourceOffset | null): Promise<SourceBatch | null> {
    const { heartbeatIntervalMs } = this.#settings;
    if (heartbeatIntervalMs === 0 || Date.now() < this.#nextMs) return null;
    this.#nextMs = Date.now() + heartbeatIntervalMs;
    if (this.#statement !== null) await this.#run(this.#statement);
    const carried = offset();
    return carried === null ? null : this.#batch(carried);
  }

  async #run(statement: HeartbeatStatement<C>): Promise<void> {
    try {
      this.#connection ??= await statement.open();
      await statement.run(this.#connection);
    } catch (error) {
      // The stream itself notices a lost server; a statement that fails must not stop it.
      this.#logger.warn({ reason: String(error) }, 'the statement of the heartbeat failed');
      await this.close();
    }
  }

  #batch(sourceOffset: SourceOffset): SourceBatch {
    const { prefix, heartbeatTopic } = this.#settings;
    return plainBatch({
      records: [
        {
          topic: topicName(heartbeatTopic),
          partition: null,
          keySchema: heartbeatKey,
          key: new Struct(heartbeatKey, [prefix]),
          valueSchema: heartbeatValue,
          value: new Struct(heartbeatValue, [BigInt(Date.now())]),
          timestamp: null,
          headers: [],
        },
      ],
      sourcePartition: this.#sourcePartition,
      sourceOffset,
    });
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    if (connection === null) return;
    await this.#statement?.end(connection).catch(() => {}); // it may be lost
  }
}
