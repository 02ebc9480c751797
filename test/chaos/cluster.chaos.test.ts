/**
 * Three workers with 12 connectors and 30 tasks for CLUSTER_SECONDS (900): at random one is killed, stopped in order, or halted; afterwards no row that was
 * committed is missing, at no time two workers run the same task, and after each fault everything runs again. Prints faults and times to recover.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterProcesses, topicKeys } from '../e2e/clusterProcesses.ts';
import type { WorkerProcess } from '../services/workerProcess.ts';

const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 900);
const WORKERS = 3;
const LOADS = 9;
const TASKS = 3;
const FILES = 3;
const PARTS = LOADS * (1 + TASKS) + FILES * 2;
const DELAY_MS = 5_000;
const HALT_MS = 20_000;
const RECOVERY_MS = 60_000;
const FAULTS = ['kill -9', 'SIGTERM', 'halt'] as const;

const settings = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'key.converter.schemas.enable=false',
  'value.converter.schemas.enable=false',
  'offset.flush.interval.ms=1000',
  'task.threads=1',
  `scheduled.rebalance.max.delay.ms=${DELAY_MS}`,
];

/** Tasks that a worker says it runs; none where it does not answer. */
async function tasksOf(worker: WorkerProcess): Promise<ReadonlySet<string>> {
  const answer = await fetch(`${worker.url}/metrics`, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  const text = (await answer?.text().catch(() => '')) ?? '';
  const running = text.matchAll(/^kafka_connect_connector_task_status\{connector="([^"]*)",task="(\d+)"/gm);
  return new Set([...running].map(([, connector, task]) => `${connector}-${task}`));
}

/** What two workers run, asked in both orders, so that what has moved between the questions does not count. */
async function runTwice(workers: readonly WorkerProcess[]): Promise<string[]> {
  const look = async (order: readonly WorkerProcess[]): Promise<ReadonlySet<string>> => {
    const seen = new Set<string>();
    const twice = new Set<string>();
    for (const worker of order) {
      for (const task of await tasksOf(worker)) (seen.has(task) ? twice : seen).add(task);
    }
    return twice;
  };
  const first = await look(workers);
  if (first.size === 0) return [];
  const second = await look([...workers].reverse());
  return [...first].filter(task => second.has(task));
}

test(`workers come and go for ${SECONDS} s`, async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const dir = await mkdtemp(join(tmpdir(), 'millrace-chaos-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (let i = 0; i < WORKERS; i++) await cluster.addWorker();
  const { workers } = cluster;
  const topicOf = (name: string): string => `${cluster.groupId}-${name}`;
  const loads = Array.from({ length: LOADS }, (_, i) => `load-${i}`);
  for (const [i, name] of loads.entries()) {
    await workers[i % WORKERS]!.createConnector(name, {
      'connector.class': 'millrace.DatagenSource',
      topic: topicOf(name),
      fields: 'id:long,name:string',
      'rows.per.second': '30',
      'tasks.max': String(TASKS),
    });
  }
  for (let i = 0; i < FILES; i++) {
    const file = join(dir, `lines-${i}`);
    await writeFile(file, 'a line\n');
    const topic = topicOf(`file-${i}`);
    await workers[i % WORKERS]!.createConnector(`file-${i}`, { 'connector.class': 'FileStreamSource', file, topic });
  }
  await cluster.settled(workers[0]!, PARTS, workers, RECOVERY_MS);

  const done = new AbortController();
  const doubles: string[] = [];
  const watching = (async () => {
    while (!done.signal.aborted) {
      for (const task of await runTwice(workers)) doubles.push(`${task} at ${new Date().toISOString()}`);
      await delay(500);
    }
  })();
  const until = Date.now() + SECONDS * 1_000;
  try {
    for (let i = 0; Date.now() < until; i++) {
      const fault = FAULTS[i % FAULTS.length]!;
      const worker = workers[Math.floor(Math.random() * WORKERS)]!;
      const downMs = Math.floor(Math.random() * 2 * DELAY_MS);
      if (fault === 'halt') {
        process.kill(worker.pid, 'SIGSTOP');
        await delay(HALT_MS);
        process.kill(worker.pid, 'SIGCONT');
      } else {
        await (fault === 'kill -9' ? worker.kill() : worker.stop());
        await delay(downMs);
        await worker.restart();
      }
      const backMs = Date.now();
      await cluster.settled(worker, PARTS, workers, RECOVERY_MS);
      const down = fault === 'halt' ? HALT_MS : downMs;
      t.diagnostic(`${fault} of ${worker.url}, back after ${down} ms: all runs ${Date.now() - backMs} ms later`);
    }
  } finally {
    done.abort();
    await watching;
  }
  assert.deepEqual(doubles, [], 'tasks ran on two workers');

  let rows = 0;
  for (const name of loads) {
    await workers[0]!.request('PUT', `/connectors/${name}/stop`);
    const { offsets } = await workers[0]!.request<{
      offsets: { partition: { task: number }; offset: { row: number } }[];
    }>('GET', `/connectors/${name}/offsets`);
    assert.equal(offsets.length, TASKS);
    const keys = await topicKeys(topicOf(name));
    for (const { partition, offset } of offsets) {
      for (let row = 0; row < offset.row; row++) {
        const key = JSON.stringify({ id: partition.task + row * TASKS });
        assert.ok(keys.has(key), `row ${row} of task ${partition.task} of ${name} is committed but not in the topic`);
        rows++;
      }
    }
  }
  t.diagnostic(`${rows} rows, none is missing`);
  assert.ok(rows > SECONDS * 10);
  assert.deepEqual(
    workers.flatMap(worker => worker.complaints),
    [],
  );
});
