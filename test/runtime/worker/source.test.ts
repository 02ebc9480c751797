import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { noHeaders, RecordBatchBuilder } from '../../../runtime/broker/records/index.ts';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import { sourceProducer } from '../../../runtime/worker/clientSettings.ts';
import { probe } from './testPlugins.ts';
import { TestWorker, until } from './testWorker.ts';

const counting = { 'connector.class': 'CountingSource' };

test('a source commits what was acknowledged and goes on from there', async t => {
  const w = await TestWorker.start(t);
  const config = { ...counting, topic: 'counted', count: '2500', batch: '7' };
  const id = await w.run('resume', config);
  const { commits, events } = probe('resume');
  await until(
    () => commits.at(-1)?.next === 2500,
    () => `committed ${JSON.stringify(commits.at(-1))}`,
  );
  assert.ok(
    commits.every((c, i) => i === 0 || Number(c.next) > Number(commits[i - 1]!.next)),
    'commits go forward',
  );
  await w.worker.stopTasks([id]);
  await w.run('resume', { ...config, count: '2510' });
  const records = await w.read('counted', 2510);
  assert.deepEqual(
    records.map(r => r.value),
    Array.from({ length: 2510 }, (_, i) => `v${i}`),
  );
  assert.equal(records[9]!.key, 'k9');
  assert.deepEqual(events, ['start at 0', 'stop', 'start at 2500']);
});

test('the last commit of a stop takes all that was polled', async t => {
  const w = await TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });
  const id = await w.run('stop', { ...counting, topic: 't', count: '100' });
  await w.read('t', 100);
  await w.worker.stopTasks([id]);
  const [position] = await w.worker.sourceOffsets('stop', {});
  assert.deepEqual(position, { partition: { task: 0 }, offset: { next: 100 } });
});

test('an offset in front of the first records is stored before there are any', async t => {
  const w = await TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });
  const { commits } = probe('announced');
  const seen: number[] = [];
  probe('announced').onPoll = () => seen.push(commits.length);
  await w.run('announced', { ...counting, topic: 't', count: '2', announce: 'true' });
  await w.read('t', 2);
  assert.deepEqual(seen.slice(0, 3), [0, 1, 1]);
  const [position] = await w.worker.sourceOffsets('announced', {});
  assert.deepEqual(position, { partition: { task: 0 }, offset: { next: 0 } });
});

test('a task that does not start fails with code, place and no retry', async t => {
  const w = await TestWorker.start(t);
  const failure = await w.failure(await w.run('bad', { ...counting, topic: 't', 'fail.start': '1' }));
  assert.match(failure.trace, /^\[DATA_INVALID\] told to fail \(table t, connector bad, task 0\)\n\s+at /);
  assert.equal(failure.retriable, false);
});

test('what was sent before a failure is committed', async t => {
  const w = await TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });
  const { commits } = probe('failing');
  let polls = 0;
  probe('failing').onPoll = () => {
    if (++polls === 5) throw new Error('the source broke');
  };
  const failure = await w.failure(await w.run('failing', { ...counting, topic: 't', count: '100', batch: '10' }));
  assert.match(failure.trace, /^\[TASK_FAILED\] the source broke \(connector failing, task 0\)/);
  assert.deepEqual(commits, [{ next: 40 }]);
  assert.equal((await w.read('t', 40)).length, 40);
});

test('a paused source does not poll until it is resumed', async t => {
  const w = await TestWorker.start(t);
  const id = await w.run('paused', { ...counting, topic: 't', count: '10' }, 'PAUSED');
  let polls = 0;
  probe('paused').onPoll = () => {
    polls++;
  };
  await w.waitState(id, 'PAUSED');
  assert.equal(polls, 0);
  await w.worker.setTarget('paused', 'STARTED');
  await w.waitState(id, 'RUNNING');
  await w.read('t', 10);
  await w.worker.setTarget('paused', 'PAUSED');
  await w.waitState(id, 'PAUSED');
  assert.equal(w.states.get('paused'), 'PAUSED');
});

test('transforms run in order behind their predicates, and can drop records', async t => {
  const w = await TestWorker.start(t);
  await w.run('chain', {
    ...counting,
    topic: 't',
    count: '4',
    transforms: 'a,b,c',
    'transforms.a.type': 'test.Suffix$Value',
    'transforms.a.suffix': '!',
    'transforms.b.type': 'Suffix$Value',
    'transforms.b.suffix': 'drop',
    'transforms.b.predicate': 'second',
    'transforms.c.type': 'test.Suffix$Value',
    'transforms.c.suffix': '?',
    'transforms.c.predicate': 'third',
    'transforms.c.negate': 'true',
    predicates: 'second,third',
    'predicates.second.type': 'test.ValueIs',
    'predicates.second.value': 'v1!',
    'predicates.third.type': 'test.ValueIs',
    'predicates.third.value': 'v2!',
  });
  const records = await w.read('t', 3);
  assert.deepEqual(
    records.map(r => r.value),
    ['v0!?', 'v2!', 'v3!?'],
  );
  await until(
    () => probe('chain').commits.at(-1)?.next === 4,
    () => 'a dropped record holds up the offset',
  );
});

test('rows go as bytes where transforms do no more than to rename their topic', async t => {
  const w = await TestWorker.start(t);
  await w.run('routed', {
    'connector.class': 'DatagenSource',
    topic: 'rows',
    fields: 'id:long',
    iterations: '3',
    transforms: 'r',
    'transforms.r.type': 'org.apache.kafka.connect.transforms.RegexRouter',
    'transforms.r.regex': '(.*)s',
    'transforms.r.replacement': 'renamed.$1',
  });
  const records = await w.read('renamed.row', 3);
  assert.equal(records.length, 3);
  await until(
    () => w.topics.size > 0,
    () => 'no topic was told',
  );
  assert.deepEqual([...w.topics], ['routed renamed.row']);
});

test('transforms do not see what a source keeps for itself', async t => {
  const w = await TestWorker.start(t);
  probe('history').onBatch = batch => {
    if (batch.record(0).value === 'v1') Object.assign(batch, { isOwn: true });
  };
  const suffix = { transforms: 's', 'transforms.s.type': 'test.Suffix$Value', 'transforms.s.suffix': '!' };
  await w.run('history', { ...counting, ...suffix, topic: 't', count: '3' });
  const records = await w.read('t', 3);
  assert.deepEqual(
    records.map(r => r.value),
    ['v0!', 'v1', 'v2!'],
  );
});

test('errors.tolerance=all does not leave out what a source keeps for itself', async t => {
  const w = await TestWorker.start(t);
  probe('kept').onBatch = batch => {
    const record = batch.record(0);
    if (record.value !== 'v0') Object.assign(batch, { record: () => ({ ...record, value: 'v'.repeat(2000) }) });
    if (record.value === 'v2') Object.assign(batch, { isOwn: true });
  };
  const tolerant = { 'errors.tolerance': 'all', 'producer.override.max.request.size': '1000' };
  const failure = await w.failure(await w.run('kept', { ...counting, ...tolerant, topic: 't', count: '4' }));
  assert.match(failure.trace, /BROKER_RECORD_TOO_LARGE/);
  const [position] = await w.worker.sourceOffsets('kept', {});
  assert.deepEqual(position?.offset, { next: 2 });
});

const failing = { transforms: 'f', 'transforms.f.type': 'test.Suffix$Value', 'transforms.f.suffix': 'fail' };

test('a failing transform ends the task, and the offset stays before its record', async t => {
  const w = await TestWorker.start(t);
  const failure = await w.failure(await w.run('strict', { ...counting, ...failing, topic: 't', count: '9' }));
  assert.match(failure.trace, /^\[TRANSFORM_FAILED\] v3 is not liked \(topic t, position {"next":4}, connector strict/);
  const [position] = await w.worker.sourceOffsets('strict', {});
  assert.deepEqual(position?.offset, { next: 3 });
});

test('with errors.tolerance=all a failing record is counted, logged and left out', async t => {
  const w = await TestWorker.start(t);
  const id = await w.run('lenient', {
    ...counting,
    ...failing,
    topic: 't',
    count: '9',
    batch: '9',
    'errors.tolerance': 'all',
    'errors.log.enable': 'true',
  });
  assert.equal((await w.read('t', 8))[3]!.value, 'v4fail');
  await until(
    () => w.snapshots.get('0:lenient')?.counters.total_records_skipped === 1,
    () => 'not counted',
  );
  const line = w.lines.find(l => l.message === 'record skipped in TRANSFORMATION');
  assert.equal(line?.fields.class, 'test.Suffix$Value');
  assert.equal('record' in line!.fields, false);
  assert.equal(w.state(id), 'RUNNING');
});

test('missing topics are created by the first rule that takes them', async t => {
  const w = await TestWorker.start(t);
  const rules = {
    'topic.creation.groups': 'compacted',
    'topic.creation.default.partitions': '3',
    'topic.creation.default.replication.factor': '1',
    'topic.creation.compacted.include': 'c.*',
    'topic.creation.compacted.exclude': 'cx',
    'topic.creation.compacted.cleanup.policy': 'compact',
    'topic.creation.compacted.partitions': '2',
  };
  for (const topic of ['c1', 'cx']) await w.run(`create-${topic}`, { ...counting, ...rules, topic, count: '50' });
  const admin = w.worker.broker.admin();
  const spread = new Set((await w.read('c1', 50)).map(r => r.partition));
  assert.equal(spread.size, 2);
  await w.read('cx', 50);
  const partitions = (await admin.describeTopics(['c1', 'cx'])).map(d => [d.name, d.partitions]);
  assert.deepEqual(
    new Map(partitions as [string, number][]),
    new Map([
      ['c1', 2],
      ['cx', 3],
    ]),
  );
  assert.equal((await admin.topicConfig('c1')).get('cleanup.policy'), 'compact');
  assert.equal((await admin.topicConfig('cx')).get('cleanup.policy'), 'delete');
});

test('a topic of the task’s own has one partition and its configs, and is left as it is where it is there', async t => {
  const w = await TestWorker.start(t);
  const rules = { 'topic.creation.default.partitions': '3', 'topic.creation.default.replication.factor': '1' };
  const config = { ...counting, ...rules, topic: 't', count: '1' };
  const admin = w.worker.broker.admin();
  const there = { name: 'there', partitions: 2, replicationFactor: 1, configs: { 'retention.ms': '1000' } };
  await admin.createTopics([there]);
  for (const own of ['own', 'there']) await w.run(`keeps-${own}`, { ...config, 'own.topic': own });
  await w.read('t', 2);
  const found = await Promise.all(
    (await admin.describeTopics(['own', 'there'])).map(async ({ name, partitions }) => {
      return [name, partitions, (await admin.topicConfig(name)).get('retention.ms')];
    }),
  );
  assert.deepEqual(found.sort(), [
    ['own', 1, '-1'],
    ['there', 2, '1000'],
  ]);
});

test('a record above max.request.size ends the task with its code', async t => {
  const w = await TestWorker.start(t);
  const config = { ...counting, topic: 't', count: '5', 'producer.override.max.request.size': '3' };
  assert.match((await w.failure(await w.run('large', config))).trace, /^\[BROKER_RECORD_TOO_LARGE\]/);
});

test('a record far above the default of Kafka goes through the embedded broker', async t => {
  const w = await TestWorker.start(t);
  const admin = w.worker.broker.admin();
  await admin.createTopics([{ name: 'large', partitions: 1, replicationFactor: 1 }]);
  const value = Buffer.alloc(20_000_000, 1);
  const { options } = sourceProducer('large', {}, loadWorkerConfig({}).config);
  const builder = new RecordBatchBuilder('large', 0, 0);
  builder.append(0, value, -1, -1, value, 0, value.length, noHeaders);
  const producer = w.worker.broker.producer(options);
  await producer.send([builder.finish()]);
  await producer.close();
  const [{ latest }] = await admin.offsets([{ topic: 'large', partition: 0 }]);
  assert.equal(latest, 1);
});

test('while the schema registry is away a batch is kept; nothing is lost', async t => {
  const w = await TestWorker.start(t);
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"id":7}');
  });
  const listen = (port: number): Promise<void> =>
    new Promise(resolve => server.listen(port, '127.0.0.1', () => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  await w.run('away', {
    'connector.class': 'DatagenSource',
    topic: 't',
    iterations: '3000',
    'value.converter': 'io.confluent.connect.avro.AvroConverter',
    'value.converter.schema.registry.url': `http://127.0.0.1:${port}`,
    'value.converter.max.retries': '0',
    'key.converter': 'org.apache.kafka.connect.json.JsonConverter',
  });
  await until(
    () => (w.snapshots.get('0:away')?.counters.total_retries ?? 0) > 0,
    () => 'no retry',
  );
  assert.deepEqual(await w.worker.sourceOffsets('away', {}), []);
  await listen(port);
  t.after(() => server.close());
  const records = await w.read('t', 3000);
  assert.equal(records.length, 3000);
  assert.equal(records[0]!.key?.includes('"payload":{"order_id":0}'), true);
});
