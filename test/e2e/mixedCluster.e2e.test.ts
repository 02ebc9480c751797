import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describedGroup, listedGroup } from '../services/groupTools.ts';
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
/** Of each, and of the sink, a connector and a task. */
const parts = 2 * (sources.length + 1);
/** Of the connectors. */
const text = { 'value.converter': 'org.apache.kafka.connect.storage.StringConverter' };

test('with a Kafka Connect worker in one group: both lead, show the same, and take over from each other', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const java = new JavaWorker({ bootstrap, groupId: cluster.groupId, port: await freePort() });
  t.after(() => java.clean());
  const dir = await mkdtemp(join(tmpdir(), 'millrace-mixed-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const topic = `${cluster.groupId}-lines`;
  let lines = 0;
  const copy = join(dir, 'copy');
  /** A line more in each file, and it arrives in topic and copy, once: the offsets of before were found. */
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
    let copied: string[] = [];
    await waitUntil('the new lines are copied', takeOverMs, () => {
      copied = readFileSync(copy, 'utf8').split('\n').slice(0, -1);
      return copied.length >= wanted.length;
    });
    assert.deepEqual(copied.sort(), wanted);
  };
  const ownClient = `${cluster.groupId}-worker`;
  /** By Kafka's own tools. */
  const bothAreMembers = async (): Promise<void> => {
    let seen: unknown;
    await waitUntil('both are members of a stable group', takeOverMs, async () => {
      const { summary, members } = await describedGroup(bootstrap, cluster.groupId);
      seen = { summary, members };
      const own = members.filter(clientId => clientId === ownClient);
      return summary === 'Stable connect sessioned' && members.length === 2 && own.length === 1;
    }).catch(error => {
      throw new Error(`${error.message}; seen: ${JSON.stringify(seen)}`);
    });
  };

  const ours = await cluster.addWorker();
  for (const name of sources) {
    await writeFile(join(dir, name), '');
    await ours.createConnector(name, {
      'connector.class': 'org.apache.kafka.connect.file.FileStreamSourceConnector',
      file: join(dir, name),
      topic,
      ...text,
    });
  }
  await ours.createConnector('copy', {
    'connector.class': 'org.apache.kafka.connect.file.FileStreamSinkConnector',
    topics: topic,
    file: copy,
    ...text,
    'consumer.override.group.id': cluster.sinkGroupId,
  });
  await agreed([ours.url], parts);
  await grow();

  // Ours leads.
  await java.start();
  await agreed([ours.url, java.url], parts);
  assert.equal(await listedGroup(bootstrap, cluster.groupId), 'Classic connect');
  await bothAreMembers();
  await grow();
  await ours.stop();
  await agreed([java.url], parts);
  await grow();

  // Java leads; task configs of what ours runs are sent to it, signed.
  await ours.restart();
  await agreed([ours.url, java.url], parts);
  await bothAreMembers();
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
