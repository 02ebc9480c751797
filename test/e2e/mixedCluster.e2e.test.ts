import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { JavaWorker } from '../services/javaWorker.ts';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { agreed, takeOverMs } from './agreedStatus.ts';
import { bootstrap, ClusterProcesses, topicValues } from './clusterProcesses.ts';

const settings = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'offset.flush.interval.ms=500',
  'task.threads=1',
  'scheduled.rebalance.max.delay.ms=0',
];
const sources = ['one', 'two'] as const;
/** Of each a connector and a task. */
const parts = 2 * sources.length;

test('with a Kafka Connect worker in one group: both lead, show the same, and take over from each other', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const java = new JavaWorker({ bootstrap, groupId: cluster.groupId, port: await freePort() });
  t.after(() => java.clean());
  const dir = await mkdtemp(join(tmpdir(), 'millrace-mixed-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const topic = `${cluster.groupId}-lines`;
  let lines = 0;
  /** A line more in each file, and it arrives, once: the offsets of before were found. */
  const grow = async (): Promise<void> => {
    for (const name of sources) appendFileSync(join(dir, name), `${name}-${lines}\n`);
    lines++;
    const wanted = sources.flatMap(name => Array.from({ length: lines }, (_, i) => `${name}-${i}`)).sort();
    let values: string[] = [];
    await waitUntil('the new lines arrive', takeOverMs, async () => {
      values = await topicValues(topic);
      return values.length >= wanted.length;
    }).catch(error => {
      throw new Error(`${error.message}; there are ${values}`);
    });
    assert.deepEqual(values.sort(), wanted);
  };

  const ours = await cluster.addWorker();
  for (const name of sources) {
    await writeFile(join(dir, name), '');
    await ours.createConnector(name, {
      'connector.class': 'org.apache.kafka.connect.file.FileStreamSourceConnector',
      file: join(dir, name),
      topic,
      'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
    });
  }
  await agreed([ours.url], parts);
  await grow();

  // Ours leads.
  await java.start();
  await agreed([ours.url, java.url], parts);
  await grow();
  await ours.stop();
  await agreed([java.url], parts);
  await grow();

  // Java leads; task configs of what ours runs are sent to it, signed.
  await ours.restart();
  await agreed([ours.url, java.url], parts);
  await ours.request('PUT', '/connectors/one/config', {
    ...(await ours.request<Record<string, string>>('GET', '/connectors/one/config')),
    'batch.size': '100',
  });
  await ours.request('PUT', '/connectors/two/config', {
    ...(await ours.request<Record<string, string>>('GET', '/connectors/two/config')),
    'batch.size': '100',
  });
  await agreed([ours.url, java.url], parts);
  for (const name of sources) {
    await waitUntil(`the task of ${name} has its new configuration`, 30_000, async () => {
      const tasks = await ours.request<{ config: Record<string, string> }[]>('GET', `/connectors/${name}/tasks`);
      return tasks.length === 1 && tasks[0]!.config['batch.size'] === '100';
    });
  }
  await grow();
  await java.stop();
  await agreed([ours.url], parts);
  await grow();
});
