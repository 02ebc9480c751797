import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  array,
  Decimal,
  dateSchema,
  decimalSchema,
  INT32,
  INT64,
  map,
  optional,
  primitive,
  type Schema,
  STRING,
  Struct,
  type StructSchema,
  struct,
  timestampSchema,
} from '../../../schemas/data/index.ts';
import { compileDirectReader } from '../../../schemas/json/directReader.ts';
import { type JsonValue, parseJson, stringifyJson } from '../../../schemas/json/exactJson.ts';
import { JsonConverter, type JsonConverterSettings } from '../../../schemas/json/jsonConverter.ts';
import { compileJsonReader } from '../../../schemas/json/jsonReader.ts';
import { jsonSchemaText, schemaFromJson } from '../../../schemas/json/jsonSchema.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { Random } from '../../random.ts';
import { randomStruct, randomValue } from '../avro/randomSchemas.ts';

const javaDefaults: JsonConverterSettings = {
  schemasEnable: true,
  schemasCacheSize: 1000,
  decimalFormat: 'BASE64',
  replaceNullWithDefault: true,
};

function written(schema: Schema | null, value: unknown, settings: Partial<JsonConverterSettings> = {}): string | null {
  const out = new OutputBuffer(4);
  const encoder = new JsonConverter({ ...javaDefaults, ...settings }).encoder('t', schema);
  return encoder.encode(value, out) ? out.written().toString() : null;
}

function read(text: string, settings: Partial<JsonConverterSettings> = {}): { schema: Schema | null; value: unknown } {
  // In the middle of a larger buffer, as in a fetched batch.
  const bytes = Buffer.from(`xx${text}yy`);
  const decoder = new JsonConverter({ ...javaDefaults, ...settings }).decoder('t', bytes, 2, bytes.length - 2);
  assert.ok(decoder.accepts(bytes, 2, bytes.length - 2));
  return { schema: decoder.schema, value: decoder.decode(bytes, 2, bytes.length - 2) };
}

function shape(value: unknown): unknown {
  if (value instanceof Struct) return value.values.map(shape);
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, shape(v)]));
  return Array.isArray(value) ? value.map(shape) : value;
}

test('the envelope as Java writes it', () => {
  const row = struct(
    [
      ['id', INT64],
      ['price', decimalSchema(2)],
      ['day', dateSchema({ optional: true })],
      ['at', timestampSchema()],
      ['qty', primitive('INT32', { optional: true, defaultValue: 5 })],
      ['tags', array(STRING)],
      ['byNumber', map(INT32, STRING)],
      ['byName', map(STRING, INT32)],
      ['f', primitive('FLOAT32')],
      ['d', primitive('FLOAT64')],
      ['raw', primitive('BYTES')],
    ],
    { name: 'a.Row', version: 2, doc: 'a "row"' },
  );
  const value = new Struct(row, [
    2n ** 63n - 1n,
    new Decimal(1154n, 2),
    null,
    1790000000123n,
    null,
    ['x"\n', 'ü'],
    new Map([[1, 'a']]),
    new Map([['k', 2]]),
    Math.fround(0.1),
    3,
    Buffer.from([255, 0]),
  ]);
  const text = written(row, value)!;
  assert.equal(
    text,
    '{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},' +
      '{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"},"field":"price"},' +
      '{"type":"int32","optional":true,"name":"org.apache.kafka.connect.data.Date","version":1,"field":"day"},' +
      '{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"at"},' +
      '{"type":"int32","optional":true,"default":5,"field":"qty"},{"type":"array","items":{"type":"string","optional":false},"optional":false,"field":"tags"},' +
      '{"type":"map","keys":{"type":"int32","optional":false},"values":{"type":"string","optional":false},"optional":false,"field":"byNumber"},' +
      '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"int32","optional":false},"optional":false,"field":"byName"},' +
      '{"type":"float","optional":false,"field":"f"},{"type":"double","optional":false,"field":"d"},{"type":"bytes","optional":false,"field":"raw"}],' +
      '"optional":false,"name":"a.Row","version":2,"doc":"a \\"row\\""},' +
      '"payload":{"id":9223372036854775807,"price":"BII=","day":null,"at":1790000000123,"qty":5,"tags":["x\\"\\n","ü"],"byNumber":[[1,"a"]],"byName":{"k":2},"f":0.1,"d":3.0,"raw":"/wA="}}',
  );
  const back = read(text);
  assert.equal(jsonSchemaText(back.schema!, javaDefaults), jsonSchemaText(row, javaDefaults));
  assert.deepEqual(shape(back.value), shape(new Struct(row, value.values.with(4, 5))));
});

test('random schemas and values survive the way there and back, in all settings', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const schema = randomStruct(random, 3) as StructSchema;
    const value = randomValue(random, schema);
    for (const decimalFormat of ['BASE64', 'NUMERIC'] as const) {
      const settings = { decimalFormat, replaceNullWithDefault: false };
      const back = read(written(schema, value, settings)!, settings);
      assert.deepEqual(shape(back.value), shape(value), `seed ${seed}`);
      assert.equal(jsonSchemaText(back.schema!, javaDefaults), jsonSchemaText(schema, javaDefaults));
    }
  }
});

test('schemas recorded from Debezium are written back as they were', () => {
  const fixtures = new URL('../avro/fixtures/', import.meta.url);
  for (const file of readdirSync(fixtures)) {
    const cases = parseJson(readFileSync(new URL(file, fixtures), 'utf8')) as Record<string, { connect: JsonValue }>;
    for (const { connect } of Object.values(cases)) {
      assert.deepEqual(parseJson(jsonSchemaText(schemaFromJson(connect)!, javaDefaults)), connect);
    }
  }
});

test('nulls and defaults', () => {
  const schema = struct([['qty', primitive('INT32', { optional: true, defaultValue: 5 })]]);
  const off = { schemasEnable: false, replaceNullWithDefault: false };
  assert.equal(written(schema, new Struct(schema, [null]), off), '{"qty":null}');
  assert.equal(written(schema, new Struct(schema, [null]), { schemasEnable: false }), '{"qty":5}');
  assert.equal(written(null, null), null);
  assert.equal(written(schema, null), null);
  assert.equal(written(optional(schema), null)!.endsWith(',"payload":null}'), true);
  const text = written(schema, new Struct(schema, [1]))!.replace('"payload":{"qty":1}', '"payload":{}');
  assert.deepEqual(shape(read(text).value), [5]);
  assert.deepEqual(shape(read(text, { replaceNullWithDefault: false }).value), [null]);
});

test('without schemas: plain values, 64-bit integers exact', () => {
  const value = { id: 9223372036854775807n, small: 1, list: [1.5, null], name: 'ä' };
  const text = written(null, value, { schemasEnable: false })!;
  assert.equal(text, '{"id":9223372036854775807,"small":1,"list":[1.5,null],"name":"ä"}');
  assert.deepEqual(read(text, { schemasEnable: false }), { schema: null, value });
  assert.deepEqual(read(written(null, value)!), { schema: null, value });
});

test('an envelope with the payload first, or with blanks, is read too', () => {
  const schema = '{"type":"int64","optional":false}';
  assert.deepEqual(read(`{"payload":9007199254740993,"schema":${schema}}`).value, 9007199254740993n);
  assert.deepEqual(read(` { "schema" : ${schema} , "payload" : 7 } `).value, 7n);
});

test('what is no envelope, and values that do not fit, are named', () => {
  assert.throws(() => read('{"a":1}'), { code: 'CONVERTER_FAILED', message: /schemas\.enable=false/ });
  assert.throws(() => read('{"schema":null,"payload":1,"x":2}'), { code: 'CONVERTER_FAILED' });
  assert.throws(() => read('{"schema":{"type":"int8","optional":false},"payload":200}'), {
    code: 'CONVERTER_FAILED',
    message: /expected INT8, found number 200/,
  });
  const row = '{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"}],"optional":false}';
  assert.throws(() => read(`{"schema":${row},"payload":{"id":"x"}}`), {
    code: 'CONVERTER_FAILED',
    message: /field id: expected INT64/,
  });
  assert.throws(() => read(`{"schema":${row},"payload":{}}`), {
    code: 'CONVERTER_FAILED',
    message: /field id: expected INT64, found null/,
  });
  assert.throws(() => read(`{"schema":${row},"payload":{"id":1}`), { code: 'CONVERTER_FAILED' });
});

test('numbers keep their digits, whatever is around them', () => {
  const text =
    '{"a":-9223372036854775808,"b":"9223372036854775808 \\" {","c":[18446744073709551616,1e3,1.25],"__proto__":{"x":1}}';
  const value = parseJson(text) as Record<string, JsonValue>;
  assert.equal(value.a, -9223372036854775808n);
  assert.equal(value.b, '9223372036854775808 " {');
  assert.deepEqual(value.c, [18446744073709551616n, 1000, 1.25]);
  assert.deepEqual(Object.keys(value), ['a', 'b', 'c', '__proto__']);
  assert.equal(stringifyJson({ n: 2n ** 63n, s: 'x', u: undefined }), '{"n":9223372036854775808,"s":"x"}');
  for (const [text, expected] of [
    // two that JSON.parse rounds to the same number
    ['[1000000000000000001,{"b":1000000000000000000}]', [1000000000000000001n, { b: 1000000000000000000n }]],
    ['{"s":"1000000000000000001","e":1e18}', { s: '1000000000000000001', e: 1e18 }],
    ['[1000000000000000001, -1E18, 1.0e18]', [1000000000000000001n, -1e18, 1e18]],
    ['{"f":10000000000000000001.5,"i":10000000000000000001}', { f: 10000000000000000000, i: 10000000000000000001n }],
    ['[0.12345678901234567890,9007199254740993]', [0.12345678901234568, 9007199254740993n]],
    [
      '{"2":-9007199254740993,"1":9007199254740993,"1":[[9007199254740991]]}',
      { 1: [[9007199254740991]], 2: -9007199254740993n },
    ],
    ['-12345678901234567890', -12345678901234567890n],
  ] as const)
    assert.deepEqual(parseJson(text), expected, text);
  assert.equal(
    Object.getOwnPropertyDescriptor(parseJson('{"__proto__":12345678901234567890}'), '__proto__')?.value,
    12345678901234567890n,
  );
  for (const bad of [
    '{"a":1234567890123456789',
    '[1234567890123456789,]',
    '01234567890123456789',
    '{"a":"1234567890123456\n"}',
    '1234567890123456 x',
  ])
    assert.throws(() => parseJson(bad), { code: 'CONVERTER_FAILED', message: /not valid JSON/ });
  assert.throws(() => parseJson(`${'['.repeat(5000)}1234567890123456`), { code: 'CONVERTER_FAILED' });
  const deep = `${'['.repeat(3000)}12345678901234567890${']'.repeat(3000)}`;
  assert.throws(() => parseJson(deep), { code: 'CONVERTER_FAILED', message: /1000 levels/ });
});

test('the quick reader agrees with the general one, or leaves the text to it', () => {
  let direct = 0;
  for (let seed = 500; seed < 560; seed++) {
    const random = new Random(seed);
    const schema = randomStruct(random, 2) as StructSchema;
    const quick = compileDirectReader(schema, true);
    const general = compileJsonReader(schema, { replaceNullWithDefault: true });
    const text = written(schema, randomValue(random, schema), { schemasEnable: false, replaceNullWithDefault: false })!;
    for (let n = 0; n < 30; n++) {
      // Most are damaged: a character changed, taken out or put in.
      const at = random.below(text.length);
      const damaged =
        n === 0
          ? text
          : text.slice(0, at) +
            random.pick(['', '0', '"', '}', ',', ' ', '\\', '-', '.', 'e', '9', '\n']) +
            text.slice(at + random.below(2));
      // In the middle of a larger buffer, whose other bytes could go on with the text.
      const bytes = Buffer.from(`1"${damaged}1"}`);
      const value = quick(bytes, 2, bytes.length - 3);
      if (value === undefined) continue;
      direct++;
      assert.deepEqual(shape(value), shape(general(parseJson(damaged, true))), damaged);
    }
  }
  assert.ok(direct > 100, `${direct} read directly`);
});
