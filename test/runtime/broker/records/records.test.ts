import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Compression, FetchedPartition } from '../../../../runtime/broker/port.ts';
import {
  at,
  decodeHeaders,
  encodeHeaders,
  noHeaders,
  partitionForKey,
  RecordBatchBuilder,
  type RecordColumns,
  readRecords,
  sealBatch,
  splitBatch,
} from '../../../../runtime/broker/records/index.ts';
import { murmur2 } from '../../../../runtime/broker/records/partitionForKey.ts';
import { ConnectError } from '../../../../schemas/errors.ts';

const none = { producerId: -1n, producerEpoch: -1, baseSequence: -1, transactional: false } as const;
const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

interface Row {
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
  headers?: readonly { name: string; value: Uint8Array | null }[];
}

function build(rows: readonly Row[], baseTimestamp = 1_700_000_000_000): RecordBatchBuilder {
  const builder = new RecordBatchBuilder('t', 3, baseTimestamp);
  for (const { timestamp, key, value, headers } of rows)
    builder.append(
      timestamp,
      key ?? Buffer.alloc(0),
      key ? 0 : -1,
      key?.length ?? -1,
      value ?? Buffer.alloc(0),
      value ? 0 : -1,
      value?.length ?? -1,
      headers ? encodeHeaders(headers) : noHeaders,
    );
  return builder;
}

function fetched(bytes: Buffer, more: Partial<FetchedPartition> = {}): FetchedPartition {
  return {
    topic: 't',
    partition: 3,
    bytes,
    fetchOffset: 0,
    highWatermark: 1e6,
    lastStableOffset: 1e6,
    abortedTransactions: [],
    ...more,
  };
}

function rowsOf(columns: RecordColumns): (Row & { offset: number })[] {
  const range = (start: number, end: number): Buffer | null => (start < 0 ? null : columns.bytes.subarray(start, end));
  return Array.from({ length: columns.count }, (_, i) => ({
    offset: columns.offsets[i]!,
    timestamp: columns.timestamps[i]!,
    key: range(columns.keyStarts[i]!, columns.keyEnds[i]!),
    value: range(columns.valueStarts[i]!, columns.valueEnds[i]!),
    headers: decodeHeaders(columns.bytes, columns.headerStarts[i]!, columns.headerEnds[i]!),
  }));
}

function sampleRows(count: number): Row[] {
  return Array.from({ length: count }, (_, i) => ({
    timestamp: 1_700_000_000_000 + (i % 7 === 0 ? -40 * 86_400_000 * i : i),
    key: i % 5 === 0 ? null : Buffer.from(`key-${i}`),
    value: i % 4 === 0 ? null : Buffer.alloc(i * 13, i),
    headers:
      i % 3 === 0
        ? [
            { name: 'hé', value: Buffer.from([i]) },
            { name: 'n', value: null },
          ]
        : [],
  }));
}

function setOffset(batch: Buffer, offset: number): Buffer {
  batch.writeBigInt64BE(BigInt(offset), at.baseOffset);
  return batch;
}

for (const compression of compressions)
  test(`records come back as written, ${compression}`, async () => {
    const rows = sampleRows(300);
    const first = setOffset(await sealBatch(build(rows).finish(), { compression, ...none }), 1000);
    const second = setOffset(await sealBatch(build(rows).finish(), { compression, ...none }), 1300);
    const whole = Buffer.concat([first, second]);
    const cut = Buffer.concat([whole, first.subarray(0, first.length - 1)]);
    const columns = await readRecords(fetched(cut, { fetchOffset: 1000 }), 'read_uncommitted');
    const expected = [...rows, ...rows].map((row, i) => ({ ...row, offset: 1000 + i }));
    assert.deepEqual(rowsOf(columns), expected);
    assert.equal(columns.nextOffset, 1600);
  });

test('records below the fetch offset are left out', async () => {
  const bytes = setOffset(await sealBatch(build(sampleRows(10)).finish(), { compression: 'none', ...none }), 20);
  const columns = await readRecords(fetched(bytes, { fetchOffset: 27 }), 'read_uncommitted');
  assert.deepEqual([...columns.offsets.subarray(0, columns.count)], [27, 28, 29]);
});

test('read_committed leaves out aborted transactions and control records, and only those', async () => {
  const row = (name: string): Row[] => [{ timestamp: 1, key: null, value: Buffer.from(name) }];
  const write = async (name: string, producerId: bigint, offset: number, transactional: boolean): Promise<Buffer> =>
    setOffset(
      await sealBatch(build(row(name)).finish(), {
        compression: 'none',
        producerId,
        producerEpoch: 0,
        baseSequence: 0,
        transactional,
      }),
      offset,
    );
  const marker = async (producerId: bigint, offset: number): Promise<Buffer> => {
    const bytes = await write('', producerId, offset, true);
    bytes.writeInt16BE(0x30, at.attributes);
    return bytes;
  };
  const bytes = Buffer.concat([
    await write('aborted', 7n, 0, true),
    await write('plain', -1n, 1, false),
    await write('committed', 8n, 2, true),
    await marker(7n, 3),
    await write('second of 7', 7n, 4, true),
    await marker(8n, 5),
    await marker(7n, 6),
  ]);
  const log = fetched(bytes, { abortedTransactions: [{ producerId: 7n, firstOffset: 0n }] });
  const values = async (isolation: 'read_committed' | 'read_uncommitted'): Promise<string[]> =>
    rowsOf(await readRecords(log, isolation, { checkCrcs: false })).map(r => String(r.value));
  assert.deepEqual(await values('read_committed'), ['plain', 'committed', 'second of 7']);
  assert.deepEqual(await values('read_uncommitted'), ['aborted', 'plain', 'committed', 'second of 7']);
  assert.equal((await readRecords(log, 'read_committed', { checkCrcs: false })).nextOffset, 7);
});

test('a log append time stands for the time of every record', async () => {
  const bytes = await sealBatch(build(sampleRows(4)).finish(), { compression: 'none', ...none });
  bytes.writeInt16BE(0x08, at.attributes);
  bytes.writeBigInt64BE(99n, at.maxTimestamp);
  const columns = await readRecords(fetched(bytes), 'read_uncommitted', { checkCrcs: false });
  assert.deepEqual([...columns.timestamps], [99, 99, 99, 99]);
});

test('messages of old formats are refused as such', async () => {
  const bytes = await sealBatch(build(sampleRows(4)).finish(), { compression: 'none', ...none });
  bytes[at.magic] = 1;
  await assert.rejects(readRecords(fetched(bytes), 'read_uncommitted'), { code: 'BROKER_OLD_MESSAGE_FORMAT' });
});

test('damage is found and named', async () => {
  const bytes = setOffset(await sealBatch(build(sampleRows(4)).finish(), { compression: 'none', ...none }), 42);
  bytes[bytes.length - 3]! ^= 1;
  await assert.rejects(readRecords(fetched(bytes, { fetchOffset: 42 }), 'read_uncommitted'), (error: ConnectError) => {
    assert.equal(error.code, 'BROKER_CORRUPT_BATCH');
    assert.deepEqual(error.place, { topic: 't', partition: 3, offset: 42 });
    assert.match(error.message, /t-3 offset 42.*checksum/);
    return true;
  });
});

test('no damage passes for records: with checksums it is refused, without it reads or fails as corrupt', async () => {
  let seed = 12345;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed % below;
  };
  let refused = 0;
  for (let round = 0; round < 3000; round++) {
    const compression = round % 20 === 0 ? compressions[1 + random(4)]! : 'none';
    const clean = await sealBatch(build(sampleRows(1 + random(8))).finish(), { compression, ...none });
    const bytes = Buffer.from(clean);
    // From the magic on: before it stand the offset, which the broker sets and no checksum covers, and the length, damage of which cuts the batch off.
    const flips = 1 + random(3);
    for (let i = 0; i < flips; i++) bytes[at.magic + random(bytes.length - at.magic)]! ^= 1 << random(8);
    const changed = !bytes.equals(clean) && !bytes.subarray(at.magic).equals(clean.subarray(at.magic));
    const cut = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    for (const checkCrcs of [true, false]) {
      try {
        const columns = await readRecords(fetched(cut), 'read_uncommitted', { checkCrcs });
        rowsOf(columns);
        for (let i = 0; i < columns.count; i++)
          assert.ok(columns.headerEnds[i]! <= columns.bytes.length, 'a range leads past the end');
        assert.ok(!checkCrcs || !changed || columns.count === 0, 'damaged bytes were read');
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        assert.match(error.code, /^BROKER_(CORRUPT_BATCH|OLD_MESSAGE_FORMAT)$/);
        refused++;
      }
    }
  }
  assert.ok(refused > 2000, `only ${refused} refused`);
});

test('a batch is split below a size, records unchanged', async () => {
  const rows = sampleRows(200);
  const parts = splitBatch(build(rows).finish(), 20_000);
  assert.ok(parts.length > 5, 'too few parts');
  assert.ok(parts.every(part => part.bytes.length <= 20_000));
  const read: Row[] = [];
  for (const part of parts) {
    const bytes = await sealBatch(part, { compression: 'none', ...none });
    for (const { offset: _, ...row } of rowsOf(await readRecords(fetched(bytes), 'read_uncommitted'))) read.push(row);
  }
  assert.deepEqual(read, rows);
});

test('keys go to the partitions of the Java client', () => {
  // Hashes as given by org.apache.kafka.common.utils.Utils.murmur2.
  const known: readonly [string, number][] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];
  for (const [text, hash] of known) {
    const bytes = Buffer.from(`--${text}--`);
    assert.equal(murmur2(bytes, 2, bytes.length - 2), hash, text);
    assert.equal(partitionForKey(bytes, 2, bytes.length - 2, 10), (hash & 0x7fffffff) % 10);
  }
});
