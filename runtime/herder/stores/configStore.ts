/** The config topic and what it says. A write has its effect on `state` once it is durable. */
import { ConnectError } from '../../../schemas/errors.ts';
import { ConfigState } from './configState.ts';
import { type InternalRecord, InternalTopic, type InternalTopicOptions } from './internalTopic.ts';

/** Nobody waits for a write any more when the worker stops. */
const closeTimeoutMs = 1_000;

export class ConfigStore {
  readonly state: ConfigState;
  readonly #topic: InternalTopic;

  private constructor(topic: InternalTopic, state: ConfigState) {
    this.#topic = topic;
    this.state = state;
  }

  static async open(options: InternalTopicOptions): Promise<ConfigStore> {
    const state = new ConfigState();
    return new ConfigStore(await InternalTopic.open(options, record => state.apply(record)), state);
  }

  async write(records: readonly InternalRecord[]): Promise<void> {
    try {
      await this.#topic.write(records);
    } catch (error) {
      throw new ConnectError(
        'INTERNAL_TOPIC_WRITE_FAILED',
        'Failed to write to config topic; this may be due to a transient error and the request can be safely retried',
        { cause: error, retriable: true },
      );
    }
    for (const record of records) this.state.apply(record);
  }

  async close(): Promise<void> {
    await this.#topic.close(closeTimeoutMs);
  }
}
