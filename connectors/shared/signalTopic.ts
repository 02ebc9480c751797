/**
 * Signals that come as records of a topic, for sources whose users may not write to the database: key = the connector's topic.prefix, value = JSON with type, data and
 * perhaps id, as Debezium has them. The position is part of the source's offsets, so that each signal is followed once and none is lost while the connector is down.
 */
import type { Logger, SourceOffset, SourceTaskContext, TopicFollower } from '../../runtime/api/index.ts';
import { parseSignal, type Signal } from './signals.ts';

const POSITION = 'incremental_snapshot_signal_offset';

export class SignalTopic {
  readonly #topic: TopicFollower;
  readonly #key: string;
  readonly #logger: Logger;

  private constructor(topic: TopicFollower, key: string, logger: Logger) {
    this.#topic = topic;
    this.#key = key;
    this.#logger = logger;
  }

  /** Goes on where the stored offset says; without one, with what comes from now on. Null where no topic is to be read. */
  static async open(
    context: SourceTaskContext,
    topic: string | null,
    key: string,
    stored: SourceOffset | null,
  ): Promise<SignalTopic | null> {
    if (topic === null || context.followTopic === undefined) return null;
    const position = stored?.[POSITION];
    const from = position === undefined || position === null ? 'end' : Number(position);
    return new SignalTopic(await context.followTopic(topic, from), key, context.logger);
  }

  /** What the source's offsets have of it. */
  get offset(): SourceOffset {
    return { [POSITION]: BigInt(this.#topic.position) };
  }

  /** Signals for this connector that have come. What is malformed or unknown is logged: it must not stop the stream. */
  async poll(): Promise<readonly Signal[]> {
    const signals: Signal[] = [];
    for (const { key, value, offset } of await this.#topic.poll()) {
      if (key !== this.#key || value === null) continue;
      try {
        const { id, type, data } = JSON.parse(value) as Record<string, unknown>;
        const text =
          data === undefined || data === null ? null : typeof data === 'string' ? data : JSON.stringify(data);
        const signal = parseSignal(typeof id === 'string' ? id : `offset ${offset}`, String(type), text);
        if (signal !== null) signals.push(signal);
      } catch (error) {
        this.#logger.error({ offset, reason: String(error) }, 'a signal is not followed');
      }
    }
    return signals;
  }

  close(): Promise<void> {
    return this.#topic.close();
  }
}
