/**
 * One of the worker's internal topics: UTF-8 keys, schemaless JSON values, compacted. Created where missing, read whole at start; `write` resolves
 * when all its records are durable. Records of other writers are read on only where the topic is followed: a worker alone has none.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import { cleanupPolicy } from '../../broker/cleanupPolicy.ts';
import type {
  Broker,
  Consumer,
  FetchedPartition,
  PendingBatch,
  Producer,
  SendResult,
  TopicSpec,
} from '../../broker/port.ts';
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

/** `offset` and `timestampMs` are the record's own. */
export type ApplyRecord = (record: InternalRecord, offset: number, timestampMs: number) => void;

/** The next offset of a partition. */
export interface LogEnd {
  readonly partition: number;
  readonly offset: number;
}

interface Reader {
  readonly ends: readonly LogEnd[];
  readonly reached: () => void;
}

const pollMs = 1000;
const retryMs = 1000;

export class InternalTopic {
  readonly #options: InternalTopicOptions;
  readonly #apply: ApplyRecord;
  readonly #partitions: number;
  readonly #consumer: Consumer;
  readonly #closing = new AbortController();
  readonly #readers = new Set<Reader>();
  #following: Promise<void> | null = null;
  #producer: Producer | null = null;

  private constructor(options: InternalTopicOptions, apply: ApplyRecord, partitions: number) {
    this.#options = options;
    this.#apply = apply;
    this.#partitions = partitions;
    const clientId = `${options.clientId}-${options.spec.name}`;
    this.#consumer = options.broker.consumer({ clientId, groupId: null, isolation: 'read_committed' });
  }

  /** Gives every record of the topic, in order, to `apply`; with `follow` those that come later as well. */
  static async open(options: InternalTopicOptions, apply: ApplyRecord, follow = false): Promise<InternalTopic> {
    const partitions = await ensureTopic(options);
    const topic = new InternalTopic(options, apply, partitions);
    try {
      await topic.#readAll(follow);
    } catch (error) {
      await topic.#consumer.close();
      throw error;
    }
    if (follow) topic.#following = topic.#follow();
    else await topic.#consumer.close();
    return topic;
  }

  /** Resolves with where the log ends behind the records, when all are durable. */
  async write(records: readonly InternalRecord[]): Promise<readonly LogEnd[]> {
    const { spec, broker, clientId, logger } = this.#options;
    const batches = this.#batches(records);
    if (batches.length === 0) return [];
    const producer = (this.#producer ??= broker.producer({ clientId: `${clientId}-${spec.name}` }));
    try {
      return endsBehind(batches, await producer.send(batches));
    } catch (error) {
      if (this.#producer === producer) this.#producer = null;
      producer.close().catch(closing => logger.debug({ err: closing }, 'failed producer did not close'));
      throw error;
    }
  }

  /** The same, all or nothing, in a transaction of a producer that is the caller's to make and to close. */
  async writeWith(producer: Producer, records: readonly InternalRecord[]): Promise<readonly LogEnd[]> {
    const batches = this.#batches(records);
    if (batches.length === 0) return [];
    producer.beginTransaction();
    const sent = await producer.send(batches);
    await producer.commitTransaction();
    return endsBehind(batches, sent);
  }

  #batches(records: readonly InternalRecord[]): PendingBatch[] {
    const { spec } = this.#options;
    if (this.#closing.signal.aborted) throw new ConnectError('BROKER_PRODUCER_CLOSED', `topic ${spec.name} is closed`);
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
    return [...builders.values()].map(builder => builder.finish());
  }

  /** Of a topic that is followed: resolves when all that was in it at the call, or before `ends`, is applied. Rejects after the time. */
  async readUpTo(ends: readonly LogEnd[] | 'end', timeoutMs: number): Promise<void> {
    const { spec } = this.#options;
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]);
    const late = new Promise<never>((_, reject) => {
      const giveUp = (): void => {
        const message = `topic ${spec.name} could not be read to its end within ${timeoutMs} ms`;
        reject(new ConnectError('INTERNAL_TOPIC_BEHIND', message, { retriable: true }));
      };
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp);
    });
    let reader: Reader | null = null;
    const read = async (): Promise<void> => {
      const wanted = ends === 'end' ? await this.#ends() : ends;
      await new Promise<void>(reached => {
        reader = { ends: wanted, reached };
        this.#readers.add(reader);
        this.#tellReaders();
      });
    };
    try {
      await Promise.race([read(), late]);
    } finally {
      if (reader !== null) this.#readers.delete(reader);
    }
  }

  /** What is not written within the time rejects. */
  async close(timeoutMs?: number): Promise<void> {
    this.#closing.abort();
    if (this.#following !== null) {
      await this.#following;
      await this.#consumer.close();
    }
    await this.#producer?.close(timeoutMs);
  }

  async #readAll(follow: boolean): Promise<void> {
    const { spec } = this.#options;
    const ends = await this.#ends();
    const partitions = follow ? Array.from({ length: this.#partitions }, (_, i) => i) : ends.map(end => end.partition);
    if (partitions.length === 0) return;
    const from = 'beginning' as const;
    await this.#consumer.assign(partitions.map(partition => ({ topic: spec.name, partition, from })));
    while (!this.#isAt(ends)) for (const fetched of await this.#consumer.poll(pollMs)) await this.#take(fetched);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    const { spec, logger } = this.#options;
    while (!signal.aborted) {
      try {
        for (const fetched of await this.#consumer.poll(pollMs, signal)) await this.#take(fetched);
        this.#tellReaders();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error, topic: spec.name }, 'topic cannot be followed now, it is tried again');
        await wait(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #tellReaders(): void {
    for (const { ends, reached } of this.#readers) if (this.#isAt(ends)) reached();
  }

  #isAt(ends: readonly LogEnd[]): boolean {
    const topic = this.#options.spec.name;
    return ends.every(({ partition, offset }) => (this.#consumer.position({ topic, partition }) ?? 0) >= offset);
  }

  /** Of the partitions that hold something. */
  async #ends(): Promise<LogEnd[]> {
    const { broker, spec } = this.#options;
    const all = Array.from({ length: this.#partitions }, (_, partition) => ({ topic: spec.name, partition }));
    return (await broker.admin().offsets(all))
      .filter(({ earliest, latest }) => latest > earliest)
      .map(({ partition, latest }) => ({ partition, offset: latest }));
  }

  async #take(fetched: FetchedPartition): Promise<void> {
    const { spec, logger } = this.#options;
    const { bytes, count, offsets, timestamps, keyStarts, keyEnds, valueStarts, valueEnds } = await readRecords(
      fetched,
      'read_committed',
    );
    for (let i = 0; i < count; i++) {
      if (keyStarts[i]! < 0) continue;
      const key = bytes.toString('utf8', keyStarts[i]!, keyEnds[i]!);
      const text = valueStarts[i]! < 0 ? null : bytes.toString('utf8', valueStarts[i]!, valueEnds[i]!);
      try {
        this.#apply({ key, value: text === null ? null : JSON.parse(text) }, offsets[i]!, timestamps[i]!);
      } catch (error) {
        logger.warn({ err: error, topic: spec.name, key }, 'record in an internal topic is left out');
      }
    }
  }
}

function endsBehind(batches: readonly PendingBatch[], sent: readonly SendResult[]): LogEnd[] {
  const counts = new Map(batches.map(({ partition, recordCount }) => [partition, recordCount]));
  return sent.map(({ partition, baseOffset }) => ({
    partition,
    offset: Number(baseOffset) + counts.get(partition)!,
  }));
}

async function ensureTopic({ broker, spec, create, logger }: InternalTopicOptions): Promise<number> {
  const admin = broker.admin();
  let [found] = await admin.describeTopics([spec.name]);
  if (found === undefined && create) {
    await admin.createTopics([{ ...spec, configs: { ...spec.configs, 'cleanup.policy': 'compact' } }]);
    [found] = await admin.describeTopics([spec.name]);
  }
  if (found === undefined) {
    throw new ConnectError(
      'INTERNAL_TOPIC_INVALID',
      `the worker's topic ${spec.name} does not exist; create it with cleanup.policy=compact, or let the worker do so by internal.topics.automatic.creation.enable=true`,
    );
  }
  const policy = await cleanupPolicy(admin, spec.name, logger);
  if (policy !== null && policy !== 'compact') {
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
