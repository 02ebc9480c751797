/** Small plugins for the worker's tests: a source that emits what its config says, a sink that keeps what it gets, a transform and a predicate. */
import {
  type Config,
  ConnectError,
  type ConnectRecord,
  configDef,
  offsetBatch,
  type Plugin,
  plainBatch,
  type SinkBatch,
  type SinkRecord,
  type SinkTask,
  type SinkTaskContext,
  type SourceBatch,
  type SourceOffset,
  type SourcePartition,
  type SourceTask,
  type SourceTaskContext,
  type TopicPartition,
  type TransactionBoundaries,
} from '../../../runtime/api/index.ts';
import { STRING } from '../../../schemas/data/index.ts';

const anyConfig = configDef({});

/** What tasks of one connector share with the test, in the main thread; by connector name. */
export class Probe {
  readonly records: SinkRecord[] = [];
  readonly puts: number[] = [];
  readonly commits: SourceOffset[] = [];
  readonly events: string[] = [];
  onOpen?: (partitions: readonly TopicPartition[], context: SinkTaskContext) => void;
  onPut: ((batches: readonly SinkBatch[], context: SinkTaskContext) => Promise<void> | void) | null = null;
  onPreCommit:
    | ((
        current: ReadonlyMap<TopicPartition, number>,
        context: SinkTaskContext,
      ) => ReadonlyMap<TopicPartition, number> | Promise<ReadonlyMap<TopicPartition, number>>)
    | null = null;
  onPoll: (() => void) | null = null;
  /** Of a source: before the batch is returned from its poll. */
  onBatch: ((batch: SourceBatch, boundaries: TransactionBoundaries | undefined) => void) | null = null;
}

const probes = new Map<string, Probe>();

export function probe(connector: string): Probe {
  let found = probes.get(connector);
  if (found === undefined) probes.set(connector, (found = new Probe()));
  return found;
}

/** Emits `count` records `k<i>`/`v<i>` in batches of `batch`, one per poll, an offset with every `offset.every`th; goes on from its offset. */
class CountingTask implements SourceTask {
  #next = 0;
  #count = 0;
  #batch = 1;
  #offsetEvery = 1;
  #polls = 0;
  /** Whether the first poll gives an offset and no record. */
  #announces = false;
  #boundaries: TransactionBoundaries | undefined;
  #topic = '';
  #probe!: Probe;
  #partition: SourcePartition = {};

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    if (config['fail.start']) throw new ConnectError('DATA_INVALID', 'told to fail', { place: { table: 't' } });
    this.#count = Number(config.count);
    this.#batch = Number(config.batch ?? 1);
    this.#offsetEvery = Number(config['offset.every'] ?? 1);
    this.#announces = config.announce === 'true';
    this.#boundaries = context.transactions;
    this.#topic = config.topic!;
    if (config['own.topic']) await context.createTopic?.(config['own.topic'], { 'retention.ms': '-1' });
    this.#probe = probe(context.connectorName);
    this.#partition = { task: context.taskId };
    this.#next = Number((await context.offsets.offset(this.#partition))?.next ?? 0);
    this.#probe.events.push(`start at ${this.#next}`);
  }

  async poll(): Promise<readonly SourceBatch[]> {
    this.#probe.onPoll?.();
    if (this.#announces) {
      this.#announces = false;
      return [offsetBatch(this.#partition, { next: this.#next })];
    }
    if (this.#next >= this.#count) return [];
    const records: ConnectRecord[] = [];
    for (let i = 0; i < this.#batch && this.#next < this.#count; i++, this.#next++) {
      records.push({
        topic: this.#topic,
        partition: null,
        keySchema: STRING,
        key: `k${this.#next}`,
        valueSchema: STRING,
        value: `v${this.#next}`,
        timestamp: null,
        headers: [],
      });
    }
    const sourceOffset = ++this.#polls % this.#offsetEvery === 0 ? { next: this.#next } : null;
    const batch = plainBatch({ records, sourcePartition: this.#partition, sourceOffset });
    this.#probe.onBatch?.(batch, this.#boundaries);
    return [batch];
  }

  async commit(_: SourcePartition, offset: SourceOffset): Promise<void> {
    this.#probe.commits.push(offset);
  }

  async stop(): Promise<void> {
    this.#probe.events.push('stop');
  }
}

class KeepingTask implements SinkTask {
  #context!: SinkTaskContext;
  #probe!: Probe;

  async start(config: Config, context: SinkTaskContext): Promise<void> {
    this.#context = context;
    this.#probe = probe(context.connectorName);
    if (config['hang.start']) for (;;) Math.random();
  }

  async open(partitions: readonly TopicPartition[]): Promise<void> {
    this.#probe.events.push(`open ${partitions.length}`);
    this.#probe.onOpen?.(partitions, this.#context);
  }

  async close(partitions: readonly TopicPartition[]): Promise<void> {
    this.#probe.events.push(`close ${partitions.length}`);
  }

  async put(batches: readonly SinkBatch[]): Promise<void> {
    await this.#probe.onPut?.(batches, this.#context);
    if (batches.length > 0) this.#probe.puts.push(batches.length);
    for (const batch of batches) for (let i = 0; i < batch.count; i++) this.#probe.records.push(batch.record(i));
  }

  async preCommit(current: ReadonlyMap<TopicPartition, number>): Promise<ReadonlyMap<TopicPartition, number>> {
    return this.#probe.onPreCommit?.(current, this.#context) ?? current;
  }

  async stop(): Promise<void> {
    this.#probe.events.push('stop');
  }
}

const one = (config: Config): Config[] => [config];

function connector(): { start(config: Config): void; taskConfigs(max: number): Config[]; stop(): void } {
  let kept: Config = {};
  return {
    start(config) {
      kept = config;
    },
    taskConfigs: () => one(kept),
    stop() {},
  };
}

const base = { aliases: [], version: '1.0.0', configDef: anyConfig };

export const plugins: readonly Plugin[] = [
  {
    ...base,
    kind: 'source',
    className: 'test.CountingSourceConnector',
    createConnector: () => ({
      ...connector(),
      exactlyOnceSupport: config => (config.unsure === 'true' ? 'UNSUPPORTED' : 'SUPPORTED'),
      canDefineTransactionBoundaries: () => 'SUPPORTED',
    }),
    createTask: () => new CountingTask(),
  },
  {
    ...base,
    kind: 'sink',
    className: 'test.KeepingSinkConnector',
    createConnector: connector,
    createTask: () => new KeepingTask(),
  },
  {
    ...base,
    kind: 'transformation',
    className: 'test.Suffix$Value',
    create() {
      let suffix = '';
      return {
        configure(config) {
          suffix = config.suffix!;
        },
        apply(record) {
          if (record.value === 'v3' && suffix === 'fail') throw new Error('v3 is not liked');
          return suffix === 'drop' ? null : { ...record, value: `${record.value}${suffix}` };
        },
      };
    },
  },
  {
    ...base,
    kind: 'predicate',
    className: 'test.ValueIs',
    create() {
      let wanted = '';
      return {
        configure(config) {
          wanted = config.value!;
        },
        test: record => record.value === wanted,
      };
    },
  },
];
