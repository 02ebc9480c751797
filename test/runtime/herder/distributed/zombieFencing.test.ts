import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectBroker } from '../../../../runtime/broker/connectBroker.ts';
import type { Broker, Producer } from '../../../../runtime/broker/port.ts';
import { SourceTaskGuard } from '../../../../runtime/herder/distributed/sourceTaskGuard.ts';
import { ZombieFencing } from '../../../../runtime/herder/distributed/zombieFencing.ts';
import { connectorRecord, taskRecords } from '../../../../runtime/herder/stores/configState.ts';
import { ConfigStore } from '../../../../runtime/herder/stores/configStore.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

interface Bench {
  readonly broker: Broker;
  readonly configs: ConfigStore;
  readonly fencing: ZombieFencing;
  leads: boolean;
  commit(tasks: number): Promise<void>;
  /** The producer of a task, which may write. */
  task(index: number): Promise<Producer>;
}

async function setUp(t: TestContext): Promise<Bench> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-fencing-'));
  const broker = await connectBroker({ kind: 'embedded', dataDir }, silent);
  const spec = { name: 'configs', partitions: 1, replicationFactor: 1 };
  const configs = await ConfigStore.follow({ broker, spec, create: true, clientId: 'test', logger: silent }, () => {});
  t.after(async () => {
    await configs.close();
    await broker.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const requireLeader = (): void => {
    if (!bench.leads) throw new Error('another worker leads');
  };
  const bench: Bench = {
    broker,
    configs,
    leads: true,
    fencing: new ZombieFencing({ broker, groupId: 'g', configs, requireLeader, syncTimeoutMs: 5_000, logger: silent }),
    commit: tasks => configs.write(taskRecords('c', Array(tasks).fill({}))),
    task: async index => {
      const producer = broker.producer({ clientId: 'task', transactionalId: `g-c-${index}` });
      await producer.initTransactions();
      return producer;
    },
  };
  await configs.write([connectorRecord('c', { name: 'c' })]);
  return bench;
}

async function mayWrite({ broker }: Bench, producer: Producer): Promise<boolean> {
  await broker.admin().createTopics([{ name: 't', partitions: 1, replicationFactor: 1 }]);
  try {
    producer.beginTransaction();
    await producer.sendOffsets('any', [{ topic: 't', partition: 0, offset: 1 }]);
    await producer.commitTransaction();
    return true;
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'BROKER_PRODUCER_FENCED');
    return false;
  }
}

test('tasks of earlier task configs are fenced, once, and the count of the newest is written', async t => {
  const bench = await setUp(t);
  const { configs, fencing } = bench;
  await bench.commit(3);
  await fencing.fence('c');
  assert.equal(configs.state.taskCountRecord('c'), 3);
  const old = await Promise.all([0, 1, 2].map(index => bench.task(index)));
  assert.equal(await mayWrite(bench, old[1]!), true);

  await bench.commit(2);
  assert.equal(configs.state.isFencingPending('c'), true);
  await Promise.all([fencing.fence('c'), fencing.fence('c')]);
  assert.equal(configs.state.taskCountRecord('c'), 2);
  for (const producer of old) assert.equal(await mayWrite(bench, producer), false);

  const current = await bench.task(0);
  await fencing.fence('c');
  assert.equal(await mayWrite(bench, current), true, 'a round is made once');
});

test('a single task that replaces a single task is left to fence it itself', async t => {
  const bench = await setUp(t);
  await bench.commit(1);
  await bench.fencing.fence('c');
  const task = await bench.task(0);
  await bench.commit(1);
  await bench.fencing.fence('c');
  assert.equal(await mayWrite(bench, task), true);
  await bench.commit(0);
  await bench.fencing.fence('c');
  assert.equal(await mayWrite(bench, task), false, 'a stopped connector has none that could do so');
  assert.equal(bench.configs.state.taskCountRecord('c'), 0);
});

test('a round ends without a record where the leader changes, or newer task configs come meanwhile', async t => {
  const bench = await setUp(t);
  await bench.commit(2);
  await bench.fencing.fence('c');
  await bench.commit(3);
  const round = bench.fencing.fence('c');
  await bench.commit(4);
  await assert.rejects(round, { code: 'SOURCE_TASK_SUPERSEDED', retriable: true });
  assert.equal(bench.configs.state.taskCountRecord('c'), 2);
  bench.leads = false;
  await assert.rejects(bench.fencing.fence('c'), /another worker leads/);
  await assert.rejects(
    new ZombieFencing({
      broker: bench.broker,
      groupId: 'g',
      configs: bench.configs,
      requireLeader: () => {},
      syncTimeoutMs: 5_000,
      logger: silent,
    }).fence('unknown'),
    { code: 'RESOURCE_UNKNOWN' },
  );
});

test('a task may start only while it is assigned and its task configs are the newest; a leader is waited for', async t => {
  const { configs, commit } = await setUp(t);
  await commit(1);
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
  await commit(1);
  const superseded = { code: 'SOURCE_TASK_SUPERSEDED', retriable: true };
  await assert.rejects(guard.ask('current', id, generation), superseded);
  await assert.rejects(guard.ask('fenced', id, generation), superseded);
  isOwner = false;
  await assert.rejects(guard.ask('current', id, generation + 1), /not assigned to this worker/);
});
