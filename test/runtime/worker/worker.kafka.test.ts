import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { ConnectError } from '../../../runtime/api/index.ts';
import { probe } from './testPlugins.ts';
import { TestWorker, until } from './testWorker.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const registry = process.env.REGISTRY_URL ?? 'http://127.0.0.1:8081/apis/ccompat/v7';

function onKafka(t: TestContext, more: Record<string, string> = {}): Promise<{ w: TestWorker; prefix: string }> {
  const prefix = `worker-test-${randomUUID().slice(0, 8)}`;
  const config = {
    'bootstrap.servers': bootstrap,
    'schema.registry.url': registry,
    'group.id': prefix,
    'offset.storage.replication.factor': '1',
    'offset.storage.partitions': '3',
    ...more,
  };
  return TestWorker.start(t, config).then(w => ({ w, prefix }));
}

test('a source resumes from its offsets in Kafka, a sink from its group', async t => {
  const { w, prefix } = await onKafka(t);
  const topic = `${prefix}-counted`;
  const source = {
    'connector.class': 'CountingSource',
    topic,
    batch: '50',
    'topic.creation.default.partitions': '2',
    'topic.creation.default.replication.factor': '1',
  };
  const name = `${prefix}-source`;
  const sinkName = `${prefix}-sink`;
  const keys = (): (string | null)[] => probe(sinkName).records.map(r => r.key as string);
  const first = await w.run(name, { ...source, count: '1000' });
  const sink = await w.run(sinkName, { 'connector.class': 'KeepingSink', topics: topic });
  await until(
    () => keys().length === 1000,
    () => `${keys().length} records; ${w.failures.get(`0:${sinkName}`)?.trace}`,
  );
  await w.worker.stopTasks([first, sink]);
  await w.run(name, { ...source, count: '1500' });
  await w.run(sinkName, { 'connector.class': 'KeepingSink', topics: topic });
  await until(
    () => keys().length === 1500,
    () => `${keys().length} records`,
  );
  assert.equal(new Set(keys()).size, 1500);
  assert.deepEqual(probe(name).events, ['start at 0', 'stop', 'start at 1000']);
  assert.equal(new Set(probe(sinkName).records.map(r => r.originalPartition)).size, 2);
});

test('a sink that seeks when it gets partitions of Kafka has no record from before, and fails past the end', async t => {
  const { w, prefix } = await onKafka(t);
  const topic = `${prefix}-sought`;
  await w.write(
    topic,
    Array.from({ length: 9 }, (_, i) => ({ key: 'k', value: `v${i}` })),
  );
  const sink = { 'connector.class': 'KeepingSink', topics: topic };
  const values = (): unknown[] => probe(`${prefix}-forward`).records.map(r => r.value);
  probe(`${prefix}-forward`).onOpen = ([partition], context) => context.seek(partition!, 6);
  await w.run(`${prefix}-forward`, sink);
  await until(
    () => values().length >= 3,
    () => `${values().length} records`,
  );
  assert.deepEqual(values(), ['v6', 'v7', 'v8']);
  probe(`${prefix}-past`).onOpen = ([partition], context) => context.seek(partition!, 600);
  const failure = await w.failure(await w.run(`${prefix}-past`, sink));
  assert.match(failure.trace, /^\[SINK_SEEK_LOST\]/);
  assert.deepEqual(probe(`${prefix}-past`).records, []);
});

test('generated rows go as Avro from threads through Kafka', async t => {
  const { w, prefix } = await onKafka(t, { 'task.threads': '2' });
  const avro = 'io.confluent.connect.avro.AvroConverter';
  const topic = `${prefix}-rows`;
  t.after(async () => {
    for (const side of ['key', 'value']) await fetch(`${registry}/subjects/${topic}-${side}`, { method: 'DELETE' });
  });
  await w.run(`${prefix}-gen`, {
    'connector.class': 'millrace.DatagenSource',
    'key.converter': avro,
    'value.converter': avro,
    topic,
    quickstart: 'orders',
    iterations: '20000',
  });
  const records = await w.read(topic, 20_000);
  assert.equal(records.length, 20_000);
  assert.ok(records.every(r => r.value?.startsWith('\0')));
});

test('a replication factor that the cluster cannot give is refused with the key to set', async t => {
  const { w, prefix } = await onKafka(t);
  const topic = `${prefix}-wide`;
  const rules = { 'topic.creation.default.partitions': '1', 'topic.creation.default.replication.factor': '99' };
  const source = await w.run(`${prefix}-source`, { 'connector.class': 'CountingSource', topic, count: '1', ...rules });
  assert.match(
    (await w.failure(source)).trace,
    /INVALID_REPLICATION_FACTOR.*Set topic\.creation\.default\.replication\.factor, 99/,
  );
});

test('a topic of Kafka that is made anew is read from its beginning, also by a sink that cannot flush at first', async t => {
  const { w, prefix } = await onKafka(t, { 'offset.flush.interval.ms': '200' });
  const [topic, name] = [`${prefix}-anew`, `${prefix}-sink`];
  const values = (): unknown[] => probe(name).records.map(r => r.value);
  const admin = w.worker.broker.admin();
  const committed = async (): Promise<number | undefined> =>
    (await admin.groupOffsets(`connect-${name}`)).find(offset => offset.topic === topic)?.offset;
  await w.write(
    topic,
    [0, 1, 2, 3, 4].map(i => ({ value: `v${i}` })),
  );
  await w.run(name, { 'connector.class': 'KeepingSink', topics: topic });
  await until(
    async () => (await committed()) === 5,
    () => 'not committed',
  );
  await admin.deleteTopics([topic]);
  await until(
    async () => (await admin.describeTopics([topic])).length === 0,
    () => 'still there',
  );
  let refusals = 0;
  probe(name).onPreCommit = current => {
    if (refusals > 0 || ![...current.values()].includes(3)) return current;
    refusals++;
    throw new ConnectError('SINK_UNAVAILABLE', 'not now', { retriable: true });
  };
  await w.write(
    topic,
    [0, 1, 2].map(i => ({ value: `n${i}` })),
  );
  await until(
    async () => (await committed()) === 3,
    () => `${values().join()}, ${refusals} refusals, ${w.failures.get(`0:${name}`)?.trace}`,
  );
  assert.deepEqual(values().slice(5), ['n0', 'n1', 'n2', 'n0', 'n1', 'n2']);
});
