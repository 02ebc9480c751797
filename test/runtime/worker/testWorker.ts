/** A worker on an embedded broker in a folder of its own, or on Kafka with topics of its own, and what it said of its connectors and tasks. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config, Logger } from '../../../runtime/api/index.ts';
import { decodeHeaders, type RecordColumns, readRecords } from '../../../runtime/broker/records/index.ts';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import type { TaskSnapshot } from '../../../runtime/metrics/taskMeter.ts';
import { type FailureReport, type TaskId, taskKey } from '../../../runtime/worker/types.ts';
import { Worker } from '../../../runtime/worker/worker.ts';

export interface Line {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export const pluginModules = [
  new URL('./testPlugins.ts', import.meta.url).href,
  new URL('../../../connectors/file/index.ts', import.meta.url).href,
  new URL('../../../connectors/datagen/index.ts', import.meta.url).href,
  new URL('../../../runtime/converters/index.ts', import.meta.url).href,
  new URL('../../../runtime/transforms/index.ts', import.meta.url).href,
];

const stringConverter = 'org.apache.kafka.connect.storage.StringConverter';

export class TestWorker {
  worker!: Worker;
  readonly dir: string;
  readonly states = new Map<string, string>();
  readonly failures = new Map<string, FailureReport>();
  readonly topics = new Set<string>();
  readonly snapshots = new Map<string, TaskSnapshot>();
  readonly lines: Line[] = [];
  readonly #config: Config;

  private constructor(dir: string, config: Config) {
    this.dir = dir;
    this.#config = config;
  }

  /** Tasks run in the main thread unless `config` says otherwise. */
  static async start(t: TestContext, config: Config = {}): Promise<TestWorker> {
    const dir = await mkdtemp(join(tmpdir(), 'worker-test-'));
    const test = new TestWorker(dir, config);
    t.after(async () => {
      if (config['bootstrap.servers'] !== undefined) await test.#removeTopics();
      await test.worker.close();
      await rm(dir, { recursive: true, force: true });
    });
    await test.open();
    return test;
  }

  async #removeTopics(): Promise<void> {
    const admin = this.worker.broker.admin();
    const group = this.#config['group.id'];
    assert.ok(group);
    await admin.deleteTopics((await admin.listTopics()).filter(topic => topic.startsWith(group)));
  }

  async open(): Promise<void> {
    const log =
      (level: string) =>
      (fields: object, message: string): void => {
        this.lines.push({ level, fields: fields as Record<string, unknown>, message });
      };
    const logger: Logger = { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
    const { config } = loadWorkerConfig({
      flags: {
        'data.dir': join(this.dir, 'data'),
        'task.threads': '0',
        'key.converter': stringConverter,
        'value.converter': stringConverter,
        'offset.flush.interval.ms': '100',
        'task.shutdown.graceful.timeout.ms': '2000',
        ...this.#config,
      },
    });
    this.worker = await Worker.start({
      config,
      pluginModules,
      logger,
      metrics: { updateTask: (id, snapshot) => void this.snapshots.set(taskKey(id), snapshot) },
      listener: {
        connectorState: (name, state) => void this.states.set(name, state),
        taskState: (id, state, failure) => {
          this.states.set(taskKey(id), state);
          if (failure !== null) this.failures.set(taskKey(id), failure);
        },
        topicUsed: (id, topic) => void this.topics.add(`${id.connector} ${topic}`),
        reconfigure: () => {},
      },
    });
  }

  /** Starts connector and task 0; with a generation to deliver exactly once. */
  async run(
    name: string,
    config: Config,
    target: 'STARTED' | 'PAUSED' = 'STARTED',
    generation?: number,
  ): Promise<TaskId> {
    const connectorConfig = { name, ...config };
    await this.worker.startConnector(name, connectorConfig, 'STARTED');
    const [taskConfig] = await this.worker.taskConfigs(name);
    const id = { connector: name, task: 0 };
    this.states.delete(taskKey(id));
    await this.worker.startTask({ id, connectorConfig, taskConfig: taskConfig!, target, generation });
    return id;
  }

  state(id: TaskId): string | undefined {
    return this.states.get(taskKey(id));
  }

  async waitState(id: TaskId, state: string): Promise<void> {
    await until(
      () => this.state(id) === state,
      () => `${id.connector} is ${this.state(id)}, not ${state}: ${this.failures.get(taskKey(id))?.trace}`,
    );
  }

  async failure(id: TaskId): Promise<FailureReport> {
    await this.waitState(id, 'FAILED');
    return this.failures.get(taskKey(id))!;
  }

  /** Waits for `count` records of a topic, in all its partitions, and returns them by partition and offset. */
  async read(topic: string, count: number): Promise<ReadRecord[]> {
    const { broker } = this.worker;
    const found: ReadRecord[] = [];
    await until(
      async () => (await broker.admin().describeTopics([topic])).length > 0,
      () => `no topic ${topic}`,
    );
    const [description] = await broker.admin().describeTopics([topic]);
    const consumer = broker.consumer({ clientId: 'test', groupId: null, isolation: 'read_committed' });
    try {
      await consumer.assign(
        Array.from({ length: description!.partitions }, (_, partition) => ({
          topic,
          partition,
          from: 'beginning' as const,
        })),
      );
      await until(
        async () => {
          for (const part of await consumer.poll(50)) found.push(...plain(await readRecords(part, 'read_committed')));
          return found.length >= count;
        },
        () => `${topic} has ${found.length} of ${count} records`,
      );
    } finally {
      await consumer.close();
    }
    return found.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  }

  /** Writes records of strings; a null value is a null. */
  async write(
    topic: string,
    records: readonly { key?: string | null; value: string | Buffer | null }[],
    partitions = 1,
  ): Promise<void> {
    const { RecordBatchBuilder, noHeaders } = await import('../../../runtime/broker/records/index.ts');
    await this.worker.broker.admin().createTopics([{ name: topic, partitions, replicationFactor: 1 }]);
    const producer = this.worker.broker.producer({ clientId: 'test' });
    const builder = new RecordBatchBuilder(topic, 0, Date.now());
    for (const { key, value } of records) {
      const k = Buffer.from(key ?? '');
      const v = value === null ? Buffer.alloc(0) : Buffer.from(value);
      builder.append(Date.now(), k, key == null ? -1 : 0, k.length, v, value === null ? -1 : 0, v.length, noHeaders);
    }
    await producer.send([builder.finish()]);
    await producer.close();
  }
}

export interface ReadRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: Record<string, string>;
}

function plain(columns: RecordColumns): ReadRecord[] {
  const text = (start: number, end: number): string | null =>
    start < 0 ? null : columns.bytes.toString('utf8', start, end);
  return Array.from({ length: columns.count }, (_, i) => ({
    partition: columns.partition,
    offset: columns.offsets[i]!,
    key: text(columns.keyStarts[i]!, columns.keyEnds[i]!),
    value: text(columns.valueStarts[i]!, columns.valueEnds[i]!),
    headers: Object.fromEntries(
      decodeHeaders(columns.bytes, columns.headerStarts[i]!, columns.headerEnds[i]!).map(h => [
        h.name,
        String(h.value),
      ]),
    ),
  }));
}

/** Waits for a condition, with a deadline. */
export async function until(condition: () => boolean | Promise<boolean>, otherwise: () => string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, otherwise());
    await delay(5);
  }
}
