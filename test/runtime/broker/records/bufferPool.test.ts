import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool, noHeaders, RecordBatchBuilder } from '../../../../runtime/broker/records/index.ts';

const KIB = 1024;
const memoryOf = (buffer: Buffer): ArrayBufferLike => buffer.buffer;

test('memory that was given back is taken again, whole', () => {
  const pool = new BufferPool(1024 * KIB);
  const first = pool.take(100 * KIB);
  pool.give(first.subarray(0, 10));
  const second = pool.take(90 * KIB);
  assert.equal(memoryOf(second), memoryOf(first));
  assert.ok(second.length >= 90 * KIB);
  assert.notEqual(memoryOf(pool.take(90 * KIB)), memoryOf(second));
});

test('no more lies unused than is allowed, and what others share is not taken', () => {
  const pool = new BufferPool(128 * KIB);
  const buffers = [pool.take(64 * KIB), pool.take(64 * KIB), pool.take(64 * KIB)];
  for (const buffer of buffers) pool.give(buffer);
  const again = [pool.take(64 * KIB), pool.take(64 * KIB), pool.take(64 * KIB)].map(memoryOf);
  assert.equal(again.filter(memory => buffers.some(buffer => memoryOf(buffer) === memory)).length, 2);

  const shared = Buffer.from('a small buffer of the runtime');
  pool.give(shared);
  assert.notEqual(memoryOf(pool.take(16 * KIB)), memoryOf(shared));
});

test('a batch that grows gives its memory back, and keeps its records', () => {
  const pool = new BufferPool(1024 * KIB);
  const builder = new RecordBatchBuilder('t', 0, 0, 16 * KIB, pool);
  const value = Buffer.alloc(3000, 'v');
  for (let i = 0; i < 20; i++) builder.append(0, value, 0, 4, value, 0, value.length, noHeaders);
  const { bytes } = builder.finish();
  const small = pool.take(16 * KIB).fill('x');
  assert.notEqual(memoryOf(small), memoryOf(bytes));
  assert.equal(bytes.toString('latin1').split('v'.repeat(3000)).length - 1, 20);
});
