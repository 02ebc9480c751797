/** Records in, the same records out: order, offsets, contents, sizes; and how a consumer moves over a partition. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Compression } from '../../runtime/broker/port.ts';
import type { ContractContext } from './brokerContract.ts';
import {
  batchOf,
  hasCode,
  pollRecords,
  produce,
  randomName,
  readCount,
  readPartition,
  until,
  values,
} from './contractTools.ts';

const codecs: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

export function recordContract(context: ContractContext): void {
  test('records come back in order, with the offsets that send named', async () => {
    const topic = await context.topic(2);
    const producer = context.broker.producer({ clientId: 'order' });
    const first = await producer.send([batchOf(topic, 0, values('a', 3)), batchOf(topic, 1, values('b', 2))]);
    const second = await producer.send([batchOf(topic, 0, values('c', 2))]);
    await producer.close();
    assert.deepEqual(first, [
      { topic, partition: 0, baseOffset: 0n },
      { topic, partition: 1, baseOffset: 0n },
    ]);
    assert.deepEqual(second, [{ topic, partition: 0, baseOffset: 3n }]);
    const records = await readPartition(context.broker, topic, 0, 5);
    assert.deepEqual(
      records.map(({ offset, value }) => [offset, value]),
      [
        [0, 'a0'],
        [1, 'a1'],
        [2, 'a2'],
        [3, 'c0'],
        [4, 'c1'],
      ],
    );
  });

  test('sends that are under way together keep their order', async () => {
    const topic = await context.topic(1);
    const producer = context.broker.producer({ clientId: 'pipeline', compression: 'gzip' });
    const sizes = Array.from({ length: 40 }, (_, i) => 1 + ((i * 37) % 200));
    await Promise.all(sizes.map((size, i) => producer.send([batchOf(topic, 0, values(`${i}:`, size))])));
    await producer.close();
    const expected = sizes.flatMap((size, i) => values(`${i}:`, size).map(record => record.value));
    const records = await readPartition(context.broker, topic, 0, expected.length);
    assert.deepEqual(
      records.map(record => record.value),
      expected,
    );
  });

  for (const acks of [-1, 0] as const) {
    test(`memory of a settled send may be written over: acks=${acks}`, async () => {
      const topic = await context.topic(1);
      const producer = context.broker.producer({ clientId: 'reuse', acks, idempotent: false });
      const expected = Array.from({ length: 20 }, (_, i) => String.fromCharCode(97 + i).repeat(900_000));
      // More than the buffers of a connection hold.
      await Promise.all(
        expected.map(async value => {
          const batch = batchOf(topic, 0, [{ key: null, value }]);
          await producer.send([batch]);
          batch.bytes.fill(0x7a);
        }),
      );
      await producer.close();
      const records = await readPartition(context.broker, topic, 0, expected.length);
      assert.deepEqual(
        records.map(record => record.value === expected[record.offset]),
        expected.map(() => true),
      );
    });
  }

  test('close waits for what is under way', async () => {
    const topic = await context.topic(1);
    const producer = context.broker.producer({ clientId: 'closing' });
    const sent = producer.send([batchOf(topic, 0, values('a', 100))]);
    await producer.close();
    assert.deepEqual(await sent, [{ topic, partition: 0, baseOffset: 0n }]);
    await assert.rejects(producer.send([batchOf(topic, 0, values('b', 1))]), hasCode('BROKER_PRODUCER_CLOSED'));
  });

  test('null, empty and present keys, values and headers are kept apart, and timestamps kept', async () => {
    const topic = await context.topic(1);
    const now = Date.now();
    const headers = [
      { name: 'h', value: 'x' },
      { name: 'none', value: null },
      { name: '', value: '' },
      { name: 'h', value: 'again' },
    ];
    const written = [
      { key: null, value: null, headers: [], timestamp: now },
      { key: '', value: '', headers, timestamp: now - 5000 },
      { key: 'k', value: null, headers: [], timestamp: now + 1 },
      { key: null, value: 'žluťoučký', headers: [], timestamp: now },
    ];
    await produce(context.broker, topic, 0, written);
    const records = await readPartition(context.broker, topic, 0, 4);
    assert.deepEqual(
      records,
      written.map((record, offset) => ({ topic, partition: 0, offset, ...record })),
    );
  });

  for (const compression of codecs)
    test(`records compressed with ${compression} come back`, async () => {
      const topic = await context.topic(1);
      const producer = context.broker.producer({ clientId: compression, compression });
      await producer.send([batchOf(topic, 0, values('x'.repeat(100), 2000))]);
      await producer.close();
      const records = await readPartition(context.broker, topic, 0, 2000);
      assert.deepEqual(
        records.map(({ key, value }) => ({ key, value })),
        values('x'.repeat(100), 2000),
      );
    });

  test('a batch larger than a request is split, in order', async () => {
    const topic = await context.topic(1);
    const producer = context.broker.producer({ clientId: 'split', maxRequestBytes: 50_000 });
    const records = values('y'.repeat(990), 300);
    await producer.send([batchOf(topic, 0, records)]);
    await producer.close();
    const read = await readPartition(context.broker, topic, 0, 300);
    assert.deepEqual(
      read.map(record => record.value),
      records.map(record => record.value),
    );
  });

  test('a record that is larger than a request is refused, and the producer has failed for good', async () => {
    const topic = await context.topic(1);
    const producer = context.broker.producer({ clientId: 'large', maxRequestBytes: 100_000 });
    const large = [{ key: 'k', value: 'z'.repeat(100_001) }];
    await assert.rejects(producer.send([batchOf(topic, 0, large)]), hasCode('BROKER_RECORD_TOO_LARGE'));
    await assert.rejects(producer.send([batchOf(topic, 0, values('a', 1))]), hasCode('BROKER_RECORD_TOO_LARGE'));
    await producer.close();
    const [{ latest }] = await context.broker.admin().offsets([{ topic, partition: 0 }]);
    assert.equal(latest, 0);
  });

  test('a record that is larger than the topic allows is refused', async () => {
    const topic = await context.topic(1, { 'max.message.bytes': '20000' });
    const producer = context.broker.producer({ clientId: 'large', maxRequestBytes: 1_000_000 });
    const large = [{ key: 'k', value: 'z'.repeat(30_000) }];
    await assert.rejects(producer.send([batchOf(topic, 0, large)]), hasCode('BROKER_RECORD_TOO_LARGE'));
    await producer.close();
  });

  test('a large record within the limits is read whole, whatever the consumer asks for', async () => {
    const topic = await context.topic(1, { 'max.message.bytes': '4000000' });
    const producer = context.broker.producer({ clientId: 'large', maxRequestBytes: 4_000_000 });
    const value = 'v'.repeat(3_000_000);
    await producer.send([batchOf(topic, 0, [{ key: 'k', value }])]);
    await producer.close();
    const consumer = context.broker.consumer({ clientId: 'c', groupId: null, maxBytes: 1000, maxPartitionBytes: 1000 });
    await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
    const [record] = await readCount(consumer, 1);
    await consumer.close();
    assert.equal(record.value?.length, value.length);
  });

  test('assign starts at the beginning, at the end or at an offset', async () => {
    const topic = await context.topic(3);
    for (const partition of [0, 1, 2]) await produce(context.broker, topic, partition, values(`p${partition}-`, 5));
    const consumer = context.broker.consumer({ clientId: 'assign', groupId: null });
    await consumer.assign([
      { topic, partition: 0, from: 'beginning' },
      { topic, partition: 1, from: 'end' },
      { topic, partition: 2, from: 3 },
    ]);
    const records = await readCount(consumer, 7);
    assert.equal(records.filter(record => record.partition === 0).length, 5);
    assert.deepEqual(
      records.filter(record => record.partition === 2).map(record => record.value),
      ['p2-3', 'p2-4'],
    );
    await produce(context.broker, topic, 1, values('later', 1));
    const [later] = await readCount(consumer, 1);
    assert.deepEqual([later.partition, later.offset, later.value], [1, 5, 'later0']);
    assert.deepEqual(
      [0, 1, 2].map(partition => consumer.position({ topic, partition })),
      [5, 6, 5],
    );
    await consumer.close();
  });

  test('seek moves back and forth; a position past the end is reset', async () => {
    const topic = await context.topic(1);
    const partition = { topic, partition: 0 };
    await produce(context.broker, topic, 0, values('v', 10));
    const consumer = context.broker.consumer({ clientId: 'seek', groupId: null, autoOffsetReset: 'earliest' });
    await consumer.assign([{ ...partition, from: 'beginning' }]);
    await readCount(consumer, 10);
    consumer.seek(partition, 7);
    assert.equal(consumer.position(partition), 7);
    assert.deepEqual(
      (await readCount(consumer, 3)).map(record => record.offset),
      [7, 8, 9],
    );
    consumer.seek(partition, 1000);
    assert.equal((await readCount(consumer, 10))[0].offset, 0);
    await consumer.close();
  });

  test('without auto.offset.reset a position past the end fails', async () => {
    const topic = await context.topic(1);
    await produce(context.broker, topic, 0, values('v', 1));
    const consumer = context.broker.consumer({ clientId: 'none', groupId: null, autoOffsetReset: 'none' });
    await consumer.assign([{ topic, partition: 0, from: 50 }]);
    await assert.rejects(
      until('error', async () => (await pollRecords(consumer)).length > 0),
      hasCode('BROKER_OFFSET_OUT_OF_RANGE'),
    );
    await consumer.close();
  });

  test('a paused partition gives nothing until it is resumed, others go on', async () => {
    const topic = await context.topic(2);
    const paused = { topic, partition: 0 };
    const consumer = context.broker.consumer({ clientId: 'pause', groupId: null });
    await consumer.assign([
      { topic, partition: 0, from: 'beginning' },
      { topic, partition: 1, from: 'beginning' },
    ]);
    consumer.pause([paused]);
    await produce(context.broker, topic, 0, values('a', 3));
    await produce(context.broker, topic, 1, values('b', 3));
    assert.ok((await readCount(consumer, 3)).every(record => record.partition === 1));
    assert.deepEqual(await pollRecords(consumer), []);
    consumer.resume([paused]);
    assert.ok((await readCount(consumer, 3)).every(record => record.partition === 0));
    await consumer.close();
  });

  test('poll waits for records, ends with the timeout and with the signal', async () => {
    const topic = await context.topic(1);
    const consumer = context.broker.consumer({ clientId: 'wait', groupId: null });
    await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
    await pollRecords(consumer);

    const started = performance.now();
    assert.deepEqual(await consumer.poll(300), []);
    const waitedMs = performance.now() - started;
    assert.ok(waitedMs >= 290 && waitedMs < 3000, `poll(300) took ${waitedMs} ms`);

    const abort = new AbortController();
    const aborted = consumer.poll(60_000, abort.signal);
    setImmediate(() => abort.abort());
    assert.deepEqual(await aborted, []);

    const waiting = consumer.poll(20_000);
    await produce(context.broker, topic, 0, values('a', 1));
    assert.equal((await waiting).length, 1);
    assert.ok(performance.now() - started < 15_000, 'none of the three waited for its timeout');
    await consumer.close();
  });

  test('a poll returns no more than maxBytes when batches are smaller', async () => {
    const topic = await context.topic(1);
    const producer = context.broker.producer({ clientId: 'bytes' });
    for (let i = 0; i < 20; i++) await producer.send([batchOf(topic, 0, [{ key: null, value: 'x'.repeat(10_000) }])]);
    await producer.close();
    const consumer = context.broker.consumer({
      clientId: randomName('bytes'),
      groupId: null,
      maxBytes: 50_000,
      maxPartitionBytes: 50_000,
    });
    await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
    let polled: Awaited<ReturnType<typeof consumer.poll>> = [];
    await until('records', async () => {
      polled = await consumer.poll(200);
      return polled.length > 0;
    });
    assert.ok(polled[0].bytes.length > 9_000 && polled[0].bytes.length <= 50_000, `${polled[0].bytes.length} bytes`);
    await consumer.close();
  });
}
