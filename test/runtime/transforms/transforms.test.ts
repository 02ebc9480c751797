import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectRecord, TransformationPlugin } from '../../../runtime/api/index.ts';
import { plugins } from '../../../runtime/transforms/index.ts';
import {
  BOOLEAN,
  INT32,
  OPTIONAL_STRING,
  optional,
  primitive,
  STRING,
  Struct,
  struct,
  TIMESTAMP_NAME,
} from '../../../schemas/data/index.ts';

function transform(name: string, config: Record<string, string>) {
  const found = plugins.find(p => p.className === `org.apache.kafka.connect.transforms.${name}`);
  assert.ok(found?.kind === 'transformation', `no transform ${name}`);
  const made = (found as TransformationPlugin).create();
  made.configure(config);
  return made;
}

const order = struct([
  ['id', INT32],
  ['name', OPTIONAL_STRING],
  ['qty', primitive('INT32', { optional: true, defaultValue: 5 })],
  ['paid', BOOLEAN],
]);
const record = (value: unknown = new Struct(order, [7, 'lamp', null, true])): ConnectRecord => ({
  topic: 'shop.order',
  partition: null,
  keySchema: null,
  key: null,
  valueSchema: value instanceof Struct ? value.schema : null,
  value,
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
  headers: [],
});
const fields = (r: ConnectRecord | null): Record<string, unknown> => {
  const value = r?.value;
  assert.ok(value instanceof Struct);
  assert.equal(r?.valueSchema, value.schema);
  return Object.fromEntries(value.schema.fields.map(f => [f.name, value.values[f.index]]));
};

describe('transforms', () => {
  it('Cast changes field types, wraps as Java does and refuses what is not a number', () => {
    const cast = transform('Cast$Value', { spec: 'id:int8,name:string,paid:int64' });
    assert.deepEqual(fields(cast.apply(record(new Struct(order, [300, 'x', 1, true])))), {
      id: 44,
      name: 'x',
      qty: 1,
      paid: 1n,
    });
    assert.throws(() => transform('Cast$Value', { spec: 'name:int32' }).apply(record()), { code: 'TRANSFORM_FAILED' });
    assert.throws(() => transform('Cast$Value', { spec: 'name:decimal' }), { code: 'CONFIG_INVALID' });
    assert.equal(transform('Cast$Key', { spec: 'string' }).apply({ ...record(), key: 5n, keySchema: INT32 })?.key, '5');
  });

  it('reads a null as the default only where asked', () => {
    const renames = { renames: 'id:key' };
    assert.equal(fields(transform('ReplaceField$Value', renames).apply(record())).qty, 5);
    const kept = transform('ReplaceField$Value', { ...renames, 'replace.null.with.default': 'false' }).apply(record());
    assert.deepEqual(fields(kept), { key: 7, name: 'lamp', qty: null, paid: true });
  });

  it('ReplaceField drops before it keeps', () => {
    const kept = transform('ReplaceField$Value', { exclude: 'name', include: 'name,id' }).apply(record());
    assert.deepEqual(fields(kept), { id: 7 });
    assert.deepEqual(transform('ReplaceField$Value', { exclude: 'a' }).apply(record({ a: 1, b: 2 }))?.value, { b: 2 });
  });

  it('keeps the identity of output schemas', () => {
    const flatten = transform('Flatten$Value', {});
    assert.equal(flatten.apply(record())?.valueSchema, flatten.apply(record())?.valueSchema);
  });

  it('Flatten makes fields under an optional struct optional', () => {
    const outer = struct([['a', optional(struct([['b', INT32]]))]]);
    const flat = transform('Flatten$Value', { delimiter: '_' }).apply(record(new Struct(outer, [null])));
    assert.deepEqual(fields(flat), { a_b: null });
    const schema = flat?.valueSchema;
    assert.ok(schema?.type === 'STRUCT' && schema.fields[0]?.schema.optional);
    assert.deepEqual(transform('Flatten$Value', {}).apply(record({ a: { b: 1 }, c: 2 }))?.value, { 'a.b': 1, c: 2 });
  });

  it('ExtractField follows nested paths of syntax V2, backticks included', () => {
    const outer = struct([['a.x', struct([['b', STRING]])]]);
    const value = new Struct(outer, [new Struct(outer.fields[0]!.schema as typeof outer, ['deep'])]);
    const got = transform('ExtractField$Value', { field: '`a.x`.b', 'field.syntax.version': 'V2' }).apply(
      record(value),
    );
    assert.equal(got?.value, 'deep');
    assert.equal(got?.valueSchema, STRING);
    assert.throws(() => transform('ExtractField$Value', { field: 'nope' }).apply(record()), {
      code: 'TRANSFORM_FAILED',
    });
  });

  it('InsertField adds topic, timestamp and fixed text', () => {
    const config = { 'topic.field': 't!', 'timestamp.field': 'ts', 'static.field': 's', 'static.value': 'x' };
    const got = transform('InsertField$Value', config).apply(record());
    assert.deepEqual(fields(got), {
      id: 7,
      name: 'lamp',
      qty: 5,
      paid: true,
      t: 'shop.order',
      ts: 1767323045000n,
      s: 'x',
    });
    assert.ok(got?.valueSchema?.type === 'STRUCT');
    assert.equal(got.valueSchema.fields[4]?.schema.optional, false);
    assert.equal(got.valueSchema.fields[5]?.schema.name, TIMESTAMP_NAME);
    assert.equal(transform('InsertField$Value', config).apply(record(null))?.value, null);
  });

  it('MaskField empties by type and takes a replacement', () => {
    assert.deepEqual(fields(transform('MaskField$Value', { fields: 'id,name,paid' }).apply(record())), {
      id: 0,
      name: '',
      qty: 5,
      paid: false,
    });
    assert.equal(
      fields(transform('MaskField$Value', { fields: 'name', replacement: '***' }).apply(record())).name,
      '***',
    );
  });

  it('routers rename topics', () => {
    const regex = transform('RegexRouter', { regex: '(\\w+)\\.(.*)', replacement: '$2-of-$1' });
    assert.equal(regex.apply(record())?.topic, 'order-of-shop');
    assert.equal(transform('RegexRouter', { regex: 'shop', replacement: 'x' }).apply(record())?.topic, 'shop.order');
    assert.equal(transform('TimestampRouter', {}).apply(record())?.topic, 'shop.order-20260102');
  });

  it('TimestampConverter goes between text, numbers and Connect types', () => {
    const schema = struct([['at', STRING]]);
    const config = { field: 'at', 'target.type': 'Timestamp', format: 'yyyy-MM-dd HH:mm:ss.SSS' };
    const got = transform('TimestampConverter$Value', config).apply(
      record(new Struct(schema, ['2026-01-02 03:04:05.678'])),
    );
    assert.equal(fields(got).at, 1767323045678n);
    const back = transform('TimestampConverter$Value', { ...config, 'target.type': 'string' }).apply(got!);
    assert.equal(fields(back).at, '2026-01-02 03:04:05.678');
    const unix = transform('TimestampConverter$Value', {
      field: 'at',
      'target.type': 'unix',
      'unix.precision': 'microseconds',
    }).apply(got!);
    assert.equal(fields(unix).at, 1767323045678000n);
    const bad = () => transform('TimestampConverter$Value', config).apply(record(new Struct(schema, ['yesterday'])));
    assert.throws(bad, { code: 'TRANSFORM_FAILED' });
  });

  it('ValueToKey, HoistField, SetSchemaMetadata', () => {
    const keyed = transform('ValueToKey', { fields: 'name,id' }).apply(record());
    assert.ok(keyed?.key instanceof Struct);
    assert.deepEqual(keyed.key.values, ['lamp', 7]);
    assert.deepEqual(
      fields(transform('HoistField$Value', { field: 'line' }).apply({ ...record('text'), valueSchema: STRING })),
      { line: 'text' },
    );
    assert.equal(
      transform('SetSchemaMetadata$Value', { 'schema.name': 'Order' }).apply(record())?.valueSchema?.name,
      'Order',
    );
  });

  it('header transforms move, add and drop', () => {
    const moved = transform('HeaderFrom$Value', { fields: 'name', headers: 'h', operation: 'move' }).apply(record());
    assert.deepEqual(fields(moved), { id: 7, qty: 5, paid: true });
    assert.equal(moved?.headers[0]?.value, 'lamp');
    const added = transform('InsertHeader', { header: 'n', 'value.literal': '70000' }).apply(moved!);
    assert.deepEqual(
      added?.headers.map(h => [h.name, h.value, h.schema?.type]),
      [
        ['h', 'lamp', 'STRING'],
        ['n', 70000, 'INT32'],
      ],
    );
    assert.deepEqual(transform('DropHeaders', { headers: 'h,n' }).apply(added!)?.headers, []);
    assert.throws(() => transform('HeaderFrom$Value', { fields: 'a,b', headers: 'h', operation: 'copy' }), {
      code: 'CONFIG_INVALID',
    });
  });

  it('predicates tell tombstones, topics and headers', () => {
    const test = (name: string, config: Record<string, string>, r: ConnectRecord): boolean => {
      const found = plugins.find(p => p.className.endsWith(`predicates.${name}`));
      assert.ok(found?.kind === 'predicate');
      const made = found.create();
      made.configure(config);
      return made.test(r);
    };
    assert.equal(test('RecordIsTombstone', {}, record(null)), true);
    assert.equal(test('RecordIsTombstone', {}, record()), false);
    assert.equal(test('TopicNameMatches', { pattern: 'shop.*' }, record()), true);
    assert.equal(test('TopicNameMatches', { pattern: 'shop' }, record()), false);
    assert.equal(
      test('HasHeaderKey', { name: 'h' }, { ...record(), headers: [{ name: 'h', schema: null, value: 1 }] }),
      true,
    );
  });
});
