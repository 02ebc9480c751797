import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { schemaDifferences } from '../../../schemas/avro/compatibility.ts';

const record = (...fields: object[]) => parseAvroSchema(JSON.stringify({ type: 'record', name: 'R', fields }));
const decimal = (precision: number) => ({ type: 'bytes', logicalType: 'decimal', precision, scale: 2 });

test('the differences that matter are named, the others not', () => {
  const before = record(
    { name: 'id', type: 'int' },
    { name: 'note', type: ['null', 'string'], default: null },
    { name: 'price', type: ['null', decimal(10)], default: null },
    {
      name: 'in',
      type: { type: 'record', name: 'In', fields: [{ name: 'list', type: { type: 'array', items: 'string' } }] },
    },
    { name: 'e', type: { type: 'enum', name: 'E', symbols: ['A', 'B'] } },
  );
  const after = record(
    { name: 'id', type: 'long' },
    { name: 'note', type: 'string' },
    { name: 'price', type: ['null', decimal(12)], default: null },
    {
      name: 'in',
      type: { type: 'record', name: 'In', fields: [{ name: 'list', type: { type: 'array', items: 'int' } }] },
    },
    { name: 'e', type: { type: 'enum', name: 'E', symbols: ['B', 'C'] } },
    { name: 'added', type: 'int' },
    { name: 'fine', type: 'int', default: 1 },
  );
  assert.deepEqual(schemaDifferences(before, after), [
    'field note may no longer be null',
    'field price changed its type from bytes (decimal, precision 10, scale 2) to bytes (decimal, precision 12, scale 2)',
    'field in.list[] changed its type from string to int',
    'field e lost the enum symbols A',
    'field added was added without a default',
  ]);
  assert.deepEqual(schemaDifferences(before, before), []);
  assert.deepEqual(schemaDifferences(after, before)[0], 'field id changed its type from long to int');
});
