/**
 * The dead letter queue of a sink connector (`errors.deadletterqueue.*`): failing records as they were, with what went wrong in headers.
 * What was added is durable when `flush` resolves; offsets are committed only after that.
 */
import { type Config, ConnectError, configDef } from '../../api/index.ts';
import type { Broker, PendingBatch, Producer } from '../../broker/port.ts';
import {
  decodeHeaders,
  encodeHeaders,
  partitionForKey,
  RecordBatchBuilder,
  type RecordColumns,
  type RecordHeader,
} from '../../broker/records/index.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import type { Failure } from '../errors/errorPolicy.ts';
import { retryFor } from '../errors/retryFor.ts';
import { parsed } from '../parsed.ts';
import type { TaskId } from '../types.ts';

const keys = configDef({
  'errors.deadletterqueue.topic.name': {
    type: 'STRING',
    default: '',
    importance: 'MEDIUM',
    documentation: 'Topic for records that fail; empty: none.',
  },
  'errors.deadletterqueue.topic.replication.factor': {
    type: 'SHORT',
    default: 3,
    importance: 'MEDIUM',
    documentation: 'Replication factor of the topic when it is created.',
  },
  'errors.deadletterqueue.context.headers.enable': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether headers say what went wrong.',
  },
});

export interface DeadLetterQueueOptions {
  readonly broker: Broker;
  readonly id: TaskId;
  readonly config: Config;
  readonly createProducer: () => Producer;
  readonly meter: TaskMeter;
  readonly signal: AbortSignal;
}

/** Above this the queue is written at once. */
const flushBytes = 1_000_000;
const retryMs = 15_000;

export class DeadLetterQueue {
  readonly #options: DeadLetterQueueOptions;
  readonly #topic: string;
  readonly #replicationFactor: number;
  readonly #contextHeaders: boolean;
  readonly #builders = new Map<number, RecordBatchBuilder>();
  /** Finished, and not yet known to be written. */
  readonly #unsent: PendingBatch[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #partitions = 0;
  #producer: Producer | null = null;

  private constructor(options: DeadLetterQueueOptions, values: { topic: string; factor: number; headers: boolean }) {
    this.#options = options;
    this.#topic = values.topic;
    this.#replicationFactor = values.factor;
    this.#contextHeaders = values.headers;
  }

  /** null where the config names no topic. */
  static async open(options: DeadLetterQueueOptions): Promise<DeadLetterQueue | null> {
    const values = parsed(keys, options.config);
    const topic = values['errors.deadletterqueue.topic.name'];
    if (topic === '') return null;
    const queue = new DeadLetterQueue(options, {
      topic,
      factor: values['errors.deadletterqueue.topic.replication.factor'],
      headers: values['errors.deadletterqueue.context.headers.enable'],
    });
    await retryFor(retryMs, options.signal, () => queue.#findTopic());
    return queue;
  }

  async #findTopic(): Promise<void> {
    const admin = this.#options.broker.admin();
    let [found] = await admin.describeTopics([this.#topic]);
    if (found === undefined) {
      const replicationFactorKey = 'errors.deadletterqueue.topic.replication.factor';
      const replicationFactor = this.#replicationFactor;
      await admin.createTopics([{ name: this.#topic, partitions: 1, replicationFactor, replicationFactorKey }]);
      [found] = await admin.describeTopics([this.#topic]);
    }
    if (found === undefined) {
      throw new ConnectError(
        'SINK_DLQ_FAILED',
        `Topic ${this.#topic} for failing records is not seen after its creation.`,
        {
          retriable: true,
        },
      );
    }
    this.#partitions = found.partitions;
  }

  async add(columns: RecordColumns, i: number, failure: Failure): Promise<void> {
    const { bytes, keyStarts, keyEnds, valueStarts, valueEnds, timestamps } = columns;
    const keyStart = keyStarts[i]!;
    const partition = keyStart < 0 ? 0 : partitionForKey(bytes, keyStart, keyEnds[i]!, this.#partitions);
    let builder = this.#builders.get(partition);
    if (builder === undefined) {
      builder = new RecordBatchBuilder(this.#topic, partition, timestamps[i]!);
      this.#builders.set(partition, builder);
    }
    const headers = this.#contextHeaders
      ? encodeHeaders([
          ...decodeHeaders(bytes, columns.headerStarts[i]!, columns.headerEnds[i]!),
          ...contextHeaders(columns, i, this.#options.id, failure),
        ])
      : bytes.subarray(columns.headerStarts[i]!, columns.headerEnds[i]!);
    builder.append(timestamps[i]!, bytes, keyStart, keyEnds[i]!, bytes, valueStarts[i]!, valueEnds[i]!, headers);
    this.#options.meter.add('deadletterqueue_produce_requests');
    if (builder.byteLength >= flushBytes) await this.flush();
  }

  /** What could not be written is tried again by the next flush, so that nothing is committed past it. */
  flush(): Promise<void> {
    // One at a time: a task may report from several places at once, and a batch under way must not be sent again beside itself.
    this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    for (const builder of this.#builders.values()) this.#unsent.push(builder.finish());
    this.#builders.clear();
    const batches = [...this.#unsent];
    if (batches.length === 0) return;
    try {
      await retryFor(retryMs, this.#options.signal, async () => {
        this.#producer ??= this.#options.createProducer();
        try {
          await this.#producer.send(batches);
        } catch (error) {
          // A producer that rejected once is of no use any more; its own close has nothing to add to that error.
          await this.#producer.close().catch(() => undefined);
          this.#producer = null;
          throw error;
        }
      });
      this.#unsent.splice(0, batches.length);
    } catch (error) {
      const records = batches.reduce((sum, batch) => sum + batch.recordCount, 0);
      this.#options.meter.add('deadletterqueue_produce_failures', records);
      throw new ConnectError(
        'SINK_DLQ_FAILED',
        `${records} failing record(s) could not be written to the dead letter queue ${this.#topic}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error, retriable: true },
      );
    }
  }

  async close(): Promise<void> {
    await this.#producer?.close();
  }
}

function contextHeaders(columns: RecordColumns, i: number, id: TaskId, failure: Failure): RecordHeader[] {
  const error = failure.error instanceof Error ? failure.error : new Error(String(failure.error));
  const values: Record<string, string> = {
    topic: columns.topic,
    partition: String(columns.partition),
    offset: String(columns.offsets[i]!),
    'connector.name': id.connector,
    'task.id': String(id.task),
    stage: failure.stage,
    'class.name': failure.className,
    'exception.class.name': error.name,
    'exception.message': error.message,
    'exception.stacktrace': error.stack ?? String(error),
  };
  return Object.entries(values).map(([name, value]) => ({
    name: `__connect.errors.${name}`,
    value: Buffer.from(value),
  }));
}
