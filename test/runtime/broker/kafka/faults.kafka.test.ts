import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import type { Consumer, Producer } from '../../../../runtime/broker/port.ts';
import { batchOf, pollRecords, type ReadRecord, randomName, until } from '../../../contract/contractTools.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';
import { OwnKafka } from './ownKafka.ts';

const kafka = new OwnKafka(20_120);
let broker: KafkaBroker;
before(async () => {
  await kafka.start();
  broker = await KafkaBroker.connect({ 'bootstrap.servers': kafka.bootstrap }, quietLogger);
});
after(async () => {
  await broker.close();
  await kafka.clean();
});

async function newTopic(partitions: number): Promise<string> {
  const name = randomName('faults');
  await broker.admin().createTopics([{ name, partitions, replicationFactor: 1 }]);
  return name;
}

/** While others read; starting a broker takes long on a busy machine. */
async function untilRead(records: readonly ReadRecord[], count: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (records.length < count) {
    assert.ok(Date.now() < deadline, `only ${records.length} of ${count} records came`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

/** Sends numbered records to all partitions, several sends under way, until told to stop; returns how many per partition. */
async function writeUntil(producer: Producer, topic: string, partitions: number, stop: () => boolean): Promise<number> {
  let next = 0;
  const underWay = new Set<Promise<unknown>>();
  while (!stop()) {
    const batches = Array.from({ length: partitions }, (_, partition) =>
      batchOf(
        topic,
        partition,
        Array.from({ length: 20 }, (_, i) => ({ key: null, value: String(next + i) })),
      ),
    );
    next += 20;
    const sending = producer.send(batches).finally(() => underWay.delete(sending));
    underWay.add(sending);
    if (underWay.size >= 8) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  return next;
}

async function readInto(consumer: Consumer, records: ReadRecord[], done: () => boolean): Promise<void> {
  while (!done()) for (const record of await pollRecords(consumer, 'read_uncommitted', 100)) records.push(record);
}

test('kill -9 of the broker while writing and reading: every record once, in order, without a call that fails', async () => {
  const partitions = 3;
  const topic = await newTopic(partitions);
  const producer = broker.producer({ clientId: 'writer', compression: 'lz4' });
  const consumer = broker.consumer({
    clientId: 'reader',
    groupId: randomName('group'),
    autoOffsetReset: 'earliest',
    // A broker may take longer to start than a usual session lasts; a member whose session is over reads again from what it committed.
    settings: { 'session.timeout.ms': '600000' },
  });
  await consumer.subscribe([topic]);
  const records: ReadRecord[] = [];
  let stop = false;
  let written = Number.POSITIVE_INFINITY;
  const writing = writeUntil(producer, topic, partitions, () => stop).then(count => {
    written = count;
  });
  const reading = readInto(consumer, records, () => records.length >= written * partitions);
  for (let round = 0; round < 3; round++) {
    await untilRead(records, records.length + 1000);
    await kafka.kill();
    await kafka.start();
  }
  await untilRead(records, records.length + 1000);
  stop = true;
  await writing;
  await reading;
  for (let partition = 0; partition < partitions; partition++) {
    const read = records.filter(r => r.partition === partition).map(r => Number(r.value));
    assert.equal(read.length, written, `partition ${partition}`);
    assert.ok(
      read.every((value, i) => value === i),
      `order of partition ${partition}`,
    );
  }
  await consumer.commit([{ topic, partition: 0, offset: written }]);
  await consumer.close();
  await producer.close();
});

test('kill -9 of the broker in a transaction: it commits whole after the return', async () => {
  const topic = await newTopic(1);
  const producer = broker.producer({ clientId: 'transactional', transactionalId: randomName('id') });
  await producer.initTransactions();
  producer.beginTransaction();
  await producer.send([batchOf(topic, 0, [{ key: null, value: 'a' }])]);
  await kafka.kill();
  const second = producer.send([batchOf(topic, 0, [{ key: null, value: 'b' }])]);
  await kafka.start();
  await second;
  await producer.commitTransaction();
  const consumer = broker.consumer({ clientId: 'reader', groupId: null, isolation: 'read_committed' });
  await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
  const records: ReadRecord[] = [];
  await until('both', async () => {
    records.push(...(await pollRecords(consumer, 'read_committed')));
    return records.length >= 2;
  });
  assert.deepEqual(
    records.map(r => r.value),
    ['a', 'b'],
  );
  await consumer.close();
  await producer.close();
});

test('delivery.timeout.ms bounds how long a broker that is gone is waited for', async () => {
  const topic = await newTopic(1);
  const producer = broker.producer({ clientId: 'bounded', deliveryTimeoutMs: 1500 });
  await producer.send([batchOf(topic, 0, [{ key: null, value: 'a' }])]);
  await kafka.kill();
  const error = await producer.send([batchOf(topic, 0, [{ key: null, value: 'b' }])]).catch(e => e);
  assert.equal(error.code, 'BROKER_DELIVERY_TIMEOUT');
  assert.equal(error.retriable, true);
  await producer.close();
  const unborn = broker.producer({ clientId: 'never had an id', deliveryTimeoutMs: 500 });
  await assert.rejects(unborn.send([batchOf(topic, 0, [{ key: null, value: 'c' }])]), {
    code: 'BROKER_DELIVERY_TIMEOUT',
  });
  await unborn.close();
  await kafka.start();
});
