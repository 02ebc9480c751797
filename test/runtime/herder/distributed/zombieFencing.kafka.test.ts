/** Rounds of fencing on Kafka itself: what its coordinator makes of old producers, and a round that new task configs overtake. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProducerOptions } from '../../../../runtime/broker/port.ts';
import { FencingBench } from './fencingBench.ts';

const settings = {
  kind: 'kafka',
  settings: { 'bootstrap.servers': process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092' },
} as const;

test('producers of earlier tasks are fenced by a round, those of the newest are not', async t => {
  const bench = await FencingBench.on(t, settings);
  await bench.commit(2);
  await bench.fencing.fence('c');
  const old = await Promise.all([0, 1].map(index => bench.task(index)));
  assert.equal(await bench.mayWrite(old[0]!), true);
  await bench.commit(3);
  await bench.fencing.fence('c');
  for (const producer of old) assert.equal(await bench.mayWrite(producer), false);
  const current = await bench.task(0);
  await bench.fencing.fence('c');
  assert.equal(await bench.mayWrite(current), true);
});

test('a round that newer task configs overtake lets no task start, and the next one does', async t => {
  const bench = await FencingBench.on(t, settings);
  const { broker, configs } = bench;
  await bench.commit(2);
  await bench.fencing.fence('c');
  const overtaken = await bench.task(1);
  await bench.commit(3);
  const generation = configs.state.taskGeneration('c');

  let goOn = (): void => {};
  const held = new Promise<void>(resolve => {
    goOn = resolve;
  });
  const slow = bench.fencingBy({
    producer: (options: ProducerOptions) => {
      const producer = broker.producer(options);
      const init = producer.initTransactions.bind(producer);
      producer.initTransactions = () => held.then(init);
      return producer;
    },
  });
  const round = slow.fence('c');
  await bench.commit(4);
  assert.notEqual(configs.state.taskGeneration('c'), generation);
  goOn();
  await assert.rejects(round, { code: 'SOURCE_TASK_SUPERSEDED', retriable: true });
  assert.equal(configs.state.isFencingPending('c'), true, 'the round does not count for the newer task configs');
  assert.equal(configs.state.taskCountRecord('c'), 2, 'nor does its number of tasks');

  const between = await bench.task(0);
  await slow.fence('c');
  assert.equal(configs.state.taskCountRecord('c'), 4);
  for (const producer of [overtaken, between]) assert.equal(await bench.mayWrite(producer), false);
});
