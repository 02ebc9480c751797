/** One partition of a topic that a task reads beside its work: records come by themselves and are taken when the task has the time. */
import type { TopicFollower, TopicText } from '../../api/index.ts';
import type { Broker, Consumer, FetchedPartition } from '../../broker/port.ts';
import { readRecords } from '../../broker/records/index.ts';

const PARTITION = 0;
const POLL_MS = 1000;
/** How often a topic that does not exist is asked for. */
const MISSING_POLL_MS = 2000;
const MAX_BYTES = 1024 * 1024;

export interface LiveTopicOptions {
  readonly topic: string;
  readonly from: number | 'end';
  /** For the client's name. */
  readonly name: string;
}

export class LiveTopic implements TopicFollower {
  position: number;
  readonly #broker: Broker;
  readonly #options: LiveTopicOptions;
  readonly #abort = new AbortController();
  #consumer: Consumer | null = null;
  #nextLookMs = 0;
  /** The fetch that is under way, and what became of it. */
  #fetch: Promise<void> | null = null;
  #fetched: readonly FetchedPartition[] = [];
  #failure: { readonly error: unknown } | null = null;

  private constructor(broker: Broker, options: LiveTopicOptions, position: number) {
    this.#broker = broker;
    this.#options = options;
    this.position = position;
  }

  static async open(broker: Broker, options: LiveTopicOptions): Promise<LiveTopic> {
    const { topic, from } = options;
    const end = from === 'end' ? await endOf(broker, topic) : from;
    const live = new LiveTopic(broker, options, end ?? 0);
    await live.poll();
    return live;
  }

  async poll(): Promise<readonly TopicText[]> {
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    const fetched = this.#fetched;
    this.#fetched = [];
    const texts: TopicText[] = [];
    for (const partition of fetched) texts.push(...(await textsOf(partition)));
    this.position = Math.max(this.position, ...texts.map(({ offset }) => offset + 1));
    await this.#look();
    return texts;
  }

  /** Sees to it that a fetch is under way. */
  async #look(): Promise<void> {
    if (this.#fetch !== null || this.#fetched.length > 0) return;
    if (this.#consumer === null) {
      if (Date.now() < this.#nextLookMs) return;
      this.#nextLookMs = Date.now() + MISSING_POLL_MS;
      const { topic, name } = this.#options;
      const end = await endOf(this.#broker, topic);
      if (end === null) return;
      this.#consumer = this.#broker.consumer({
        clientId: `connector-topic-${name}`,
        groupId: null,
        isolation: 'read_committed',
        // a topic that was made again, or has lost what was not read yet
        autoOffsetReset: 'earliest',
        maxPartitionBytes: MAX_BYTES,
      });
      await this.#consumer.assign([{ topic, partition: PARTITION, from: this.position }]);
    }
    this.#fetch = this.#consumer
      .poll(POLL_MS, this.#abort.signal)
      .then(
        fetched => {
          this.#fetched = fetched;
        },
        error => {
          if (!this.#abort.signal.aborted) this.#failure = { error };
        },
      )
      .finally(() => {
        this.#fetch = null;
      });
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#fetch;
    await this.#consumer?.close();
  }
}

/** Null where there is no such topic. */
async function endOf(broker: Broker, topic: string): Promise<number | null> {
  const admin = broker.admin();
  if ((await admin.describeTopics([topic])).length === 0) return null;
  return (await admin.offsets([{ topic, partition: PARTITION }]))[0]?.latest ?? null;
}

async function textsOf(fetched: FetchedPartition): Promise<readonly TopicText[]> {
  const { bytes, count, offsets, keyStarts, keyEnds, valueStarts, valueEnds } = await readRecords(
    fetched,
    'read_committed',
  );
  const text = (start: number, end: number): string | null => (start < 0 ? null : bytes.toString('utf8', start, end));
  return Array.from({ length: count }, (_, i) => ({
    offset: offsets[i]!,
    key: text(keyStarts[i]!, keyEnds[i]!),
    value: text(valueStarts[i]!, valueEnds[i]!),
  }));
}
