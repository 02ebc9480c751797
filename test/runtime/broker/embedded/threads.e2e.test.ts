import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import { startThread } from '../../../../runtime/broker/startThread.ts';
import { produce, randomName, readPartition, until, values } from '../../../contract/contractTools.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

test('task threads share a group; one that is ended by force is replaced, nothing is lost or torn', async context => {
  const dataDir = await temporaryDir(context);
  const broker = await EmbeddedBroker.open(dataDir, quietLogger);
  const partitions = [0, 1, 2, 3];
  await broker.admin().createTopics([
    { name: 'in', partitions: partitions.length, replicationFactor: -1 },
    { name: 'out', partitions: 1, replicationFactor: -1 },
  ]);
  const groupId = randomName('group');
  const read = new Set<string>();
  const start = (): Worker => {
    const thread = startThread('./taskThread', import.meta.url, { workerData: { dataDir, groupId } });
    thread.on('message', (keys: string[]) => {
      for (const key of keys) read.add(key);
    });
    thread.on('error', error => assert.fail(error));
    return thread;
  };
  let total = 0;
  const feed = async () => {
    for (const partition of partitions) await produce(broker, 'in', partition, values('v', 20));
    total += 20;
  };
  const allRead = (threads: readonly Worker[]) =>
    until('all records', async () => {
      await Promise.race(threads.map(thread => once(thread, 'message')));
      return partitions.every(partition =>
        Array.from({ length: total }, (_, i) => `${partition}/${i}`).every(key => read.has(key)),
      );
    });

  const steady = start();
  let other = start();
  await feed();
  await allRead([steady, other]);
  for (let round = 0; round < 3; round++) {
    const killed = other;
    other = start();
    await killed.terminate();
    await feed();
    await allRead([steady, other]);
  }
  await steady.terminate();
  await other.terminate();
  const [{ latest }] = await broker.admin().offsets([{ topic: 'out', partition: 0 }]);
  const written = await readPartition(broker, 'out', 0, latest);
  assert.deepEqual(
    written.map(record => record.value),
    written.map((_, i) => `t${i % 5}`),
    'batches are whole',
  );
  await broker.close();
});
