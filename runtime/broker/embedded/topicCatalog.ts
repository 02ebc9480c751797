/** All topics as the log thread keeps them. A deleted topic is gone at once; the space of its batches is freed later (`garbage` documents). */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicSpec } from '../port.ts';
import { type LogContext, PartitionLog } from './partitionLog.ts';
import { partitionKey, readMeta, readPartitionState, type TopicDocument } from './store.ts';
import { checkTopicSpec, effectiveConfigs } from './topicConfigs.ts';

const defaultPartitions = 1;
const maxPartitions = 10_000;
const newPartition = { earliest: 0, next: 0, lastStable: 0, bytes: 0, cleanedTo: 0, cleanedBytes: 0 };

export interface Topic {
  readonly name: string;
  readonly id: number;
  readonly configs: Readonly<Record<string, string>>;
  readonly partitions: readonly PartitionLog[];
}

export class TopicCatalog {
  /** Counts creations and deletions. */
  version = 0;
  #context: LogContext;
  #topics = new Map<string, Topic>();

  constructor(context: LogContext) {
    this.#context = context;
    for (const { key, value } of readMeta<TopicDocument>(context.store, 'topic')) {
      const name = key[1] as string;
      this.#topics.set(name, this.#topic(name, value));
    }
  }

  topics(): Iterable<Topic> {
    return this.#topics.values();
  }

  names(): string[] {
    return [...this.#topics.keys()];
  }

  get(name: string): Topic | undefined {
    return this.#topics.get(name);
  }

  /** Like Kafka with its default settings, a topic that is written to comes into being. */
  partition(name: string, partition: number): PartitionLog {
    const topic = this.#topics.get(name) ?? this.create({ name, partitions: -1, replicationFactor: -1 })!;
    const log = topic.partitions[partition];
    if (log === undefined)
      throw new ConnectError(
        'BROKER_TOPIC_UNKNOWN',
        `Topic ${name} has ${topic.partitions.length} partitions; there is no partition ${partition}.`,
        { place: { topic: name, partition } },
      );
    return log;
  }

  /** null: it exists already. */
  create(spec: TopicSpec): Topic | null {
    if (this.#topics.has(spec.name)) return null;
    const configs = spec.configs ?? {};
    checkTopicSpec(spec.name, configs);
    const partitions = spec.partitions === -1 ? defaultPartitions : spec.partitions;
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > maxPartitions)
      throw new ConnectError(
        'BROKER_TOPIC_INVALID',
        `Topic ${spec.name} cannot be created with ${spec.partitions} partitions; give 1 to ${maxPartitions}, or -1 for ${defaultPartitions}.`,
        { place: { topic: spec.name } },
      );
    const { store, undo, changed } = this.#context;
    const id = ((store.meta.get(['sequence', 'topic']) as number | undefined) ?? 0) + 1;
    const document: TopicDocument = { id, partitions, configs };
    store.meta.putSync(['sequence', 'topic'], id);
    store.meta.putSync(['topic', spec.name], document);
    const topic = this.#topic(spec.name, document);
    for (const log of topic.partitions) changed.add(log);
    this.#topics.set(spec.name, topic);
    this.version++;
    undo.push(() => this.#topics.delete(spec.name));
    return topic;
  }

  delete(name: string): void {
    const topic = this.#topics.get(name);
    if (topic === undefined)
      throw new ConnectError('BROKER_TOPIC_UNKNOWN', `Topic ${name} cannot be deleted: it does not exist.`, {
        place: { topic: name },
      });
    const { store, undo } = this.#context;
    store.meta.removeSync(['topic', name]);
    store.meta.putSync(['garbage', topic.id], { partitions: topic.partitions.length });
    for (const log of topic.partitions) {
      store.partitions.removeSync(partitionKey(topic.id, log.partition));
      log.deleted = true;
    }
    for (const { key } of [...readMeta(store, 'offset')]) if (key[2] === name) store.meta.removeSync(key);
    this.#topics.delete(name);
    this.version++;
    undo.push(() => {
      this.#topics.set(name, topic);
      for (const log of topic.partitions) log.deleted = false;
    });
  }

  /** Largest batch, if the topic itself sets one. */
  maxMessageBytes(name: string): number {
    const topic = this.#topics.get(name);
    if (topic === undefined) return Number.POSITIVE_INFINITY;
    return Number(effectiveConfigs(topic.configs).get('max.message.bytes'));
  }

  #topic(name: string, document: TopicDocument): Topic {
    const partitions = Array.from({ length: document.partitions }, (_, partition) => {
      const state = readPartitionState(this.#context.store, document.id, partition) ?? newPartition;
      return new PartitionLog(this.#context, name, document.id, partition, state);
    });
    return { name, id: document.id, configs: document.configs, partitions };
  }
}
