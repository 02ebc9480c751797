import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BSON } from 'mongodb';
import {
  beginDocument,
  elementName,
  elementsOf,
  endDocument,
  writeComparable,
  writeUnion,
} from '../../../connectors/mongodb/bsonDocument.ts';
import { BsonValues } from '../../../connectors/mongodb/bsonValues.ts';
import { fieldShaping, renameFields } from '../../../connectors/mongodb/fieldShaping.ts';
import { INT64, primitive, type Schema, STRING, Struct, struct } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { plainOf } from './mongoTarget.ts';

const READ = { promoteValues: false, promoteLongs: false } as const;

function encoded(fields: Readonly<Record<string, unknown>>, schema: Schema | null = null, values?: BsonValues): Buffer {
  const writers = values ?? new BsonValues('date', null);
  const out = new OutputBuffer(1);
  const start = beginDocument(out);
  for (const [name, value] of Object.entries(fields))
    writers.write(value, writers.writer(schema, name), elementName(name), out);
  endDocument(out, start);
  return Buffer.from(out.written());
}

const read = (bytes: Buffer): unknown => plainOf(BSON.deserialize(bytes, READ));

test('writes values without schema by what they are', () => {
  const fields = {
    small: 7,
    large: 2 ** 40,
    ratio: 0.5,
    zero: -0,
    huge: 1e300,
    big: -(2n ** 63n),
    text: 'a\u0000b',
    yes: true,
    nothing: null,
    bytes: Buffer.from('x'),
    list: [1, null, { deep: 'x' }],
    object: { a: { b: 1n } },
  };
  assert.deepEqual(read(encoded(fields)), {
    ...fields,
    large: 2n ** 40n,
    ratio: { double: 0.5 },
    zero: { double: -0 },
    huge: { double: 1e300 },
  });
});

test('refuses what no document can hold', () => {
  for (const value of [2n ** 63n, Symbol('x')]) assert.throws(() => encoded({ value }), RangeError);
  assert.throws(() => encoded({ 'a\0b': 1 }), RangeError);
  const at = primitive('INT64', { name: 'io.debezium.time.Timestamp' });
  assert.throws(() => encoded({ value: 2n ** 62n }, at), RangeError);
});

test('cuts what is finer than a millisecond, towards the past', () => {
  const named = (name: string) => primitive('INT64', { name: `io.debezium.time.${name}` });
  assert.deepEqual(read(encoded({ v: 1_999n }, named('MicroTimestamp'))), { v: new Date(1) });
  assert.deepEqual(read(encoded({ v: -1n }, named('NanoTimestamp'))), { v: new Date(-1) });
  const zoned = primitive('STRING', { name: 'io.debezium.time.ZonedTimestamp' });
  assert.deepEqual(read(encoded({ v: '1969-12-31T23:59:59.998999999Z' }, zoned)), { v: new Date(-2) });
  assert.deepEqual(read(encoded({ v: 1_999n }, named('MicroTimestamp'), new BsonValues('raw', null))), { v: 1_999n });
});

test('shapes fields in sub-documents and arrays, and leaves nulls out', () => {
  const point = struct([
    ['x', INT64],
    ['y', primitive('STRING', { optional: true })],
  ]);
  const shaping = fieldShaping([renameFields([{ oldName: 'value.a.x', newName: 'z' }])], true);
  const values = new BsonValues('date', shaping);
  assert.deepEqual(read(encoded({ a: new Struct(point, [1n, null]) }, point, values)), { a: { z: 1n } });
  assert.deepEqual(read(encoded({ a: [{ x: 1, y: null }, null], b: null }, null, values)), { a: [{ z: 1 }, null] });
});

test('finds its way through all types of elements, and puts documents together', () => {
  const fields = { a: 1, b: 'x', c: null, d: [true, 2n], e: { f: 0.5 }, g: Buffer.from('y') };
  const out = new OutputBuffer(1);
  out.writeBytes(encoded(fields));
  const later = out.position;
  out.writeBytes(encoded({ b: 'new', h: 1 }));
  assert.deepEqual(
    elementsOf(out.bytes, 0).map(e => e.name),
    Object.keys(fields),
  );
  const start = out.position;
  writeUnion(0, later, out);
  const union = Buffer.from(out.bytes.subarray(start, out.position));
  assert.deepEqual(read(union), { ...fields, e: { f: { double: 0.5 } }, b: 'new', h: 1 });
  assert.deepEqual(Object.keys(BSON.deserialize(union)), [...Object.keys(fields), 'h']);
});

test('takes keys for equal that the server takes for equal', () => {
  const comparable = (bytes: Buffer): string => {
    const out = new OutputBuffer(1);
    out.writeBytes(bytes);
    writeComparable(0, out);
    return out.bytes.toString('hex', bytes.length, out.position);
  };
  const one = comparable(encoded({ _id: 1 }));
  assert.equal(comparable(encoded({ _id: 1n })), one);
  assert.equal(comparable(encoded({ _id: 1 }, primitive('FLOAT64'))), one);
  assert.notEqual(comparable(encoded({ _id: '1' }, STRING)), one);
  assert.notEqual(comparable(encoded({ _id: 1.5 })), one);
  assert.equal(comparable(encoded({ _id: { a: 1, b: 'x' } })), comparable(encoded({ _id: { a: 1n, b: 'x' } })));
  assert.notEqual(comparable(encoded({ _id: { a: 1, b: 'x' } })), comparable(encoded({ _id: { b: 'x', a: 1 } })));
});
