/**
 * Source offsets in a compacted topic, in Kafka Connect's format, so that a Java worker and this one can share it. Read to its end before each
 * look-up. A partition is found by content; what is written for it reuses the key bytes last seen, since compaction goes by exact bytes.
 */
import {
  ConnectError,
  type Logger,
  type SourceOffset,
  type SourcePartition,
  type TopicPartition,
} from '../../api/index.ts';
import { cleanupPolicy } from '../../broker/cleanupPolicy.ts';
import type { Broker, Consumer, PendingBatch, Producer } from '../../broker/port.ts';
import { noHeaders, partitionForKey, RecordBatchBuilder, readRecords } from '../../broker/records/index.ts';
import type { SourcePosition } from '../source/offsetTracker.ts';
import { canonicalKey, encodeKey, encodeOffset, parseKey, parseOffset } from './offsetJson.ts';

export interface OffsetTopic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
  readonly create: boolean;
  readonly clientId: string;
  /** Whether it is read all the time: with a commit for each transaction there would be too much to read at a look-up. */
  readonly follow: boolean;
}

interface Entry {
  readonly keyBytes: Buffer;
  readonly connector: string;
  readonly partition: SourcePartition;
  readonly offset: SourceOffset | null;
}

export interface OffsetChange {
  readonly partition: SourcePartition;
  /** null = reset. */
  readonly offset: SourceOffset | null;
}

/** What is to be sent, by whom it may be. */
export interface StagedOffsets {
  readonly batches: readonly PendingBatch[];
  /** It is durable, and counts. */
  written(): void;
}

const pollMs = 1000;
const tellMs = 10_000;

const closeTimeoutMs = 500;
const followMs = 30_000;

export class OffsetStore {
  readonly #broker: Broker;
  readonly #topic: OffsetTopic;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #consumer: Consumer;
  #producer: Producer | null = null;
  #partitions: readonly TopicPartition[] = [];
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  readonly #closed = new AbortController();
  #following: NodeJS.Timeout | null = null;

  private constructor(broker: Broker, topic: OffsetTopic, logger: Logger) {
    this.#broker = broker;
    this.#topic = topic;
    this.#logger = logger;
    this.#consumer = broker.consumer({
      clientId: topic.clientId,
      groupId: null,
      isolation: 'read_committed',
      autoOffsetReset: 'earliest',
    });
  }

  static async open(broker: Broker, topic: OffsetTopic, logger: Logger): Promise<OffsetStore> {
    const store = new OffsetStore(broker, topic, logger);
    await store.#start();
    return store;
  }

  async #start(): Promise<void> {
    const { name, partitions, replicationFactor, create } = this.#topic;
    const admin = this.#broker.admin();
    let [found] = await admin.describeTopics([name]);
    if (found === undefined && create) {
      const replicationFactorKey = 'offset.storage.replication.factor';
      const configs = { ...this.#topic.configs, 'cleanup.policy': 'compact' };
      await admin.createTopics([{ name, partitions, replicationFactor, replicationFactorKey, configs }]);
      [found] = await admin.describeTopics([name]);
    }
    if (found === undefined) {
      throw new ConnectError('OFFSET_TOPIC_INVALID', `Topic ${name}, which holds source offsets, does not exist.`);
    }
    const policy = await cleanupPolicy(admin, name, this.#logger);
    if (policy !== null && policy !== 'compact') {
      throw new ConnectError(
        'OFFSET_TOPIC_INVALID',
        `Topic ${name}, which holds source offsets, has cleanup.policy=${policy}; it must be compact, or offsets get lost.`,
      );
    }
    this.#partitions = Array.from({ length: found.partitions }, (_, partition) => ({ topic: name, partition }));
    await this.#consumer.assign(this.#partitions.map(p => ({ ...p, from: 'beginning' as const })));
    if (!this.#topic.follow) return;
    this.#following = setInterval(() => {
      this.readToEnd().catch(error => this.#logger.debug({ err: error, topic: name }, 'source offsets are read later'));
    }, followMs).unref();
  }

  async offset(connector: string, partition: SourcePartition): Promise<SourceOffset | null> {
    await this.readToEnd();
    return this.#entries.get(canonicalKey(connector, partition))?.offset ?? null;
  }

  /** Every offset of a connector that is not reset. */
  async list(connector: string): Promise<SourcePosition[]> {
    await this.readToEnd();
    const found: SourcePosition[] = [];
    for (const { connector: owner, partition, offset } of this.#entries.values()) {
      if (owner === connector && offset !== null) found.push({ partition, offset });
    }
    return found;
  }

  /** For a producer of the caller's, such as that of a transaction. */
  stage(connector: string, changes: readonly OffsetChange[]): StagedOffsets {
    const now = Date.now();
    const builders = new Map<number, RecordBatchBuilder>();
    const written: [string, Entry][] = [];
    for (const { partition, offset } of changes) {
      const canonical = canonicalKey(connector, partition);
      const keyBytes = this.#entries.get(canonical)?.keyBytes ?? encodeKey(connector, partition);
      const value = offset === null ? null : encodeOffset(offset);
      const kafkaPartition = partitionForKey(keyBytes, 0, keyBytes.length, this.#partitions.length);
      let builder = builders.get(kafkaPartition);
      if (builder === undefined) {
        builders.set(kafkaPartition, (builder = new RecordBatchBuilder(this.#topic.name, kafkaPartition, now)));
      }
      builder.append(
        now,
        keyBytes,
        0,
        keyBytes.length,
        value ?? keyBytes,
        value ? 0 : -1,
        value?.length ?? -1,
        noHeaders,
      );
      written.push([canonical, { keyBytes, connector, partition, offset }]);
    }
    return {
      batches: [...builders.values()].map(builder => builder.finish()),
      written: () => {
        for (const [canonical, entry] of written) this.#entries.set(canonical, entry);
      },
    };
  }

  /** Resolves when all are durable. */
  async write(connector: string, changes: readonly OffsetChange[]): Promise<void> {
    const staged = this.stage(connector, changes);
    if (staged.batches.length === 0) return;
    this.#producer ??= this.#broker.producer({ clientId: `${this.#topic.clientId}-producer` });
    try {
      await this.#producer.send(staged.batches);
    } catch (error) {
      const failed = this.#producer;
      this.#producer = null;
      await failed.close().catch(closing => this.#logger.debug({ err: closing }, 'failed producer did not close'));
      throw error;
    }
    staged.written();
  }

  /** Reads what is in the topic by now. Calls made while one read is under way share the next one: theirs must see what was written before them. */
  readToEnd(): Promise<void> {
    if (this.#reading === null) {
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
      return this.#reading;
    }
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.readToEnd();
      });
    return this.#next;
  }

  async #read(): Promise<void> {
    const ends = await this.#broker.admin().offsets(this.#partitions);
    const left = (): typeof ends =>
      ends.filter(end => end.latest > end.earliest && (this.#consumer.position(end) ?? 0) < end.latest);
    let toldMs = Date.now();
    while (left().length > 0) {
      this.#closed.signal.throwIfAborted();
      if (Date.now() - toldMs >= tellMs) {
        toldMs = Date.now();
        const places = left().map(end => ({ ...end, position: this.#consumer.position(end) }));
        this.#logger.warn(
          { topic: this.#topic.name, left: places },
          'the topic of source offsets is not read to its end yet',
        );
      }
      for (const fetched of await this.#consumer.poll(pollMs, this.#closed.signal)) {
        const records = await readRecords(fetched, 'read_committed');
        for (let i = 0; i < records.count; i++) {
          const { bytes, keyStarts, keyEnds, valueStarts, valueEnds } = records;
          if (keyStarts[i]! < 0) continue;
          const value = valueStarts[i]! < 0 ? null : bytes.subarray(valueStarts[i]!, valueEnds[i]!);
          this.#apply(bytes.subarray(keyStarts[i]!, keyEnds[i]!), value);
        }
      }
    }
  }

  #apply(key: Buffer, value: Buffer | null): void {
    try {
      const { connector, partition } = parseKey(key);
      const offset = value === null ? null : parseOffset(value);
      this.#entries.set(canonicalKey(connector, partition), {
        keyBytes: Buffer.from(key),
        connector,
        partition,
        offset,
      });
    } catch (error) {
      this.#logger.warn(
        { err: error, topic: this.#topic.name, key: key.toString('utf8') },
        'record in the offsets topic is not in its format and is left out',
      );
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    if (this.#following !== null) clearInterval(this.#following);
    await this.#consumer.close();
    // Whoever wrote has its answer, or was given up with its task.
    await this.#producer?.close(closeTimeoutMs);
  }
}
