import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestWorker, until } from './testWorker.ts';

const counting = { 'connector.class': 'CountingSource' };

test('tasks run in threads, which send logs, topics and metrics', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '2' });
  for (const name of ['a', 'b', 'c']) await w.run(name, { ...counting, topic: name, count: '20' });
  for (const name of ['a', 'b', 'c']) assert.equal((await w.read(name, 20)).length, 20);
  await until(
    () => w.topics.size === 3,
    () => [...w.topics].join(),
  );
  await until(
    () => w.snapshots.get('0:c')?.counters.source_record_write_total === 20,
    () => 'no metrics',
  );
  const failure = await w.failure(await w.run('d', { ...counting, 'fail.start': '1' }));
  assert.match(failure.trace, /^\[DATA_INVALID\] told to fail/);
  assert.ok(w.lines.some(l => l.message === 'the task failed' && l.level === 'debug' && l.fields.connector === 'd'));
});

test('tasks of a thread that ends fail, and run again on another', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '1' });
  const config = { ...counting, topic: 't', count: '10' };
  const id = await w.run('ended', config);
  const committed = async (): Promise<unknown> => (await w.worker.sourceOffsets('ended', {}))[0]?.offset.next;
  await until(
    async () => (await committed()) === 10,
    () => 'not committed',
  );
  assert.equal(await w.worker.terminateThreadOf(id), true);
  const failure = await w.failure(id);
  assert.match(failure.trace, /^\[WORKER_THREAD_ENDED\]/);
  assert.equal(failure.retriable, true);
  await w.run('ended', { ...config, count: '15' });
  const records = await w.read('t', 15);
  assert.equal(records.at(-1)!.value, 'v14');
});

test('a task that never returns is given up with its thread; the worker goes on', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '1', 'task.shutdown.graceful.timeout.ms': '200' });
  await w.write('in', [{ value: 'x' }]);
  const neighbour = await w.run('neighbour', { ...counting, topic: 't', count: '1' });
  await w.waitState(neighbour, 'RUNNING');
  const stuck = await w.run('stuck', { 'connector.class': 'KeepingSink', topics: 'in', 'hang.start': '1' });
  await w.worker.stopTasks([stuck]);
  assert.match((await w.failure(neighbour)).trace, /^\[WORKER_THREAD_ENDED\].*did not answer/);
  await w.waitState(await w.run('neighbour', { ...counting, topic: 't', count: '2' }), 'RUNNING');
});

test('task.isolation=thread gives a task a thread of its own', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '1' });
  const config = { ...counting, topic: 't', count: '5', 'task.isolation': 'thread' };
  const alone = await w.run('alone', config);
  const shared = await w.run('shared', { ...counting, topic: 't', count: '5' });
  await w.read('t', 10);
  await w.worker.terminateThreadOf(alone);
  await w.waitState(alone, 'FAILED');
  assert.equal(w.state(shared), 'RUNNING');
});
