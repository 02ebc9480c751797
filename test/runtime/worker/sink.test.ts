import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '../../../runtime/api/index.ts';
import { probe } from './testPlugins.ts';
import { TestWorker, until } from './testWorker.ts';

const keeping = { 'connector.class': 'KeepingSink' };
const json = 'org.apache.kafka.connect.json.JsonConverter';
const values = (name: string): unknown[] => probe(name).records.map(r => r.value);
const arrived = (name: string, count: number): Promise<void> =>
  until(
    () => probe(name).records.length >= count,
    () => `${probe(name).records.length} of ${count} records`,
  );
const numbered = (count: number): { key: string; value: string }[] =>
  Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: `v${i}` }));

async function committed(w: TestWorker, group: string): Promise<number | undefined> {
  return (await w.worker.broker.admin().groupOffsets(group))[0]?.offset;
}

test('a sink gets its records in order, commits, and goes on from the committed offset', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(500));
  const id = await w.run('s1', { ...keeping, topics: 'in' });
  await arrived('s1', 500);
  assert.deepEqual(values('s1').slice(0, 2), ['v0', 'v1']);
  assert.equal(probe('s1').records[499]!.originalOffset, 499);
  await until(
    async () => (await committed(w, 'connect-s1')) === 500,
    () => 'not committed',
  );
  await w.worker.stopTasks([id]);
  assert.deepEqual(probe('s1').events, ['open 1', 'close 1', 'stop']);
  await w.write('in', [{ value: 'late' }]);
  await w.run('s1', { ...keeping, topics: 'in' });
  await arrived('s1', 501);
  assert.equal(values('s1')[500], 'late');
});

test('a sink says which of its topics do not exist, and reads them once they do', async t => {
  const w = await TestWorker.start(t);
  await w.write('there', numbered(1));
  await w.run('s0', { ...keeping, topics: 'there,missing' });
  await arrived('s0', 1);
  const warnings = w.lines.filter(({ level, message }) => level === 'warn' && message.includes('do not exist'));
  assert.deepEqual(
    warnings.map(({ fields }) => fields.topics),
    [['missing']],
  );
  await w.write('missing', numbered(1));
  await arrived('s0', 2);
});

test('a retriable put gets the same batches again, and no offset passes them', async t => {
  const w = await TestWorker.start(t);
  let failures = 0;
  probe('s2').onPut = batches => {
    if (batches.length > 0 && failures < 2) {
      failures++;
      throw new ConnectError('TASK_FAILED', 'not now', { retriable: true });
    }
  };
  await w.write('in', numbered(10));
  const id = await w.run('s2', { ...keeping, topics: 'in' });
  await arrived('s2', 10);
  assert.equal(failures, 2);
  assert.equal(values('s2').length, 10);
  assert.equal(w.state(id), 'RUNNING');
  await until(
    async () => (await committed(w, 'connect-s2')) === 10,
    () => 'not committed',
  );
});

test('any other error of put fails the task before its records are committed', async t => {
  const w = await TestWorker.start(t);
  probe('s3').onPut = batches => {
    if (batches.length > 0) throw new Error('broken');
  };
  await w.write('in', numbered(3));
  const failure = await w.failure(await w.run('s3', { ...keeping, topics: 'in' }));
  assert.match(failure.trace, /^\[TASK_FAILED\] broken \(connector s3, task 0\)/);
  assert.equal(await committed(w, 'connect-s3'), undefined);
});

test('only what preCommit calls safe is committed', async t => {
  const w = await TestWorker.start(t);
  probe('s4').onPreCommit = current => new Map([...current].map(([p, offset]) => [p, Math.min(offset, 4)]));
  await w.write('in', numbered(10));
  const id = await w.run('s4', { ...keeping, topics: 'in' });
  await arrived('s4', 10);
  await w.worker.stopTasks([id]);
  assert.equal(await committed(w, 'connect-s4'), 4);
});

test('a poison record fails the task with topic, partition and offset', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', [{ value: '{"payload":1}' }, { value: '{"a":' }]);
  const config = { ...keeping, topics: 'in', 'value.converter': json, 'value.converter.schemas.enable': 'false' };
  const failure = await w.failure(await w.run('s5', config));
  assert.match(failure.trace, /^\[CONVERTER_FAILED\].*topic in, partition 0, offset 1/);
});

test('with errors.tolerance=all poison goes to the dead letter queue as it was, with what went wrong', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', [{ value: '{"a":1}' }, { key: 'bad', value: '{"a":' }, { value: null }, { value: '{"a":3}' }]);
  const id = await w.run('s6', {
    ...keeping,
    topics: 'in',
    'value.converter': json,
    'value.converter.schemas.enable': 'false',
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': 'dlq',
    'errors.deadletterqueue.context.headers.enable': 'true',
  });
  await arrived('s6', 3);
  assert.deepEqual(JSON.stringify(values('s6')), '[{"a":1},null,{"a":3}]');
  const [letter] = await w.read('dlq', 1);
  assert.equal(letter!.key, 'bad');
  assert.equal(letter!.value, '{"a":');
  const { headers } = letter!;
  const header = (name: string): string | undefined => headers[`__connect.errors.${name}`];
  assert.equal(header('topic'), 'in');
  assert.equal(header('partition'), '0');
  assert.equal(header('offset'), '1');
  assert.equal(header('connector.name'), 's6');
  assert.equal(header('task.id'), '0');
  assert.equal(header('stage'), 'VALUE_CONVERTER');
  assert.equal(header('class.name'), json);
  assert.ok(header('exception.class.name') && header('exception.message') && header('exception.stacktrace'));
  await until(
    async () => (await committed(w, 'connect-s6')) === 4,
    () => 'poison holds up the offset',
  );
  assert.equal(w.state(id), 'RUNNING');
});

test('a record that the task reports goes to the dead letter queue, or fails the task', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(3));
  for (const name of ['s7', 's8']) {
    probe(name).onPut = async (batches, context) => {
      for (const batch of batches) await context.reportErrantRecord(batch.record(1), new Error('unfit'));
    };
  }
  await w.run('s7', {
    ...keeping,
    topics: 'in',
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': 'dlq',
  });
  assert.equal((await w.read('dlq', 1))[0]!.value, 'v1');
  const failure = await w.failure(await w.run('s8', { ...keeping, topics: 'in' }));
  assert.match(failure.trace, /unfit/);
});

test('no offset is committed before the dead letters of preCommit are written', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(5));
  const admin = w.worker.broker.admin();
  const dlq = { name: 'dlq', partitions: 1, replicationFactor: 1 };
  await admin.createTopics([{ ...dlq, configs: { 'max.message.bytes': '10' } }]);
  probe('s14').onPreCommit = async (current, context) => {
    await context.reportErrantRecord(probe('s14').records[2]!, new Error('unfit'));
    return current;
  };
  const config = {
    ...keeping,
    topics: 'in',
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': 'dlq',
  };
  const failure = await w.failure(await w.run('s14', config));
  assert.match(failure.trace, /^\[SINK_DLQ_FAILED\] .*dlq/);
  assert.equal(await committed(w, 'connect-s14'), undefined);
  await admin.deleteTopics(['dlq']);
  await admin.createTopics([dlq]);
  await w.run('s14', config);
  await until(
    async () => (await committed(w, 'connect-s14')) === 5,
    () => 'not committed',
  );
  assert.equal((await w.read('dlq', 1))[0]!.value, 'v2');
});

test('transforms reach a sink too; records keep where they came from', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(4));
  await w.run('s9', {
    ...keeping,
    topics: 'in',
    transforms: 'a',
    'transforms.a.type': 'test.Suffix$Value',
    'transforms.a.suffix': '!',
  });
  await arrived('s9', 4);
  assert.deepEqual(values('s9'), ['v0!', 'v1!', 'v2!', 'v3!']);
  assert.equal(probe('s9').records[3]!.originalOffset, 3);
});

test('transforms that rename topics, and those of other topics, leave batches as they lie in the log', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(3));
  await w.write('in2', numbered(1));
  const seen: unknown[] = [];
  probe('s15').onPut = batches => {
    for (const { topic, originalTopic, wire } of batches) seen.push([topic, originalTopic, wire !== undefined]);
  };
  await w.run('s15', {
    ...keeping,
    topics: 'in,in2',
    transforms: 'r,s',
    'transforms.r.type': 'org.apache.kafka.connect.transforms.RegexRouter',
    'transforms.r.regex': 'in(.*)',
    'transforms.r.replacement': 'out$1',
    'transforms.s.type': 'test.Suffix$Value',
    'transforms.s.suffix': '!',
    'transforms.s.predicate': 'second',
    predicates: 'second',
    'predicates.second.type': 'org.apache.kafka.connect.transforms.predicates.TopicNameMatches',
    'predicates.second.pattern': 'out2',
  });
  await arrived('s15', 4);
  assert.deepEqual(seen.sort(), [
    ['out', 'in', true],
    ['out2', 'in2', false],
  ]);
  const { records } = probe('s15');
  assert.deepEqual(
    records.map(({ topic, originalTopic, value }) => `${originalTopic} ${topic} ${String(value)}`).sort(),
    ['in out v0', 'in out v1', 'in out v2', 'in2 out2 v0!'],
  );
  await until(
    async () => (await committed(w, 'connect-s15')) !== undefined,
    () => 'not committed',
  );
});

test('a paused sink gets nothing and commits what it has', async t => {
  const w = await TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });
  await w.write('in', numbered(3));
  const id = await w.run('s10', { ...keeping, topics: 'in' });
  await arrived('s10', 3);
  await w.worker.setTarget('s10', 'PAUSED');
  await w.waitState(id, 'PAUSED');
  await until(
    async () => (await committed(w, 'connect-s10')) === 3,
    () => 'not committed',
  );
  await w.write('in', [{ value: 'later' }]);
  await w.worker.setTarget('s10', 'STARTED');
  await arrived('s10', 4);
});

test('a sink can seek, and ask for a commit', async t => {
  const w = await TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });
  await w.write('in', numbered(5));
  let sought = false;
  probe('s11').onPut = (batches, context) => {
    if (batches.length === 0 || sought) return;
    sought = true;
    context.seek({ topic: 'in', partition: 0 }, 3);
    context.requestCommit();
  };
  await w.run('s11', { ...keeping, topics: 'in' });
  await arrived('s11', 7);
  assert.deepEqual(values('s11').slice(5), ['v3', 'v4']);
  await until(
    async () => (await committed(w, 'connect-s11')) !== undefined,
    () => 'no commit',
  );
});

test('a sink that seeks when it gets a partition has no record from before', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(9));
  probe('s16').onOpen = ([partition], context) => context.seek(partition!, 6);
  await w.run('s16', { ...keeping, topics: 'in' });
  await arrived('s16', 3);
  assert.deepEqual(values('s16'), ['v6', 'v7', 'v8']);
});

test('a sink that seeks past the end of a topic fails, instead of getting other records', async t => {
  const w = await TestWorker.start(t);
  await w.write('in', numbered(9));
  probe('s17').onOpen = ([partition], context) => context.seek(partition!, 600);
  const failure = await w.failure(await w.run('s17', { ...keeping, topics: 'in' }));
  assert.match(failure.trace, /^\[SINK_SEEK_LOST\].*in-0 up to offset 600/);
  assert.deepEqual(values('s17'), []);
});

test('topics.regex takes topics by full name; two tasks share the partitions', async t => {
  const w = await TestWorker.start(t);
  for (const topic of ['ab1', 'ab2', 'xab3']) await w.write(topic, [{ value: topic }], 2);
  const config = { name: 's12', ...keeping, 'topics.regex': 'ab\\d' };
  await w.run('s12', config);
  const second = { connector: 's12', task: 1 };
  await w.worker.startTask({ id: second, connectorConfig: config, taskConfig: config, target: 'STARTED' });
  await arrived('s12', 2);
  assert.deepEqual(new Set(values('s12')), new Set(['ab1', 'ab2']));
  await until(
    () => probe('s12').events.filter(e => e === 'open 2').length >= 2,
    () => probe('s12').events.join(),
  );
  await w.worker.stopTasks([second]);
  await until(
    () => probe('s12').events.at(-1) === 'open 4',
    () => probe('s12').events.join(),
  );
});

test('a sink task that never returns is cancelled; another takes over its partitions', async t => {
  const w = await TestWorker.start(t, { 'task.shutdown.graceful.timeout.ms': '100' });
  await w.write('in', numbered(3));
  let release: () => void = () => {};
  probe('s13').onPut = batches => (batches.length === 0 ? undefined : new Promise(resolve => (release = resolve)));
  const id = await w.run('s13', { ...keeping, topics: 'in' });
  await until(
    () => release.length === 1,
    () => 'no put',
  );
  await w.worker.stopTasks([id]);
  const hung = release;
  probe('s13').onPut = null;
  await w.run('s13', { ...keeping, topics: 'in' });
  await arrived('s13', 3);
  await until(
    async () => (await committed(w, 'connect-s13')) === 3,
    () => 'not committed',
  );
  hung();
  await until(
    () => probe('s13').events.filter(e => e === 'stop').length === 1,
    () => 'the first task did not end',
  );
  assert.equal(w.state(id), 'RUNNING', 'what was given up says nothing more');
});
