/** Exactly-once sources in one worker: what is in which transaction. Fencing between workers is tested where there are several. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import type { TaskId } from '../../../runtime/worker/types.ts';
import { probe } from './testPlugins.ts';
import { TestWorker, until } from './testWorker.ts';

const counting = { 'connector.class': 'CountingSource', topic: 't' };
const never = { 'transaction.boundary': 'interval', 'transaction.boundary.interval.ms': '3600000' };
/** Under the longest transaction.timeout.ms, so that the task takes the setting. */
const longTimeout = { 'producer.override.transaction.timeout.ms': '7200000' };

/** No commit of offsets by a timer: what is committed is in transactions. */
const start = (t: TestContext): Promise<TestWorker> => TestWorker.start(t, { 'offset.flush.interval.ms': '3600000' });

function run(w: TestWorker, name: string, config: Config): Promise<TaskId> {
  return w.run(name, { ...counting, ...config }, 'STARTED', 1);
}

const values = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `v${from + i}`);

async function readValues(w: TestWorker, count: number, topic = 't'): Promise<(string | null)[]> {
  return (await w.read(topic, count)).map(record => record.value);
}

async function committed(w: TestWorker, name: string): Promise<unknown> {
  return (await w.worker.sourceOffsets(name, {}))[0]?.offset.next;
}

test('records and the offsets behind them are committed together, and a new task goes on behind them', async t => {
  const w = await start(t);
  const id = await run(w, 'eos', { count: '500', batch: '7' });
  const { commits, events } = probe('eos');
  await until(
    () => commits.at(-1)?.next === 500,
    () => `committed ${JSON.stringify(commits.at(-1))}`,
  );
  assert.deepEqual(await readValues(w, 500), values(0, 500));
  assert.equal(await committed(w, 'eos'), 500);
  await w.worker.stopTasks([id]);
  await run(w, 'eos', { count: '510', batch: '7' });
  assert.deepEqual(await readValues(w, 510), values(0, 510));
  assert.deepEqual(events, ['start at 0', 'stop', 'start at 500']);
});

test('what a failing poll has begun is never seen, nor its offset, and comes once when the task runs again', async t => {
  const w = await start(t);
  const chain = { transforms: 'f', 'transforms.f.type': 'test.Suffix$Value', 'transforms.f.suffix': 'fail' };
  const id = await run(w, 'broken', { ...chain, count: '9', batch: '2' });
  const failure = await w.failure(id);
  assert.match(failure.trace, /^\[TRANSFORM_FAILED\] v3 is not liked/);
  assert.ok([undefined, 2].includes((await committed(w, 'broken')) as number | undefined));
  await run(w, 'broken', { count: '9', batch: '2' });
  const seen = (await readValues(w, 9)).map(value => value?.replace('fail', ''));
  assert.deepEqual(seen, values(0, 9), 'v2 was written before v3 failed, in a transaction that was aborted');
});

test('a transaction does not end before there is an offset behind its records', async t => {
  const w = await start(t);
  const id = await run(w, 'late', { count: '7', 'offset.every': '5' });
  assert.deepEqual(await readValues(w, 5), values(0, 5));
  await until(
    () => probe('late').commits.length > 0,
    () => 'nothing is committed',
  );
  await w.worker.stopTasks([id]);
  assert.equal(await committed(w, 'late'), 5);
  assert.deepEqual(await readValues(w, 5), values(0, 5), 'the rest went without an offset, and is dropped');
});

test('a source that promises no offsets is not waited for', async t => {
  const w = await start(t);
  await run(w, 'unsure', { count: '4', 'offset.every': '100', unsure: 'true' });
  assert.deepEqual(await readValues(w, 4), values(0, 4));
});

test('transaction.boundary=interval: many polls share a transaction, and the stop ends it', async t => {
  const w = await start(t);
  let batches = 0;
  probe('slow').onBatch = () => void batches++;
  const id = await run(w, 'slow', { ...never, ...longTimeout, count: '50' });
  await until(
    () => batches === 50,
    () => `${batches} polls`,
  );
  assert.equal(await committed(w, 'slow'), undefined);
  await w.worker.stopTasks([id]);
  assert.equal(await committed(w, 'slow'), 50);
  assert.deepEqual(await readValues(w, 50), values(0, 50));
});

test('transaction.boundary=interval: a pause ends the transaction', async t => {
  const w = await start(t);
  let batches = 0;
  probe('resting').onBatch = () => void batches++;
  await run(w, 'resting', { ...never, ...longTimeout, count: '5' });
  await until(
    () => batches === 5,
    () => `${batches} polls`,
  );
  await w.worker.setTarget('resting', 'PAUSED');
  assert.deepEqual(await readValues(w, 5), values(0, 5));
});

test('an interval that a transaction cannot last is refused', async t => {
  const w = await start(t);
  const config = { ...never, 'producer.override.transaction.timeout.ms': '60000', count: '1' };
  const failure = await w.failure(await run(w, 'unending', config));
  assert.match(failure.trace, /^\[CONFIG_INVALID\] transaction\.timeout\.ms=60000 .* must be above/);
});

test('transaction.boundary=connector: the task ends transactions, at batches and polls, and may drop them', async t => {
  const w = await start(t);
  let n = 0;
  probe('own').onBatch = (batch, boundaries) => {
    assert.ok(boundaries);
    n++;
    if (n === 2) boundaries.commit(batch);
    else if (n === 4) boundaries.abort(batch);
    else if (n === 6) boundaries.commit();
  };
  const id = await run(w, 'own', { 'transaction.boundary': 'connector', count: '7' });
  assert.deepEqual(await readValues(w, 4), ['v0', 'v1', 'v4', 'v5']);
  await until(
    () => n === 7,
    () => `${n} polls`,
  );
  assert.deepEqual(
    probe('own').commits.map(({ next }) => next),
    [2, 4, 6],
    'the offsets of what was dropped are committed too',
  );
  await w.worker.stopTasks([id]);
  assert.equal(await committed(w, 'own'), 6, 'a stop ends no transaction of the task');
});

test('a task whose transactional.id another producer takes ends with an error that says so; a new one goes on', async t => {
  const w = await start(t);
  let polls = 0;
  probe('fenced').onBatch = () => void polls++;
  const id = await run(w, 'fenced', { count: '1000000' });
  await until(
    () => polls > 10,
    () => 'no polls',
  );
  const thief = w.worker.broker.producer({ clientId: 'thief', transactionalId: 'millrace-fenced-0' });
  t.after(() => thief.close());
  await thief.initTransactions();
  const failure = await w.failure(id);
  assert.match(
    failure.trace,
    /^\[SOURCE_TRANSACTION_FENCED\] Another producer took over transactional\.id millrace-fenced-0 /,
  );
  assert.equal(failure.retriable, true);
  const next = Number(await committed(w, 'fenced'));
  assert.deepEqual(await readValues(w, next), values(0, next));
  await run(w, 'fenced', { count: String(next + 5) });
  assert.deepEqual(await readValues(w, next + 5), values(0, next + 5));
});

test("offsets of a connector with its own topic are in the transaction there, and copied to the worker's topic", async t => {
  const w = await start(t);
  await run(w, 'apart', { count: '20', 'offsets.storage.topic': 'apart-offsets' });
  assert.deepEqual(await readValues(w, 20), values(0, 20));
  await until(
    async () => (await committed(w, 'apart')) === 20,
    () => 'no copy',
  );
  const own = await w.worker.sourceOffsets('apart', { 'offsets.storage.topic': 'apart-offsets' });
  assert.deepEqual(own[0]?.offset, { next: 20 });
});

test('exactly.once.support=required is not run at least once', async t => {
  const w = await start(t);
  const id = await w.run('strict', { ...counting, count: '1', 'exactly.once.support': 'REQUIRED' });
  assert.match((await w.failure(id)).trace, /^\[CONFIG_INVALID\] .*exactly\.once\.source\.support is not enabled/);
});

test('it works the same on task threads', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '1', 'offset.flush.interval.ms': '3600000' });
  const fields = { fields: 'id:long,name:string', iterations: '3000', 'batch.rows': '100' };
  const id = await w.run('rows', { 'connector.class': 'DatagenSource', topic: 'rows', ...fields }, 'STARTED', 1);
  assert.equal((await w.read('rows', 3000)).length, 3000);
  await w.worker.stopTasks([id]);
  assert.deepEqual((await w.worker.sourceOffsets('rows', {}))[0]?.offset, { row: 3000 });
});
