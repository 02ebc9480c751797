/** A worker of Kafka Connect and one of ours deliver exactly once in one cluster: each takes over from the other, and fences what the other has left. */
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
import { bootstrap, ClusterProcesses, connectKafka, topicValues } from './clusterProcesses.ts';

const both = ['exactly.once.source.support=enabled', 'session.timeout.ms=6000', 'heartbeat.interval.ms=1500'];
const settings = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'task.threads=1',
  'scheduled.rebalance.max.delay.ms=0',
  ...both,
];
const sources = ['one', 'two'] as const;
const parts = 2 * sources.length;

test('exactly once beside a Kafka Connect worker: halted workers are fenced, by each of the two as leader', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const java = new JavaWorker({ bootstrap, groupId: cluster.groupId, port: await freePort(), settings: both });
  t.after(() => java.clean());
  const dir = await mkdtemp(join(tmpdir(), 'millrace-mixed-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const broker = await connectKafka();
  t.after(() => broker.close());
  const topic = `${cluster.groupId}-lines`;
  const ours = await cluster.addWorker();
  let lines = 0;
  const append = (): void => {
    for (const name of sources) appendFileSync(join(dir, name), `${name}-${lines}\n`);
    lines++;
  };
  const arrived = async (): Promise<void> => {
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
  /** As the leader, `leader` stops the producers of a connector's earlier tasks before its offsets are changed; asked at the other worker. */
  const fencesLeftovers = async (leader: string): Promise<void> => {
    const metrics = await (await fetch(`${ours.url}/metrics`)).text();
    assert.match(metrics, new RegExp(`rebalance_info\\{leader_name="${leader}/"`));
    await ours.stopConnector('one');
    const zombie = broker.producer({ clientId: 'zombie', transactionalId: `${cluster.groupId}-one-0` });
    t.after(() => zombie.close(1_000));
    await zombie.initTransactions();
    zombie.beginTransaction();
    await zombie.sendOffsets(cluster.sinkGroupId, [{ topic, partition: 0, offset: 1 }]);
    const { offsets } = await ours.request<{ offsets: unknown[] }>('GET', '/connectors/one/offsets');
    assert.equal(offsets.length, 1);
    await ours.request('PATCH', '/connectors/one/offsets', { offsets });
    await assert.rejects(zombie.commitTransaction(), { code: 'BROKER_PRODUCER_FENCED' }, `${leader} did not fence`);
    await ours.request('PUT', '/connectors/one/resume');
  };
  /** Halted, it loses what it runs to the other; when it goes on, nothing of what it then does counts. */
  const halted = async (pid: number, other: string): Promise<void> => {
    append();
    process.kill(pid, 'SIGSTOP');
    try {
      append();
      await agreed([other], parts);
      append();
      await arrived();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    append();
    await agreed([ours.url, java.url], parts);
    append();
    await arrived();
  };

  await java.start();
  for (const name of sources) {
    await writeFile(join(dir, name), '');
    await ours.createConnector(name, {
      'connector.class': 'org.apache.kafka.connect.file.FileStreamSourceConnector',
      file: join(dir, name),
      topic,
      'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
      'exactly.once.support': 'required',
    });
  }
  await agreed([ours.url, java.url], parts);
  append();
  await arrived();
  await fencesLeftovers(ours.url);
  await agreed([ours.url, java.url], parts);
  await halted(ours.pid, java.url);
  // It was alone: it leads since.
  await fencesLeftovers(java.url);
  await agreed([ours.url, java.url], parts);
  await halted(await java.pid(), ours.url);
});
