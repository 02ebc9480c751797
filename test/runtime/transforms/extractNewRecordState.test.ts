import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import { extractNewRecordStatePlugin } from '../../../runtime/transforms/extractNewRecordState.ts';
import { INT32, OPTIONAL_STRING, optional, STRING, Struct, struct } from '../../../schemas/data/index.ts';

const row = struct(
  [
    ['id', INT32],
    ['v', OPTIONAL_STRING],
  ],
  { name: 'p.t.Value', optional: true },
);
const source = struct([
  ['db', STRING],
  ['table', STRING],
]);
const envelope = struct(
  [
    ['before', row],
    ['after', optional(row)],
    ['source', source],
    ['op', STRING],
  ],
  { name: 'p.t.Envelope' },
);

const event = (op: string, before: unknown[] | null, after: unknown[] | null): ConnectRecord => ({
  topic: 'p.t',
  partition: null,
  keySchema: null,
  key: null,
  valueSchema: envelope,
  value: new Struct(envelope, [
    before && new Struct(row, before),
    after && new Struct(row, after),
    new Struct(source, ['shop', 't']),
    op,
  ]),
  timestamp: 1,
  headers: [],
});
const tombstone: ConnectRecord = { ...event('d', [1, null], null), value: null, valueSchema: null };

function unwrap(config: Record<string, string> = {}) {
  const transform = extractNewRecordStatePlugin.create();
  transform.configure(config);
  return (record: ConnectRecord): unknown[] | null | undefined => {
    const got = transform.apply(record);
    return got === null ? undefined : got.value instanceof Struct ? got.value.values : (got.value as null);
  };
}

describe('ExtractNewRecordState', () => {
  it('gives the row after the change and keeps tombstones only, by default', () => {
    const apply = unwrap();
    assert.deepEqual(apply(event('u', [1, 'a'], [1, 'b'])), [1, 'b']);
    assert.equal(apply(event('d', [1, 'b'], null)), undefined);
    assert.equal(apply(tombstone), null);
  });

  it('treats deletes and tombstones as each mode says', () => {
    const modes: [string, unknown, unknown][] = [
      ['drop', undefined, undefined],
      ['rewrite', [1, 'b', 'true'], undefined],
      ['rewrite-with-tombstone', [1, 'b', 'true'], null],
      ['delete-to-tombstone', null, undefined],
    ];
    for (const [mode, deleted, stone] of modes) {
      const apply = unwrap({ 'delete.tombstone.handling.mode': mode });
      assert.deepEqual(apply(event('d', [1, 'b'], null)), deleted, mode);
      assert.equal(apply(tombstone), stone, mode);
    }
  });

  it('adds fields and headers of the event', () => {
    const transform = extractNewRecordStatePlugin.create();
    transform.configure({
      'delete.tombstone.handling.mode': 'rewrite',
      'add.fields': 'op,table,source.db:base',
      'add.headers': 'db',
    });
    const got = transform.apply(event('c', null, [2, null]));
    assert.ok(got?.value instanceof Struct);
    assert.deepEqual(got.value.values, [2, null, 'false', 'c', 't', 'shop']);
    assert.deepEqual(
      got.value.schema.fields.map(f => f.name),
      ['id', 'v', '__deleted', '__op', '__table', '__base'],
    );
    assert.deepEqual(
      got.headers.map(h => [h.name, h.value]),
      [['__db', 'shop']],
    );
    assert.equal(got.valueSchema?.optional, false);
  });
});

describe('keys that Debezium 3.0 removed', () => {
  for (const [key, value, expected] of [
    ['drop.tombstones', 'false', /delete\.tombstone\.handling\.mode to tombstone/],
    ['delete.handling.mode', 'rewrite', /delete\.tombstone\.handling\.mode to rewrite,/],
    ['delete.handling.mode', 'odd', /none is now delete-to-tombstone/],
  ] as const)
    it(`${key}=${value} is refused with its successor`, () => {
      const transform = extractNewRecordStatePlugin.create();
      assert.throws(() => transform.configure({ [key]: value }), { code: 'CONFIG_INVALID', message: expected });
    });
});
