/** A file whose lines go out exactly once, with an offsets topic of its own, while its worker is killed, halted and replaced: each line is in the topic once, in order. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { ClusterProcesses, topicValues } from './clusterProcesses.ts';

const WAIT_MS = 60_000;

const settings = [
  'key.converter=org.apache.kafka.connect.storage.StringConverter',
  'value.converter=org.apache.kafka.connect.storage.StringConverter',
  'offset.flush.interval.ms=500',
  'task.threads=1',
  'session.timeout.ms=6000',
  'heartbeat.interval.ms=1500',
  'scheduled.rebalance.max.delay.ms=0',
  'exactly.once.source.support=enabled',
];

test('each line is in the topic once, whatever happens to the worker', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const dir = await mkdtemp(join(tmpdir(), 'millrace-once-'));
  const file = join(dir, 'lines');
  await writeFile(file, '');
  const topic = `${cluster.groupId}-lines`;
  let lines = 0;
  const writing = setInterval(() => appendFileSync(file, `line ${lines++}\n`), 5);
  t.after(async () => {
    clearInterval(writing);
    await rm(dir, { recursive: true, force: true });
  });

  /** What is written by now arrives: all of it, in order, and nothing else before it. */
  const arrives = async (): Promise<void> => {
    const wanted = Array.from({ length: lines }, (_, i) => `line ${i}`);
    let values: string[] = [];
    await waitUntil(`${wanted.length} lines arrive`, WAIT_MS, async () => {
      values = await topicValues(topic);
      return values.length >= wanted.length;
    }).catch(error => {
      throw new Error(`${error.message}; ${values.length} are there, the last is ${values.at(-1)}`);
    });
    assert.deepEqual(values.slice(0, wanted.length), wanted);
  };

  const first = await cluster.addWorker();
  await first.createConnector('lines', {
    'connector.class': 'FileStreamSource',
    file,
    topic,
    'offsets.storage.topic': `${cluster.groupId}-own-offsets`,
    'exactly.once.support': 'required',
  });
  await arrives();

  await first.kill();
  await first.restart();
  await arrives();

  // Halted, it loses its work to another; when it goes on, what it had begun counts for nothing.
  const second = await cluster.addWorker();
  const runsAt = async (): Promise<string | undefined> => (await second.status('lines')).tasks[0]?.worker_id;
  const owner = (await runsAt()) === new URL(second.url).host ? second : first;
  const other = owner === second ? first : second;
  process.kill(owner.pid, 'SIGSTOP');
  await waitUntil('the other runs it', WAIT_MS, async () => {
    const [task] = (await other.status('lines')).tasks;
    return task?.state === 'RUNNING' && task.worker_id === new URL(other.url).host;
  });
  await arrives();
  process.kill(owner.pid, 'SIGCONT');
  await arrives();
  await owner.stop();
  await arrives();
  t.diagnostic(`${lines} lines`);
});
