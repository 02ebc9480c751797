/**
 * One of the worker's internal topics: UTF-8 keys, schemaless JSON values, compacted. Created where missing, read whole at start; `write` resolves
 * when all its records are durable. Records of other writers are not followed.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import type { Broker, Producer, TopicSpec } from '../../broker/port.ts';
import { noHeaders, partitionForKey, RecordBatchBuilder, readRecords } from '../../broker/records/index.ts';

export interface InternalRecord {
  readonly key: string;
  /** null = tombstone. */
  readonly value: unknown;
}

export interface InternalTopicOptions {
  readonly broker: Broker;
  readonly spec: TopicSpec;
  /** Whether the topic may be created. */
  readonly create: boolean;
  readonly clientId: string;
  readonly logger: Logger;
}

const pollMs = 1000;

export class InternalTopic {
  readonly #options: InternalTopicOptions;
  readonly #partitions: number;
  #producer: Producer | null = null;
  #closed = false;

  private constructor(options: InternalTopicOptions, partitions: number) {
    this.#options = options;
    this.#partitions = partitions;
  }

  /** Gives every record of the topic, in order, to `apply`. */
  static async open(options: InternalTopicOptions, apply: (record: InternalRecord) => void): Promise<InternalTopic> {
    const partitions = await ensureTopic(options);
    const topic = new InternalTopic(options, partitions);
    await topic.#readAll(apply);
    return topic;
  }

  async write(records: readonly InternalRecord[]): Promise<void> {
    const { spec, broker, clientId, logger } = this.#options;
    if (this.#closed) throw new ConnectError('BROKER_PRODUCER_CLOSED', `topic ${spec.name} is closed`);
    const now = Date.now();
    const builders = new Map<number, RecordBatchBuilder>();
    for (const { key, value } of records) {
      const keyBytes = Buffer.from(key);
      const valueBytes = value === null ? keyBytes : Buffer.from(JSON.stringify(value));
      const partition = partitionForKey(keyBytes, 0, keyBytes.length, this.#partitions);
      let builder = builders.get(partition);
      if (builder === undefined) {
        builders.set(partition, (builder = new RecordBatchBuilder(spec.name, partition, now)));
      }
      const [start, end] = value === null ? [-1, -1] : [0, valueBytes.length];
      builder.append(now, keyBytes, 0, keyBytes.length, valueBytes, start, end, noHeaders);
    }
    if (builders.size === 0) return;
    const producer = (this.#producer ??= broker.producer({ clientId: `${clientId}-${spec.name}` }));
    try {
      await producer.send([...builders.values()].map(builder => builder.finish()));
    } catch (error) {
      if (this.#producer === producer) this.#producer = null;
      producer.close().catch(closing => logger.debug({ err: closing }, 'failed producer did not close'));
      throw error;
    }
  }

  /** What is not written within the time rejects. */
  async close(timeoutMs?: number): Promise<void> {
    this.#closed = true;
    await this.#producer?.close(timeoutMs);
  }

  async #readAll(apply: (record: InternalRecord) => void): Promise<void> {
    const { broker, spec, clientId, logger } = this.#options;
    const all = Array.from({ length: this.#partitions }, (_, partition) => ({ topic: spec.name, partition }));
    const ends = (await broker.admin().offsets(all)).filter(end => end.latest > end.earliest);
    if (ends.length === 0) return;
    const consumer = broker.consumer({
      clientId: `${clientId}-${spec.name}`,
      groupId: null,
      isolation: 'read_committed',
    });
    try {
      await consumer.assign(ends.map(({ topic, partition }) => ({ topic, partition, from: 'beginning' as const })));
      while (ends.some(end => (consumer.position(end) ?? 0) < end.latest)) {
        for (const fetched of await consumer.poll(pollMs)) {
          const { bytes, count, keyStarts, keyEnds, valueStarts, valueEnds } = await readRecords(
            fetched,
            'read_committed',
          );
          for (let i = 0; i < count; i++) {
            if (keyStarts[i]! < 0) continue;
            const key = bytes.toString('utf8', keyStarts[i]!, keyEnds[i]!);
            const text = valueStarts[i]! < 0 ? null : bytes.toString('utf8', valueStarts[i]!, valueEnds[i]!);
            try {
              apply({ key, value: text === null ? null : JSON.parse(text) });
            } catch (error) {
              logger.warn({ err: error, topic: spec.name, key }, 'record in an internal topic is left out');
            }
          }
        }
      }
    } finally {
      await consumer.close();
    }
  }
}

async function ensureTopic({ broker, spec, create }: InternalTopicOptions): Promise<number> {
  const admin = broker.admin();
  let [found] = await admin.describeTopics([spec.name]);
  if (found === undefined && create) {
    await admin.createTopics([{ ...spec, configs: { 'cleanup.policy': 'compact', ...spec.configs } }]);
    [found] = await admin.describeTopics([spec.name]);
  }
  if (found === undefined) {
    throw new ConnectError(
      'INTERNAL_TOPIC_INVALID',
      `the worker's topic ${spec.name} does not exist; create it with cleanup.policy=compact, or let the worker do so by internal.topics.automatic.creation.enable=true`,
    );
  }
  const policy = (await admin.topicConfig(spec.name)).get('cleanup.policy');
  if (policy !== undefined && policy !== 'compact') {
    throw new ConnectError(
      'INTERNAL_TOPIC_INVALID',
      `the worker's topic ${spec.name} has cleanup.policy=${policy}; it must be compact, or configurations get lost`,
    );
  }
  if (spec.partitions === 1 && found.partitions !== 1) {
    throw new ConnectError(
      'INTERNAL_TOPIC_INVALID',
      `the worker's topic ${spec.name} has ${found.partitions} partitions; it must have exactly 1, so that its records have one order`,
    );
  }
  return found.partitions;
}
