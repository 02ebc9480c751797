/** Transactions: what readers see when, offsets within them, and fencing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractContext } from './brokerContract.ts';
import {
  batchOf,
  hasCode,
  pollRecords,
  produce,
  randomName,
  readCount,
  readPartition,
  transactional,
  values,
} from './contractTools.ts';

export function transactionContract(context: ContractContext): void {
  test('committed records are seen, aborted ones are not, by read_committed', async () => {
    const topic = await context.topic(2);
    const producer = await transactional(context.broker, randomName('tx'));
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('kept', 3)), batchOf(topic, 1, values('kept', 1))]);
    await producer.commitTransaction();
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('dropped', 2))]);
    await producer.abortTransaction();
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('also', 2))]);
    await producer.commitTransaction();
    await producer.close();

    const committed = await readPartition(context.broker, topic, 0, 5, 'read_committed');
    assert.deepEqual(
      committed.map(({ value }) => value),
      ['kept0', 'kept1', 'kept2', 'also0', 'also1'],
    );
    const all = await readPartition(context.broker, topic, 0, 7, 'read_uncommitted');
    assert.deepEqual(
      all.map(({ offset }) => offset),
      [0, 1, 2, 4, 5, 7, 8],
      'markers take an offset each',
    );
    const [{ latest }] = await context.broker.admin().offsets([{ topic, partition: 0 }]);
    assert.equal(latest, 10);
  });

  test('an open transaction holds read_committed back, also what others wrote after it', async () => {
    const topic = await context.topic(1);
    const producer = await transactional(context.broker, randomName('tx'));
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('open', 1))]);
    await produce(context.broker, topic, 0, values('after', 1));

    const committed = context.broker.consumer({ clientId: 'rc', groupId: null, isolation: 'read_committed' });
    await committed.assign([{ topic, partition: 0, from: 'beginning' }]);
    assert.deepEqual(await pollRecords(committed, 'read_committed', 500), []);
    await readPartition(context.broker, topic, 0, 2, 'read_uncommitted');

    await producer.commitTransaction();
    await producer.close();
    const records = await readCount(committed, 2, 'read_committed');
    assert.deepEqual(
      records.map(({ value }) => value),
      ['open0', 'after0'],
    );
    await committed.close();
  });

  test('a position moves past aborted records and markers at the end', async () => {
    const topic = await context.topic(1);
    const producer = await transactional(context.broker, randomName('tx'));
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('dropped', 4))]);
    await producer.abortTransaction();
    await producer.close();
    const consumer = context.broker.consumer({ clientId: 'rc', groupId: null, isolation: 'read_committed' });
    await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
    for (let polls = 0; polls < 100 && consumer.position({ topic, partition: 0 }) !== 5; polls++)
      assert.deepEqual(await pollRecords(consumer, 'read_committed'), []);
    assert.equal(consumer.position({ topic, partition: 0 }), 5);
    await consumer.close();
  });

  test('offsets sent in a transaction are committed with it, or not at all', async () => {
    const topic = await context.topic(1);
    const groupId = context.group();
    const admin = context.broker.admin();
    const producer = await transactional(context.broker, randomName('tx'));
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('v', 1))]);
    await producer.sendOffsets(groupId, [{ topic, partition: 0, offset: 7 }]);
    await producer.abortTransaction();
    assert.deepEqual(await admin.groupOffsets(groupId), []);
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('v', 1))]);
    await producer.sendOffsets(groupId, [{ topic, partition: 0, offset: 9 }]);
    await producer.commitTransaction();
    await producer.close();
    assert.deepEqual(
      (await admin.groupOffsets(groupId)).map(({ offset }) => offset),
      [9],
    );
  });

  test('a newer producer of the id fences the older one and aborts what it left open', async () => {
    const topic = await context.topic(1);
    const transactionalId = randomName('tx');
    const older = await transactional(context.broker, transactionalId);
    older.beginTransaction();
    await older.send([batchOf(topic, 0, values('older', 2))]);
    const newer = await transactional(context.broker, transactionalId);
    await assert.rejects(older.send([batchOf(topic, 0, values('zombie', 1))]), hasCode('BROKER_PRODUCER_FENCED'));
    await assert.rejects(older.commitTransaction(), hasCode('BROKER_PRODUCER_FENCED'));
    newer.beginTransaction();
    await newer.send([batchOf(topic, 0, values('newer', 1))]);
    await newer.commitTransaction();
    await older.close();
    await newer.close();
    const records = await readPartition(context.broker, topic, 0, 1, 'read_committed');
    assert.deepEqual(
      records.map(({ value }) => value),
      ['newer0'],
    );
  });

  test('a transaction that takes too long is aborted and its producer fenced', async () => {
    const topic = await context.topic(1);
    const transactionalId = randomName('tx');
    const producer = context.broker.producer({ clientId: 'slow', transactionalId, transactionTimeoutMs: 1000 });
    await producer.initTransactions();
    producer.beginTransaction();
    await producer.send([batchOf(topic, 0, values('late', 1))]);
    const reader = context.broker.consumer({ clientId: 'rc', groupId: null, isolation: 'read_committed' });
    await reader.assign([{ topic, partition: 0, from: 'beginning' }]);
    // Kafka looks for such transactions every 10 s by default.
    const deadline = Date.now() + 30_000;
    while (reader.position({ topic, partition: 0 }) !== 2 && Date.now() < deadline)
      assert.deepEqual(await pollRecords(reader, 'read_committed'), []);
    assert.equal(reader.position({ topic, partition: 0 }), 2, 'past the record and the marker');
    await assert.rejects(producer.commitTransaction(), hasCode('BROKER_PRODUCER_FENCED'));
    await producer.close();
    await reader.close();
  });

  test('calls that the state does not allow are refused', async () => {
    const topic = await context.topic(1);
    const producer = await transactional(context.broker, randomName('tx'));
    await assert.rejects(producer.commitTransaction(), hasCode('BROKER_TRANSACTION_STATE'));
    await producer.close();
    const outside = await transactional(context.broker, randomName('tx'));
    await assert.rejects(outside.send([batchOf(topic, 0, values('v', 1))]), hasCode('BROKER_TRANSACTION_STATE'));
    await outside.close();
  });
}
