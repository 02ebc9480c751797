/** What records become, without a server: ids, names, fields, mappings. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idReader } from '../../../connectors/elasticsearch/documentId.ts';
import { fieldWriter } from '../../../connectors/elasticsearch/fieldWriter.ts';
import { indexName } from '../../../connectors/elasticsearch/indexName.ts';
import { mappingOf, missingFields } from '../../../connectors/elasticsearch/mapping.ts';
import { mergeMembers } from '../../../connectors/elasticsearch/mergeMembers.ts';
import * as data from '../../../schemas/data/index.ts';
import { Decimal, decimalSchema, primitive, type Schema } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';

const forms = { decimalsAsNumbers: false, compactMaps: true };
const named = (type: 'INT32' | 'INT64' | 'STRING' | 'BYTES', name: string): Schema => primitive(type, { name });

function jsonOf(schema: Schema | null, value: unknown, options = forms): string {
  const out = new OutputBuffer(8);
  fieldWriter(schema, options)(value, out);
  return out.written().toString();
}

describe('fields of documents', () => {
  for (const [what, schema, value, json] of [
    ['a 64-bit integer', data.INT64, -9_223_372_036_854_775_808n, '-9223372036854775808'],
    ['a whole double', data.FLOAT64, 2, '2.0'],
    ['a float', data.FLOAT32, Math.fround(0.1), '0.1'],
    ['a text', data.STRING, 'a"\n\\ü', '"a\\"\\n\\\\ü"'],
    ['bytes', data.BYTES, Buffer.from([255, 0]), '"/wA="'],
    ['a decimal', decimalSchema(3), new Decimal(-5n, 3), '"-0.005"'],
    ['days', named('INT32', 'io.debezium.time.Date'), -1, '"1969-12-31"'],
    ['ms', named('INT64', 'io.debezium.time.Timestamp'), 1_672_567_200_120n, '"2023-01-01T10:00:00.12Z"'],
    ['µs', named('INT64', 'io.debezium.time.MicroTimestamp'), -1n, '"1969-12-31T23:59:59.999999Z"'],
    ['ns', named('INT64', 'io.debezium.time.NanoTimestamp'), 1_000_000_010n, '"1970-01-01T00:00:01.00000001Z"'],
    [
      'a far time',
      named('INT64', 'io.debezium.time.MicroTimestamp'),
      253_402_300_800_000_000n,
      '"+10000-01-01T00:00:00Z"',
    ],
    [
      'a time without zone',
      named('STRING', 'io.debezium.time.IsoTimestamp'),
      '2023-01-01T10:00:00',
      '"2023-01-01T10:00:00Z"',
    ],
    ['a time of day', named('INT32', 'io.debezium.time.Time'), 3_723_004, '"01:02:03.004"'],
    ['a list', data.array(data.optional(data.INT32)), [1, null], '[1,null]'],
    ['a map', data.map(data.STRING, data.INT32), new Map([['a', 1]]), '{"a":1}'],
    ['a map with other keys', data.map(data.INT32, data.INT32), new Map([[7, 1]]), '[{"key":7,"value":1}]'],
    ['an empty map', data.map(data.STRING, data.INT32), new Map(), '{}'],
    ['an object without schema', null, { a: [1n, { b: null }] }, '{"a":[1,{"b":null}]}'],
  ] as const) {
    it(`writes ${what}`, () => assert.equal(jsonOf(schema, value), json));
  }

  it('writes decimals and maps in the other forms', () => {
    const other = { decimalsAsNumbers: true, compactMaps: false };
    assert.equal(jsonOf(decimalSchema(2), new Decimal(12345678901234567890n, 2), other), '123456789012345678.90');
    assert.equal(jsonOf(data.map(data.STRING, data.INT32), new Map([['a', 1]]), other), '[{"key":"a","value":1}]');
    const { price, exact } = mappingOf(
      [
        { name: 'price', schema: decimalSchema(2, 15) },
        { name: 'exact', schema: decimalSchema(2, 16) },
      ],
      other,
    );
    assert.deepEqual([price, exact], [{ type: 'scaled_float', scaling_factor: 100 }, { type: 'double' }]);
  });

  it('refuses values that are not of their schema', () => {
    assert.throws(() => jsonOf(data.INT64, 'x'), RangeError);
    assert.throws(() => jsonOf(data.BYTES, 'x'), RangeError);
    assert.throws(() => jsonOf(data.BOOLEAN, 'x'), RangeError);
    assert.throws(() => jsonOf(data.STRING, 7), RangeError);
    assert.throws(() => jsonOf(null, { a: [Number.POSITIVE_INFINITY] }), RangeError);
  });
});

describe('document ids', () => {
  const idOf = (fields: readonly (readonly [string, Schema | null])[], values: readonly unknown[]): string =>
    idReader(fields.map(([name, schema]) => ({ name, schema })))(
      values.map(v => [v]),
      0,
    );
  const two = [
    ['a', data.STRING],
    ['b', data.OPTIONAL_STRING],
  ] as const;

  it('takes one field as it is', () => {
    assert.equal(idOf([['', data.STRING]], ['a|b\\']), 'a|b\\');
    assert.equal(idOf([['id', data.INT64]], [9_007_199_254_740_993n]), '9007199254740993');
    assert.equal(idOf([['id', data.BYTES]], [Buffer.from([255])]), '/w==');
    assert.equal(idOf([['id', null]], [12]), '12');
  });

  it('joins several fields so that different keys differ', () => {
    const ids = [
      ['a|b', 'c'],
      ['a', 'b|c'],
      ['a\\', '|c'],
      ['a', null],
      ['a', '\\N'],
      ['a', ''],
    ].map(values => idOf(two, values));
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids.slice(0, 2), ['a\\|b|c', 'a|b\\|c']);
  });

  it('refuses keys that are null, empty or too long', () => {
    assert.throws(() => idOf([], []), { code: 'SINK_KEY_MISSING' });
    assert.throws(() => idOf([['id', data.INT64]], [null]), { code: 'SINK_KEY_MISSING', message: /"id"/ });
    assert.throws(() => idOf(two, [null, null]), { code: 'SINK_KEY_MISSING' });
    assert.throws(() => idOf([['', data.STRING]], ['']), { code: 'SINK_DOCUMENT_ID' });
    assert.throws(() => idOf([['', data.STRING]], ['ü'.repeat(257)]), { code: 'SINK_DOCUMENT_ID', message: /514/ });
    assert.equal(idOf([['', data.STRING]], ['ü'.repeat(256)]).length, 256);
  });
});

it('names indices after topics', () => {
  assert.equal(indexName('Shop.Public.Orders'), 'shop.public.orders');
  assert.equal(indexName('__topic'), 'topic');
  assert.equal(indexName('..'), 'dotdot');
  assert.equal(Buffer.byteLength(indexName('ü'.repeat(200))), 254);
});

it('finds what a mapping lacks, in objects too', () => {
  const there = { a: { type: 'text' }, o: { properties: { x: { type: 'long' } } } };
  const wanted = {
    a: { type: 'long' },
    o: { type: 'object', properties: { x: { type: 'date' }, y: { type: 'date' } } },
  };
  assert.deepEqual(missingFields(wanted, there), { o: { properties: { y: { type: 'date' } } } });
  assert.equal(missingFields({ a: { type: 'long' } }, there), null);
});

it('puts members over others, in objects too if it is told to', () => {
  const [old, young] = [
    { a: 1, o: { x: 1, y: [1] } },
    { b: null, o: { y: [2] } },
  ];
  assert.deepEqual(mergeMembers(old, young, false), { a: 1, o: { y: [2] }, b: null });
  assert.deepEqual(mergeMembers(old, young, true), { a: 1, o: { x: 1, y: [2] }, b: null });
});
