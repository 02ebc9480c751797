import assert from 'node:assert/strict';
import { test } from 'node:test';
import avsc from 'avsc';
import { AvroDecoder } from '../../../schemas/avro/avroDecoder.ts';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { compileEncoder } from '../../../schemas/avro/compileEncoder.ts';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import { toConnectSchema } from '../../../schemas/avro/toConnect.ts';
import {
  array,
  Decimal,
  decimalScale,
  INT32,
  INT64,
  isDecimal,
  OPTIONAL_STRING,
  primitive,
  type Schema,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { Random } from '../../random.ts';
import { randomStruct, randomValue } from './randomSchemas.ts';

/** avsc with 64-bit integers as bigint: the oracle. */
const long = avsc.types.LongType.__with({
  fromBuffer: (b: Buffer) => b.readBigInt64LE(),
  toBuffer: (n: bigint) => {
    const b = Buffer.alloc(8);
    b.writeBigInt64LE(n);
    return b;
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (n: unknown) => typeof n === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
});

/** The schema without defaults and attributes: avsc refuses defaults beyond 2^53, which have no part in the bytes. */
function bare(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(bare);
  if (typeof json !== 'object' || json === null) return json;
  const kept = Object.entries(json).filter(
    ([key]) => !key.startsWith('connect.') && !['default', 'logicalType', 'scale', 'precision'].includes(key),
  );
  // A primitive by name alone: avsc's registry of types, with our long, is asked only for those.
  return kept.length === 1 ? kept[0][1] : Object.fromEntries(kept.map(([key, value]) => [key, bare(value)]));
}

function oracle(schema: Schema): avsc.Type {
  const type = bare(JSON.parse(avroSchemaText(schema, { scrubInvalidNames: false })));
  return avsc.Type.forSchema(type as avsc.Schema, { registry: { long }, wrapUnions: 'never' });
}

/** A Connect value in avsc's terms. */
function avscValue(schema: Schema, value: unknown): unknown {
  if (value === null) return null;
  switch (schema.type) {
    case 'BYTES':
      return isDecimal(schema) ? (value as Decimal).withScale(decimalScale(schema)).toBytes() : value;
    case 'ARRAY':
      return (value as unknown[]).map(item => avscValue(schema.valueSchema, item));
    case 'MAP': {
      const entries = [...(value as Map<unknown, unknown>)].map(([k, v]) => [
        avscValue(schema.keySchema, k),
        avscValue(schema.valueSchema, v),
      ]);
      if (schema.keySchema.type === 'STRING') return Object.fromEntries(entries);
      return entries.map(([key, v]) => ({ key, value: v }));
    }
    case 'STRUCT':
      return Object.fromEntries(
        schema.fields.map(f => [f.name, avscValue(f.schema, (value as Struct).values[f.index])]),
      );
    default:
      return value;
  }
}

const keepNulls = { replaceNullWithDefault: false, avroName: (name: string) => name };

function encoded(schema: Schema, value: unknown, options = keepNulls): Buffer {
  const type = parseAvroSchema(avroSchemaText(schema, { scrubInvalidNames: false }));
  const out = new OutputBuffer(8);
  compileEncoder(schema, type, options)(value, out);
  return Buffer.from(out.written());
}

const framed = (body: Uint8Array): Buffer => Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), body]);

function decoderOf(schema: Schema): AvroDecoder {
  return new AvroDecoder(7, parseAvroSchema(avroSchemaText(schema, { scrubInvalidNames: false })));
}

/** Values without the identity of their schemas. */
function shape(value: unknown): unknown {
  if (value instanceof Struct) return value.values.map(shape);
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, shape(v)]));
  if (Array.isArray(value)) return value.map(shape);
  return value;
}

test('random schemas and values: the bytes of avsc, and back again', () => {
  for (let seed = 1; seed <= 80; seed++) {
    const random = new Random(seed);
    const schema = randomStruct(random, 3) as StructSchema;
    const type = oracle(schema);
    const decoder = decoderOf(schema);
    for (let n = 0; n < 5; n++) {
      const value = randomValue(random, schema);
      const body = encoded(schema, value);
      assert.ok(body.equals(type.toBuffer(avscValue(schema, value))), `bytes, seed ${seed}`);
      const bytes = framed(body);
      assert.deepEqual(shape(decoder.decode(bytes, 0, bytes.length)), shape(value), `value, seed ${seed}`);
    }
  }
});

test('columns: the same values as whole records give, for random schemas and paths', () => {
  for (let seed = 1000; seed < 1060; seed++) {
    const random = new Random(seed);
    const schema = randomStruct(random, 3) as StructSchema;
    const decoder = decoderOf(schema);
    const values = Array.from({ length: 6 }, () => randomValue(random, schema) as Struct);
    const records = values.map(value => framed(encoded(schema, value)));
    const starts = new Int32Array(7).fill(-1);
    const ends = new Int32Array(7).fill(-1);
    let at = 3;
    records.forEach((record, i) => {
      starts[i] = at;
      at += record.length;
      ends[i] = at;
    });
    const bytes = Buffer.concat([Buffer.alloc(3), ...records, Buffer.alloc(10, 0xff)]);
    const paths = Array.from({ length: 1 + random.below(4) }, () => randomPath(random, schema));
    const columns = decoder.decodeColumns(paths, bytes, starts, ends, 7);
    paths.forEach((path, k) => {
      const expected = [...values.map(value => follow(value, path)), null];
      assert.deepEqual(shape(columns[k]), shape(expected), `seed ${seed}, path ${path.join('.')}`);
    });
  }
});

function randomPath(random: Random, schema: StructSchema): string[] {
  const field = random.pick(schema.fields);
  if (field.schema.type !== 'STRUCT' || random.below(4) === 0) return [field.name];
  return [field.name, ...randomPath(random, field.schema)];
}

function follow(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (at === null ? null : (at as Struct).get(name)), value);
}

test('malformed bytes: an error with the place, never a wrong end or a hang', () => {
  let refused = 0;
  for (let seed = 2000; seed < 2030; seed++) {
    const random = new Random(seed);
    const schema = randomStruct(random, 3) as StructSchema;
    const decoder = decoderOf(schema);
    const bytes = framed(encoded(schema, randomValue(random, schema)));
    const paths = [[schema.fields.at(-1)!.name]];
    for (let n = 0; n < 40; n++) {
      // Truncated, extended or with wrong bytes, in the middle of a larger buffer.
      const bad = Buffer.from(bytes);
      for (let k = random.below(3); k >= 0; k--)
        bad[5 + random.below(bad.length - 5)] = random.pick([0, 1, 2, 127, 128, 255, random.below(256)]);
      const end = random.below(2) ? bad.length : 5 + random.below(bad.length - 4);
      const buffer = Buffer.concat([bad.subarray(0, end), Buffer.alloc(64, random.pick([0, 2, 255]))]);
      for (const run of [
        () => decoder.decode(buffer, 0, end),
        () => decoder.decodeColumns(paths, buffer, Int32Array.of(0), Int32Array.of(end), 1),
      ]) {
        try {
          run();
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'CONVERTER_FAILED', String((error as Error).stack));
          assert.match((error as Error).message, /malformed Avro for schema id 7 .* at byte \d+ of \d+/);
          refused++;
        }
      }
    }
    for (let end = 5; end < bytes.length; end++) {
      assert.throws(() => decoder.decode(bytes, 0, end), { code: 'CONVERTER_FAILED' });
    }
    const longer = Buffer.concat([bytes, Buffer.from([0])]);
    assert.throws(() => decoder.decode(longer, 0, longer.length), { code: 'CONVERTER_FAILED' });
  }
  assert.ok(refused > 300, `${refused} refused`);
});

test('a block count that no record can hold fails at once', () => {
  const decoder = new AvroDecoder(7, parseAvroSchema('{"type":"array","items":"null"}'));
  const bytes = framed(Buffer.from([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0]));
  assert.throws(() => decoder.decode(bytes, 0, bytes.length), { code: 'CONVERTER_FAILED' });
});

test('array blocks with sizes, as other writers make them', () => {
  const decoder = new AvroDecoder(7, parseAvroSchema('{"type":"array","items":"int"}'));
  const bytes = framed(Buffer.from([3, 4, 2, 4, 2, 6, 0])); // -2 items in 2 bytes: 1, 2; one item: 3
  assert.deepEqual(decoder.decode(bytes, 0, bytes.length), [1, 2, 3]);
});

test('values that do not fit name field, type and value, and leave the buffer as it was', () => {
  const row = struct(
    [
      ['id', INT32],
      ['tags', array(STRING)],
      ['n', INT64],
    ],
    { name: 'a.Row' },
  );
  const envelope = struct([['after', row]], { name: 'a.Envelope' });
  const type = parseAvroSchema(avroSchemaText(envelope, { scrubInvalidNames: false }));
  const encode = compileEncoder(envelope, type, keepNulls);
  const out = new OutputBuffer();
  const attempt = (id: unknown, tags: unknown, n: unknown) => () =>
    encode(new Struct(envelope, [new Struct(row, [id, tags, n])]), out);
  assert.throws(attempt(2 ** 31, [], 0n), {
    code: 'DATA_INVALID',
    message: /field after\.id: expected INT32, found number 2147483648/,
  });
  assert.throws(attempt(null, [], 0n), { code: 'DATA_INVALID', message: /after\.id.*found null/ });
  assert.throws(attempt(1, ['a', 2], 0n), { code: 'DATA_INVALID', message: /after\.tags\[\]/ });
  assert.throws(attempt(1, [], 2n ** 63n), { code: 'DATA_INVALID', message: /after\.n: expected INT64/ });
  assert.throws(attempt(1, [], 2 ** 53), { code: 'DATA_INVALID' });
  const other = struct([['id', STRING]], { name: 'a.Row' });
  assert.throws(() => encode(new Struct(envelope, [new Struct(other, ['x'])]), out), {
    code: 'DATA_INVALID',
    message: /field after/,
  });
});

test('nulls where a default is: kept or replaced, as asked', () => {
  const schema = struct(
    [
      ['kept', primitive('INT32', { optional: true, defaultValue: 5 })],
      ['must', primitive('INT32', { defaultValue: 6 })],
    ],
    { name: 'a.D' },
  );
  const value = new Struct(schema, [null, null]);
  assert.deepEqual([...encoded(schema, value)], [2, 12]);
  assert.deepEqual([...encoded(schema, value, { ...keepNulls, replaceNullWithDefault: true })], [0, 10, 12]);
});

test('int64 takes numbers too', () => {
  const schema = struct([['n', INT64]], { name: 'a.N' });
  for (const n of [0, -1, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER])
    assert.ok(encoded(schema, new Struct(schema, [n])).equals(encoded(schema, new Struct(schema, [BigInt(n)]))));
});

test('plain Avro of another team', () => {
  const type = parseAvroSchema(
    JSON.stringify({
      type: 'record',
      name: 'Order',
      namespace: 'shop',
      fields: [
        { name: 'id', type: { type: 'string', logicalType: 'uuid' } },
        { name: 'state', type: { type: 'enum', name: 'State', symbols: ['NEW', 'PAID'] }, default: 'NEW' },
        { name: 'at', type: { type: 'long', logicalType: 'timestamp-micros' } },
        {
          name: 'price',
          type: { type: 'fixed', name: 'Price', size: 4, logicalType: 'decimal', precision: 9, scale: 2 },
        },
        { name: 'either', type: ['null', 'string', 'int'], default: null },
        { name: 'was', type: ['null', 'State'], default: null },
      ],
    }),
  );
  const schema = toConnectSchema(type) as StructSchema;
  assert.equal(schema.name, 'shop.Order');
  assert.deepEqual(
    schema.fields.map(f => [f.name, f.schema.type, f.schema.name, f.schema.optional]),
    [
      ['id', 'STRING', 'io.debezium.data.Uuid', false],
      ['state', 'STRING', null, false],
      ['at', 'INT64', 'io.debezium.time.MicroTimestamp', false],
      ['price', 'BYTES', 'org.apache.kafka.connect.data.Decimal', false],
      ['either', 'STRUCT', 'io.confluent.connect.avro.Union', true],
      ['was', 'STRING', null, true],
    ],
  );
  assert.equal(schema.fields[1].schema.defaultValue, 'NEW');
  const union = schema.fields[4].schema as StructSchema;
  const value = new Struct(schema, ['u', 'PAID', 5n, new Decimal(-150n, 2), new Struct(union, [null, 3]), null]);
  const out = new OutputBuffer();
  compileEncoder(schema, type, keepNulls)(value, out);
  const bytes = framed(out.written());
  assert.deepEqual(shape(new AvroDecoder(7, type).decode(bytes, 0, bytes.length)), shape(value));
});

test('a registered schema wider than ours: promotions and defaults', () => {
  const ours = struct(
    [
      ['id', INT32],
      ['note', OPTIONAL_STRING],
    ],
    { name: 'a.R' },
  );
  const theirs = parseAvroSchema(
    '{"type":"record","name":"R","namespace":"a","fields":[{"name":"more","type":"int","default":9},{"name":"note","type":["null","string"]},{"name":"id","type":"long"}]}',
  );
  const out = new OutputBuffer();
  compileEncoder(ours, theirs, keepNulls)(new Struct(ours, [3, 'x']), out);
  assert.deepEqual([...out.written()], [18, 2, 2, 120, 6]);
  const strict = parseAvroSchema('{"type":"record","name":"R","fields":[{"name":"id","type":"string"}]}');
  assert.throws(() => compileEncoder(ours, strict, keepNulls), {
    code: 'CONVERTER_FAILED',
    message: /field id is INT32, which Avro type string/,
  });
});

test('a record of another schema is refused, not misread', () => {
  const decoder = decoderOf(struct([['n', INT64]], { name: 'a.N' }));
  const bytes = Buffer.from([0, 0, 0, 0, 8, 2]);
  assert.throws(() => decoder.decode(bytes, 0, 6), { code: 'CONVERTER_FAILED', message: /another schema id/ });
  assert.throws(() => decoder.decodeColumns([['n']], bytes, Int32Array.of(0), Int32Array.of(6), 1), {
    code: 'CONVERTER_FAILED',
    message: /record 0/,
  });
  assert.throws(() => decoder.decodeColumns([['m']], bytes, Int32Array.of(-1), Int32Array.of(-1), 1), {
    code: 'CONVERTER_FAILED',
    message: /no field m/,
  });
});
