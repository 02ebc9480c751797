/** What workers of a cluster tell each other, by every protocol that Kafka Connect knows: task configs, signed where the protocol has keys, and log levels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import type { WorkerProcess } from '../services/workerProcess.ts';
import { ClusterProcesses, plainJson, topicValues } from './clusterProcesses.ts';

const settings = [...plainJson, 'task.threads=1', 'scheduled.rebalance.max.delay.ms=0'];
const names = ['rows-0', 'rows-1', 'rows-2', 'rows-3'];
const parts = 2 * names.length;
const waitMs = 30_000;

async function createAll(cluster: ClusterProcesses, asked: WorkerProcess): Promise<void> {
  for (const name of names) {
    await asked.createConnector(name, {
      'connector.class': 'millrace.DatagenSource',
      topic: `${cluster.groupId}-${name}`,
      'rows.per.second': '5',
    });
  }
}

/** Some of the connectors run on a worker that does not lead: their new task configs go to the one that does. */
async function changeAll(asked: WorkerProcess, rowsPerSecond: string): Promise<void> {
  for (const name of names) {
    await asked.request('PATCH', `/connectors/${name}/config`, { 'rows.per.second': rowsPerSecond });
  }
  for (const name of names) {
    await waitUntil(`the task of ${name} has its new configuration`, waitMs, async () => {
      const tasks = await asked.request<{ config: Record<string, string> }[]>('GET', `/connectors/${name}/tasks`);
      return tasks.length === 1 && tasks[0]!.config['rows.per.second'] === rowsPerSecond;
    });
  }
}

const isUsed = async (worker: WorkerProcess, protocol: string): Promise<boolean> =>
  (await worker.metric('kafka_connect_worker_rebalance_info', `connect_protocol="${protocol}"`)) === 1;

test('a cluster goes from the eager protocol to the sessioned one, worker by worker', async t => {
  const cluster = ClusterProcesses.create(t, [...settings, 'connect.protocol=eager']);
  const workers = [await cluster.addWorker(), await cluster.addWorker()];
  const [first, second] = workers as [WorkerProcess, WorkerProcess];
  const work = async (protocol: string, rowsPerSecond: string): Promise<void> => {
    await cluster.settled(first, parts, workers, waitMs);
    for (const worker of workers) assert.ok(await isUsed(worker, protocol), `not by ${protocol}`);
    await changeAll(second, rowsPerSecond);
    await cluster.settled(second, parts, workers, waitMs);
  };
  await createAll(cluster, second);
  await work('default', '6');
  let rowsPerSecond = 7;
  for (const protocol of ['compatible', 'sessioned']) {
    const before = protocol === 'compatible' ? 'default' : 'compatible';
    for (const worker of [second, first]) {
      await worker.stop();
      await worker.restart(['--set', `connect.protocol=${protocol}`]);
      await work(worker === second ? before : protocol, String(rowsPerSecond++));
    }
  }
  assert.deepEqual([...first.complaints, ...second.complaints], []);
});

test('the key of requests between workers is renewed, and log levels reach all workers', async t => {
  const cluster = ClusterProcesses.create(t, [
    ...settings,
    'inter.worker.key.ttl.ms=1000',
    'inter.worker.key.generation.algorithm=HmacSHA512',
    'inter.worker.signature.algorithm=HmacSHA512',
    'inter.worker.verification.algorithms=HmacSHA256,HmacSHA512',
  ]);
  const workers = [await cluster.addWorker(), await cluster.addWorker()];
  const [first, second] = workers as [WorkerProcess, WorkerProcess];
  await createAll(cluster, second);
  await cluster.settled(first, parts, workers, waitMs);
  const keys = async (): Promise<ReadonlySet<string>> => {
    const values = (await topicValues(`${cluster.groupId}-configs`)).map(text => JSON.parse(text || 'null'));
    return new Set(values.filter(value => value?.['creation-timestamp'] !== undefined).map(({ key }) => key));
  };
  for (let round = 1; round <= 2; round++) {
    const before = (await keys()).size;
    await waitUntil('there is another key', waitMs, async () => (await keys()).size > before);
    await changeAll(first, String(10 + round));
  }

  type Levels = Record<string, { level: string }>;
  const level = async (worker: WorkerProcess, name: string): Promise<string | undefined> =>
    (await worker.request<Levels>('GET', '/admin/loggers'))[name]?.level;
  await second.request('PUT', '/admin/loggers/connector.rows-0?scope=CLUSTER', { level: 'DEBUG' });
  await waitUntil('the other has the level', waitMs, async () => (await level(first, 'connector.rows-0')) === 'DEBUG');
  await second.request('PUT', '/admin/loggers/connector.rows-0?scope=worker', { level: 'WARN' });
  assert.equal(await level(second, 'connector.rows-0'), 'WARN');
  assert.equal(await level(first, 'connector.rows-0'), 'DEBUG');
});
