import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noHeaders, RecordBatchBuilder } from '../../../runtime/broker/records/index.ts';
import { OffsetTracker } from '../../../runtime/worker/source/offsetTracker.ts';
import { probe } from './testPlugins.ts';
import { TestWorker } from './testWorker.ts';

test('an offset is committable when all earlier groups are acknowledged', () => {
  const tracker = new OffsetTracker();
  const groups = [1, 2, 3].map(next => {
    const group = tracker.open();
    group.positions.push({ partition: { a: 1, b: 2 }, offset: { next } });
    return group;
  });
  tracker.ack(groups[1]!);
  assert.deepEqual(tracker.take(), []);
  tracker.ack(groups[0]!);
  const taken = tracker.take();
  assert.deepEqual(
    taken.map(p => p.offset),
    [{ next: 2 }],
  );
  assert.deepEqual(tracker.take(), []);
  tracker.ack(groups[2]!);
  tracker.giveBack(taken);
  assert.deepEqual(
    tracker.take().map(p => p.offset),
    [{ next: 3 }],
    'what is given back does not replace newer',
  );
});

const file = { 'connector.class': 'FileStreamSource', file: '/f', topic: 't' };

test('offsets are altered, added and reset after the connector accepted them', async t => {
  const { worker } = await TestWorker.start(t);
  const alter = (...changes: { partition: unknown; offset: unknown }[]): Promise<boolean> =>
    worker.alterSourceOffsets('c', file, changes);
  assert.equal(await alter({ partition: { filename: '/f' }, offset: { position: 3 } }), true);
  await alter({ partition: { filename: '/g' }, offset: { position: 4 } });
  await alter(
    { partition: { filename: '/f' }, offset: { position: 9 } },
    { partition: { filename: '/f' }, offset: { position: 6 } },
  );
  const offsets = async (): Promise<unknown> => (await worker.sourceOffsets('c', file)).map(p => p.offset);
  assert.deepEqual(await offsets(), [{ position: 6 }, { position: 4 }]);
  await alter({ partition: { filename: '/g' }, offset: null });
  assert.deepEqual(await offsets(), [{ position: 6 }]);
  await assert.rejects(alter({ partition: { filename: '/f' }, offset: { position: -1 } }), { code: 'OFFSETS_INVALID' });
  await assert.rejects(alter({ partition: null, offset: { position: 1 } }), /Partition objects cannot be null/);
  assert.deepEqual(await offsets(), [{ position: 6 }]);
  await worker.alterSourceOffsets('c', file, null);
  assert.deepEqual(await offsets(), []);
});

test('a partition is found whatever the order of its keys, and its key bytes stay those of the Java worker', async t => {
  const w = await TestWorker.start(t);
  const { worker } = w;
  await worker.sourceOffsets('c', file);
  const key = Buffer.from('["c", {"z":"x","task":0}]');
  const value = Buffer.from('{"next":9007199254740993}');
  const builder = new RecordBatchBuilder('millrace-offsets', 3, Date.now());
  builder.append(Date.now(), key, 0, key.length, value, 0, value.length, noHeaders);
  const junk = Buffer.from('junk');
  builder.append(Date.now(), junk, 0, 4, value, 0, value.length, noHeaders);
  const producer = worker.broker.producer({ clientId: 'java' });
  await producer.send([builder.finish()]);
  await producer.close();
  const [position] = await worker.sourceOffsets('c', {});
  assert.equal(position!.offset.next, 9007199254740993n);
  assert.ok(w.lines.some(l => l.message.includes('not in its format')));

  await worker.alterSourceOffsets('c', { 'connector.class': 'CountingSource' }, [
    { partition: { task: 0, z: 'x' }, offset: { next: 9007199254740995n } },
  ]);
  const written = (await w.read('millrace-offsets', 3)).filter(r => r.value?.includes('995'));
  assert.deepEqual(
    written.map(r => [r.key, r.value]),
    [['["c", {"z":"x","task":0}]', '{"next":9007199254740995}']],
  );
});

test('a connector with its own offsets topic writes there and to the common one, and reads what came before', async t => {
  const w = await TestWorker.start(t);
  const config = { 'connector.class': 'CountingSource', topic: 't', count: '5' };
  const id = await w.run('own', config);
  await w.read('t', 5);
  await w.worker.stopTasks([id]);
  const own = await w.run('own', { ...config, count: '8', 'offsets.storage.topic': 'own-offsets' });
  await w.read('t', 8);
  await w.worker.stopTasks([own]);
  assert.deepEqual(probe('own').events, ['start at 0', 'stop', 'start at 5', 'stop']);
  assert.equal((await w.read('own-offsets', 1)).at(-1)!.value, '{"next":8}');
  assert.deepEqual((await w.worker.sourceOffsets('own', {}))[0]!.offset, { next: 8 });
});

test("the topic of offsets is made with the worker's settings for it, and refused where it would lose records", async t => {
  const w = await TestWorker.start(t, {
    'offset.storage.segment.ms': '1234567',
    'offset.storage.cleanup.policy': 'delete',
    'offset.storage.file.filename': '/tmp/connect.offsets',
  });
  const admin = w.worker.broker.admin();
  await w.worker.sourceOffsets('c', file);
  const configs = await admin.topicConfig('millrace-offsets');
  assert.equal(configs.get('segment.ms'), '1234567');
  assert.equal(configs.get('cleanup.policy'), 'compact');

  await admin.createTopics([{ name: 'short-lived', partitions: 1, replicationFactor: 1 }]);
  await assert.rejects(w.worker.sourceOffsets('c', { ...file, 'offsets.storage.topic': 'short-lived' }), {
    code: 'OFFSET_TOPIC_INVALID',
    message: /short-lived, which holds source offsets, has cleanup\.policy=delete/,
  });
});
