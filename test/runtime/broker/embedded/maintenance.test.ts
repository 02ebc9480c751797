import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import {
  batchOf,
  type PlainRecord,
  pollRecords,
  produce,
  readPartition,
  transactional,
  until,
  values,
} from '../../../contract/contractTools.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

async function open(context: TestContext): Promise<EmbeddedBroker> {
  const broker = await EmbeddedBroker.open(await temporaryDir(context), quietLogger, { maintenanceIntervalMs: 20 });
  context.after(() => broker.close());
  return broker;
}

async function topic(broker: EmbeddedBroker, configs: Record<string, string>): Promise<string> {
  await broker.admin().createTopics([{ name: 't', partitions: 1, replicationFactor: -1, configs }]);
  return 't';
}

async function ends(broker: EmbeddedBroker): Promise<{ earliest: number; latest: number }> {
  const [{ earliest, latest }] = await broker.admin().offsets([{ topic: 't', partition: 0 }]);
  return { earliest, latest };
}

const minute = 60_000;

test('retention.ms removes batches whose newest record is too old, from the oldest on', async context => {
  const broker = await open(context);
  await topic(broker, { 'retention.ms': String(10 * minute) });
  const at = (ageMs: number, value: string): PlainRecord => ({ key: null, value, timestamp: Date.now() - ageMs });
  await produce(broker, 't', 0, [at(30 * minute, 'old'), at(20 * minute, 'old')]);
  await produce(broker, 't', 0, [at(30 * minute, 'kept for its neighbour'), at(minute, 'young')]);
  await produce(broker, 't', 0, [at(30 * minute, 'old, behind a young one')]);
  await until('retention', async () => (await ends(broker)).earliest === 2);
  const records = await readPartition(broker, 't', 0, 3);
  assert.deepEqual(
    records.map(record => record.offset),
    [2, 3, 4],
  );
});

test('retention.ms empties a partition; its offsets go on', async context => {
  const broker = await open(context);
  await topic(broker, { 'retention.ms': '1' });
  await produce(broker, 't', 0, values('v', 3));
  await until('retention', async () => (await ends(broker)).earliest === 3);
  const producer = broker.producer({ clientId: 'p' });
  assert.deepEqual(await producer.send([batchOf('t', 0, values('w', 1))]), [
    { topic: 't', partition: 0, baseOffset: 3n },
  ]);
});

test('retention.bytes keeps the newest batches of at least that size', async context => {
  const broker = await open(context);
  await topic(broker, { 'retention.bytes': '50000' });
  const value = 'x'.repeat(10_000);
  for (let i = 0; i < 20; i++) await produce(broker, 't', 0, [{ key: null, value }]);
  await until('retention', async () => (await ends(broker)).earliest === 15);
  await readPartition(broker, 't', 0, 5);
});

test('compaction keeps the last record of each key at its offset, in any codec', async context => {
  const broker = await open(context);
  await topic(broker, { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.01' });
  const producer = broker.producer({ clientId: 'p', compression: 'gzip' });
  for (let round = 0; round < 20; round++) await producer.send([batchOf('t', 0, values(`${round}:`, 50))]);
  await produce(broker, 't', 0, [{ key: 'last', value: 'batch' }]);
  await producer.close();
  await until('compaction', async () => (await count(broker)) === 51);
  const records = await readPartition(broker, 't', 0, 51);
  assert.deepEqual(
    records.slice(0, 50).map(({ key, value, offset }) => [key, value, offset]),
    Array.from({ length: 50 }, (_, i) => [`k${i}`, `19:${i}`, 950 + i]),
  );
  assert.deepEqual(await ends(broker), { earliest: 0, latest: 1001 });
});

test('a tombstone outlives its key by delete.retention.ms, then goes', async context => {
  const broker = await open(context);
  const configs = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.0001', 'delete.retention.ms': '600' };
  await topic(broker, configs);
  const started = Date.now();
  await produce(broker, 't', 0, [{ key: 'a', value: '1' }]);
  await produce(broker, 't', 0, [{ key: 'a', value: null }]);
  await produce(broker, 't', 0, [{ key: 'b', value: '1' }]);
  await until('compaction', async () => (await count(broker)) === 2);
  assert.equal((await readPartition(broker, 't', 0, 2))[0].value, null);
  await until('removal', async () => {
    await produce(broker, 't', 0, [{ key: 'b', value: '1' }]);
    return (await readFrom(broker)).every(record => record.key === 'b');
  });
  assert.ok(Date.now() - started >= 600, 'not before its time');
});

test('compaction drops aborted records and markers; readers of committed records see the same', async context => {
  const broker = await open(context);
  await topic(broker, { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.01' });
  const producer = await transactional(broker, 'tx');
  for (let round = 0; round < 6; round++) {
    producer.beginTransaction();
    await producer.send([batchOf('t', 0, values(`${round}:`, 3))]);
    if (round % 2 === 0) await producer.commitTransaction();
    else await producer.abortTransaction();
  }
  await producer.close();
  await produce(broker, 't', 0, [{ key: 'last', value: 'batch' }]);
  await until('compaction', async () => (await count(broker)) === 4);
  const records = await readPartition(broker, 't', 0, 4, 'read_committed');
  assert.deepEqual(
    records.map(({ value }) => value),
    ['4:0', '4:1', '4:2', 'batch'],
  );
});

/** Records of the partition as a reader of everything sees them now. */
async function readFrom(broker: EmbeddedBroker): Promise<{ key: string | null }[]> {
  const consumer = broker.consumer({ clientId: 'count', groupId: null });
  await consumer.assign([{ topic: 't', partition: 0, from: 'beginning' }]);
  const { latest } = await ends(broker);
  const records: { key: string | null }[] = [];
  await until('the end', async () => {
    records.push(...(await pollRecords(consumer, 'read_uncommitted', 20)));
    return consumer.position({ topic: 't', partition: 0 })! >= latest;
  });
  await consumer.close();
  return records;
}

async function count(broker: EmbeddedBroker): Promise<number> {
  return (await readFrom(broker)).length;
}
