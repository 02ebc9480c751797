import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SourceTaskGuard } from '../../../../runtime/herder/distributed/sourceTaskGuard.ts';
import { FencingBench, silent } from './fencingBench.ts';

test('tasks of earlier task configs are fenced, once, and the count of the newest is written', async t => {
  const bench = await FencingBench.embedded(t);
  const { configs, fencing } = bench;
  await bench.commit(3);
  await fencing.fence('c');
  assert.equal(configs.state.taskCountRecord('c'), 3);
  const old = await Promise.all([0, 1, 2].map(index => bench.task(index)));
  assert.equal(await bench.mayWrite(old[1]!), true);

  await bench.commit(2);
  assert.equal(configs.state.isFencingPending('c'), true);
  await Promise.all([fencing.fence('c'), fencing.fence('c')]);
  assert.equal(configs.state.taskCountRecord('c'), 2);
  for (const producer of old) assert.equal(await bench.mayWrite(producer), false);

  const current = await bench.task(0);
  await fencing.fence('c');
  assert.equal(await bench.mayWrite(current), true, 'a round is made once');
});

test('a single task that replaces a single task is left to fence it itself', async t => {
  const bench = await FencingBench.embedded(t);
  await bench.commit(1);
  await bench.fencing.fence('c');
  const task = await bench.task(0);
  await bench.commit(1);
  await bench.fencing.fence('c');
  assert.equal(await bench.mayWrite(task), true);
  await bench.commit(0);
  await bench.fencing.fence('c');
  assert.equal(await bench.mayWrite(task), false, 'a stopped connector has none that could do so');
  assert.equal(bench.configs.state.taskCountRecord('c'), 0);
});

test('only the leader makes a round, and only for a connector that is there', async t => {
  const bench = await FencingBench.embedded(t);
  await bench.commit(2);
  await bench.fencing.fence('c');
  assert.equal(bench.configs.state.taskCountRecord('c'), 2);
  bench.leads = false;
  await assert.rejects(bench.fencing.fence('c'), /another worker leads/);
  bench.leads = true;
  await assert.rejects(bench.fencing.fence('unknown'), { code: 'RESOURCE_UNKNOWN' });
});

test('a task may start only while it is assigned and its task configs are the newest; a leader is waited for', async t => {
  const bench = await FencingBench.embedded(t);
  const { configs } = bench;
  await bench.commit(1);
  const generation = configs.state.taskGeneration('c');
  let isOwner = true;
  let refusals = 2;
  const guard = new SourceTaskGuard({
    configs,
    owns: () => isOwner,
    fence: async () => {
      if (refusals-- === 1) throw new Error('it is not the leader');
      return refusals < 0;
    },
    syncTimeoutMs: 5_000,
    logger: silent,
  });
  t.after(() => guard.close());
  const id = { connector: 'c', task: 0 };
  await guard.ask('fenced', id, generation);
  assert.equal(refusals, -1);
  await guard.ask('current', id, generation);
  await bench.commit(1);
  const superseded = { code: 'SOURCE_TASK_SUPERSEDED', retriable: true };
  await assert.rejects(guard.ask('current', id, generation), superseded);
  await assert.rejects(guard.ask('fenced', id, generation), superseded);
  isOwner = false;
  await assert.rejects(guard.ask('current', id, generation + 1), /not assigned to this worker/);
});
