/** The topics a source task writes to: made where missing, their partition counts, and the partition for records without a key. */
import { ConnectError } from '../../api/index.ts';
import type { Admin } from '../../broker/port.ts';
import type { TopicCreationRules } from './topicCreation.ts';

/** As long as Kafka's `metadata.max.age.ms`: new partitions are used after this time. */
const maxAgeMs = 300_000;
const minBytes = 4096;

export class SourceTopic {
  readonly name: string;
  partitions = 0;
  loadedAt = 0;
  #sticky: number;
  readonly #lastBytes: number[] = [];

  constructor(name: string) {
    this.name = name;
    this.#sticky = Math.floor(Math.random() * 0x7fff);
  }

  /** Takes all records without a key until `turn`, so that they share batches. */
  get stickyPartition(): number {
    return this.#sticky % this.partitions;
  }

  turn(): void {
    this.#sticky++;
  }

  /** Room to start a batch with: a batch is about as large as the one before, and growing costs copies and garbage. */
  expectedBytes(partition: number): number {
    return Math.max(minBytes, (this.#lastBytes[partition] ?? 0) * 1.125) | 0;
  }

  batchClosed(partition: number, bytes: number): void {
    this.#lastBytes[partition] = bytes;
  }
}

export class SourceTopics {
  readonly #admin: Admin;
  readonly #rules: TopicCreationRules;
  readonly #topics = new Map<string, SourceTopic>();

  constructor(admin: Admin, rules: TopicCreationRules) {
    this.#admin = admin;
    this.#rules = rules;
  }

  /** undefined = to be loaded first. */
  get(name: string, now: number): SourceTopic | undefined {
    const topic = this.#topics.get(name);
    return topic !== undefined && now - topic.loadedAt < maxAgeMs ? topic : undefined;
  }

  /** A topic of one partition with configs of its own, where it is missing. */
  async create(name: string, configs: Readonly<Record<string, string>>): Promise<void> {
    const [found] = await this.#admin.describeTopics([name]);
    if (found !== undefined) return;
    const spec = this.#rules.specFor(name);
    await this.#admin.createTopics([{ ...spec, partitions: 1, configs: { ...spec.configs, ...configs } }]);
  }

  async load(name: string): Promise<SourceTopic> {
    let [found] = await this.#admin.describeTopics([name]);
    if (found === undefined) {
      await this.#admin.createTopics([this.#rules.specFor(name)]);
      [found] = await this.#admin.describeTopics([name]);
    }
    if (found === undefined) {
      // A topic just made may not be known to every broker yet.
      throw new ConnectError(
        'SOURCE_TOPIC_MISSING',
        `Topic ${name} does not exist and is not seen after its creation.`,
        {
          retriable: true,
          place: { topic: name },
        },
      );
    }
    let topic = this.#topics.get(name);
    if (topic === undefined) this.#topics.set(name, (topic = new SourceTopic(name)));
    topic.partitions = found.partitions;
    topic.loadedAt = Date.now();
    return topic;
  }
}
