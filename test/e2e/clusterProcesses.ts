/** Worker processes that form a cluster on the Kafka of the tests, and what a test asks of all of them. */
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import type { Broker } from '../../runtime/broker/port.ts';
import { type RecordColumns, readRecords } from '../../runtime/broker/records/index.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { silentLogger } from './restConformance.ts';

export const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';

/** Keys and values as JSON without schemas, which `topicKeys` and `topicValues` give as they are. */
export const plainJson: readonly string[] = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'key.converter.schemas.enable=false',
  'value.converter.schemas.enable=false',
];

export function connectKafka(servers = bootstrap): Promise<Broker> {
  return connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': servers } }, silentLogger);
}

export class ClusterProcesses {
  readonly groupId: string;
  readonly workers: WorkerProcess[] = [];
  readonly #settings: readonly string[];
  readonly #servers: string;

  private constructor(groupId: string, settings: readonly string[], servers: string) {
    this.groupId = groupId;
    this.#settings = settings;
    this.#servers = servers;
  }

  /** For one sink connector, so that it is removed too. */
  get sinkGroupId(): string {
    return `connect-${this.groupId}`;
  }

  /** Ends with the test, and takes its topics (those named after the group too) and groups with it. */
  static create(t: TestContext, settings: readonly string[], servers = bootstrap): ClusterProcesses {
    const cluster = new ClusterProcesses(`cluster-${randomUUID()}`, settings, servers);
    t.after(() => cluster.#remove());
    return cluster;
  }

  /** `servers`: where this worker finds the Kafka of all. */
  async addWorker(servers = this.#servers): Promise<WorkerProcess> {
    const args = ['--bootstrap-servers', servers, '--group-id', this.groupId];
    for (const setting of this.#settings) args.push('--set', setting);
    const worker = await WorkerProcess.start(args, {}, 'worker');
    this.workers.push(worker);
    return worker;
  }

  /** `state@worker` of all connectors and tasks, as the worker shows them. */
  async placement(asked: WorkerProcess): Promise<ReadonlyMap<string, string>> {
    const all = await asked.request<Record<string, { status: Awaited<ReturnType<WorkerProcess['status']>> }>>(
      'GET',
      '/connectors?expand=status',
    );
    const placed = new Map<string, string>();
    for (const [name, { status }] of Object.entries(all)) {
      placed.set(name, `${status.connector.state}@${status.connector.worker_id}`);
      for (const { id, state, worker_id } of status.tasks) placed.set(`${name}-${id}`, `${state}@${worker_id}`);
    }
    return placed;
  }

  /** All parts run, and each of these workers has some. */
  async settled(
    asked: WorkerProcess,
    parts: number,
    workers: readonly WorkerProcess[],
    timeoutMs: number,
  ): Promise<void> {
    let seen: ReadonlyMap<string, string> = new Map();
    const hosts = workers.map(({ url }) => new URL(url).host);
    await waitUntil(`${parts} parts run on ${hosts}`, timeoutMs, async () => {
      seen = await this.placement(asked);
      const where = [...seen.values()];
      return (
        where.length === parts &&
        where.every(at => hosts.some(host => at === `RUNNING@${host}`)) &&
        hosts.every(host => where.includes(`RUNNING@${host}`))
      );
    }).catch(error => {
      throw new Error(`${error.message}; seen: ${[...seen].join(' ')}`);
    });
  }

  async #remove(): Promise<void> {
    await Promise.all(this.workers.map(worker => worker.stop()));
    const broker = await connectKafka(this.#servers);
    const admin = broker.admin();
    await admin.deleteTopics((await admin.listTopics()).filter(topic => topic.startsWith(this.groupId)));
    for (const group of [this.groupId, this.sinkGroupId]) {
      // One that was never used, or whose last member is still counted.
      await admin.deleteGroup(group).catch(() => undefined);
    }
    await broker.close();
  }
}

export async function topicKeys(topic: string): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  await readTopic(topic, ({ bytes, keyStarts, keyEnds }, i) =>
    keys.add(bytes.toString('utf8', keyStarts[i]!, keyEnds[i]!)),
  );
  return keys;
}

/** In the order of each partition. */
export async function topicValues(topic: string, servers = bootstrap): Promise<string[]> {
  const values: string[] = [];
  const take = ({ bytes, valueStarts, valueEnds }: RecordColumns, i: number): void => {
    values.push(bytes.toString('utf8', valueStarts[i]!, valueEnds[i]!));
  };
  await readTopic(topic, take, servers);
  return values;
}

/** What is in it by now, and committed. */
async function readTopic(
  topic: string,
  take: (records: RecordColumns, i: number) => void,
  servers = bootstrap,
): Promise<void> {
  const broker = await connectKafka(servers);
  const consumer = broker.consumer({ clientId: 'test', groupId: null, isolation: 'read_committed' });
  try {
    const [found] = await broker.admin().describeTopics([topic]);
    const partitions = Array.from({ length: found?.partitions ?? 0 }, (_, partition) => ({ topic, partition }));
    const ends = (await broker.admin().offsets(partitions)).filter(end => end.latest > end.earliest);
    await consumer.assign(ends.map(({ partition }) => ({ topic, partition, from: 'beginning' as const })));
    while (ends.some(end => (consumer.position(end) ?? 0) < end.latest)) {
      for (const fetched of await consumer.poll(1_000)) {
        const records = await readRecords(fetched, 'read_committed');
        for (let i = 0; i < records.count; i++) take(records, i);
      }
    }
  } finally {
    await consumer.close();
    await broker.close();
  }
}
