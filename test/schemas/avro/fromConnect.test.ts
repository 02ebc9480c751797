import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import { toConnectSchema } from '../../../schemas/avro/toConnect.ts';
import {
  array,
  dateSchema,
  decimalSchema,
  INT32,
  INT64,
  map,
  OPTIONAL_STRING,
  primitive,
  STRING,
  Struct,
  struct,
  timeSchema,
  timestampSchema,
  withOptions,
} from '../../../schemas/data/index.ts';
import { type JsonValue, parseJson } from '../../../schemas/json/exactJson.ts';
import { jsonSchemaText, schemaFromJson } from '../../../schemas/json/jsonSchema.ts';

const plain = { scrubInvalidNames: false };
const json = { decimalFormat: 'BASE64', replaceNullWithDefault: false } as const;
const fixtures = new URL('./fixtures/', import.meta.url);

// Schemas that the Avro converter registered for events of the real Debezium, beside the Connect schemas of the same events.
for (const file of readdirSync(fixtures)) {
  const cases = parseJson(readFileSync(new URL(file, fixtures), 'utf8')) as Record<
    string,
    { connect: JsonValue; avro: JsonValue }
  >;
  for (const [subject, { connect, avro }] of Object.entries(cases)) {
    test(`${file}: ${subject} as registered for Debezium`, () => {
      const schema = schemaFromJson(connect)!;
      const text = avroSchemaText(schema, plain);
      assert.deepEqual(JSON.parse(text), avro);
      // And back: nothing is lost on the way to the consumer but what Avro's named types cannot say.
      const back = toConnectSchema(parseAvroSchema(text));
      assert.equal(jsonSchemaText(back, json), jsonSchemaText(schema, json));
    });
  }
}

test('a map with keys that are not strings is an array of key and value', () => {
  const schema = struct([['m', map(INT32, STRING)]], { name: 'a.R' });
  assert.deepEqual(JSON.parse(avroSchemaText(schema, plain)).fields[0].type, {
    type: 'array',
    items: {
      type: 'record',
      name: 'MapEntry',
      namespace: 'io.confluent.connect.avro',
      fields: [
        { name: 'key', type: 'int' },
        { name: 'value', type: 'string' },
      ],
    },
  });
  assert.equal(
    jsonSchemaText(toConnectSchema(parseAvroSchema(avroSchemaText(schema, plain))), json),
    jsonSchemaText(schema, json),
  );
});

test('logical types, defaults of 64 bits and of structs survive the way there and back', () => {
  const inner = struct([['n', INT64]], { name: 'a.Inner' });
  const schema = struct(
    [
      ['big', primitive('INT64', { defaultValue: 9223372036854775807n })],
      ['date', dateSchema({ optional: true })],
      ['time', timeSchema()],
      ['at', timestampSchema({ optional: true, defaultValue: 5n })],
      ['amount', decimalSchema(2, 10)],
      ['list', array(OPTIONAL_STRING, { defaultValue: [] })],
      ['inner', withOptions(inner, { defaultValue: new Struct(inner, [7n]) })],
      ['again', withOptions(inner, { optional: true })],
    ],
    { name: 'a.b.Outer', version: 3, doc: 'all' },
  );
  const text = avroSchemaText(schema, plain);
  assert.match(text, /"default":9223372036854775807/);
  assert.equal(jsonSchemaText(toConnectSchema(parseAvroSchema(text)), json), jsonSchemaText(schema, json));
});

test('names that Avro does not allow are an error, or scrubbed as asked', () => {
  const schema = struct([['first name', STRING]], { name: 'my-shop.Row' });
  assert.throws(() => avroSchemaText(schema, plain), { code: 'CONVERTER_FAILED', message: /scrub\.invalid\.names/ });
  const scrubbed = JSON.parse(avroSchemaText(schema, { scrubInvalidNames: true }));
  assert.equal(scrubbed.namespace, 'my_shop');
  assert.equal(scrubbed.fields[0].name, 'first_name');
});

test('two different structs of one name are refused', () => {
  const schema = struct([
    ['a', struct([['x', INT32]], { name: 'n.T' })],
    ['b', struct([['x', INT64]], { name: 'n.T' })],
  ]);
  assert.throws(() => avroSchemaText(schema, plain), { code: 'CONVERTER_FAILED', message: /n\.T/ });
});

test('one struct in two fields with other parameters is one definition', () => {
  const inner = (column: string) => struct([['x', INT32]], { name: 'n.T', parameters: { column }, doc: column });
  const schema = struct(
    [
      ['a', inner('a')],
      ['b', inner('b')],
    ],
    { name: 'n.R' },
  );
  const { fields } = JSON.parse(avroSchemaText(schema, plain));
  assert.equal(fields[0].type['connect.parameters'].column, 'a');
  assert.equal(fields[1].type, 'T');
});
