/** What is in a record is in its document, under its name; what cannot be is an error of that record. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import { INT64, Struct, struct } from '../../../schemas/data/index.ts';
import { envelopeSchema, event, item, tombstone } from '../../contract/sinkContract.ts';
import { type MongoTarget, type OpenSink, openMongoTarget, openSink, type SideSchemas } from './mongoTarget.ts';

const PLAIN: SideSchemas = { keySchema: null, valueSchema: null };

describe('fields', () => {
  let target: MongoTarget;
  before(async () => {
    target = await openMongoTarget();
  });
  after(() => target[Symbol.asyncDispose]());
  const open = (config?: Config): Promise<OpenSink> => openSink(target, config, { tolerate: true });
  const errants = ({ run }: OpenSink): unknown[] =>
    run.errants.map(({ record, error }) => [record.originalOffset, error.code]);

  it('keeps names with dots, and empty ones, whatever processors do', async () => {
    const value = { 'x.y': 1, y: 2, '': 3, '.z': 4, 'z.': 5, map: { 'a.b': 1, b: 2, '': { '': 1 } } };
    for (const chain of ['DocumentIdAdder', 'NullFieldValueRemover', 'RenameByMapping', 'RenameByRegex']) {
      await using sink = await open({ 'post.processor.chain': chain });
      await sink.deliver([{ key: { id: 1 }, value }], PLAIN);
      assert.deepEqual(await sink.documents(), { 1: value });
    }
  });

  it('keeps a member that is named as the prototype, and says what is wrong with a zero character', async () => {
    await using sink = await open();
    const text = '{"id":1,"__proto__":{"x":1},"in":{"__proto__":2}}';
    await sink.deliver(
      [
        { key: { id: 1 }, value: JSON.parse(text) },
        { key: { id: 2 }, value: { 'a\0b': 1 } },
      ],
      PLAIN,
    );
    assert.equal(JSON.stringify((await sink.documents())['1']), text);
    assert.deepEqual(errants(sink), [[1, 'SINK_VALUE_UNFIT']]);
    assert.match(sink.run.errants[0]!.error.message, /zero character/);
  });

  it('refuses an empty name where fields are set, and keeps it in ids', async () => {
    await using sink = await open({ 'writemodel.strategy': 'UpdateOneDefaultStrategy' });
    await sink.deliver(
      [
        { key: { '': 1, a: 1 }, value: { v: 1 } },
        { key: { '': 2, a: 1 }, value: { v: 2 } },
        { key: { id: 3 }, value: { '': 1 } },
      ],
      PLAIN,
    );
    assert.deepEqual(await sink.documents(), { '{"":1,"a":1}': { v: 1 }, '{"":2,"a":1}': { v: 2 } });
    assert.deepEqual(errants(sink), [[2, 'SINK_VALUE_UNFIT']]);
  });

  it('refuses what is nested too deep, and nothing beside it', async () => {
    const nested = (levels: number, inner: unknown = 1): unknown =>
      levels === 0 ? inner : { a: [nested(levels - 2, inner)] };
    const deep = 'inner';
    for (const config of [
      {},
      {
        'delete.on.null.values': 'false',
        'document.id.strategy': 'PartialValueStrategy',
        'writemodel.strategy': 'ReplaceOneBusinessKeyStrategy',
      } as Config,
    ]) {
      await using sink = await open(config);
      const values = [100, 102, 5000, 2].map(levels => ({ [deep]: nested(levels) }));
      await sink.deliver(
        values.map((value, id) => ({ key: { id }, value })),
        PLAIN,
      );
      assert.equal(Object.keys(await sink.documents()).length, 2);
      assert.deepEqual(errants(sink), [
        [1, 'SINK_VALUE_UNFIT'],
        [2, 'SINK_VALUE_UNFIT'],
      ]);
      for (const { error } of sink.run.errants) assert.match(error.message, /"inner".*more than 100 levels/);
    }
  });

  it('refuses a document that the driver takes for another value, and nothing beside it', async () => {
    await using sink = await open();
    const values = [{ v: 1 }, { v: { _bsontype: 'Int32' } }, { v: { _bsontype: 'x' } }, { v: 2 }];
    await sink.deliver(
      values.map((value, id) => ({ key: { id }, value })),
      PLAIN,
    );
    const documents = await sink.documents();
    assert.deepEqual([documents[0], documents[3]], [{ v: 1 }, { v: 2 }]);
    assert.deepEqual(
      sink.run.errants.map(({ error }) => error.code),
      ['SINK_RECORD_REJECTED', 'SINK_RECORD_REJECTED'],
    );
  });

  it('finds the document that is too large together with its id', async () => {
    await using sink = await open();
    const value = (bytes: number) => ({ v: 'x'.repeat(bytes) });
    const records = [10, (16 << 20) - 29, 20].map((bytes, id) => ({ key: { id }, value: value(bytes) }));
    await sink.deliver(records, PLAIN);
    assert.deepEqual(await sink.documents(), { 0: value(10), 2: value(20) });
    assert.deepEqual(errants(sink), [[1, 'SINK_RECORD_REJECTED']]);
    assert.match(sink.run.errants[0]!.error.message, /larger than the maximum size 16777216/);
  });

  it('refuses names of databases and collections that cannot be', async () => {
    await using sink = await open({
      'namespace.mapper': 'FieldPathNamespaceMapper',
      'namespace.mapper.key.database.field': 'db',
      'namespace.mapper.key.collection.field': 'collection',
    });
    const { databaseName } = target.db;
    const collection = target.uniqueName();
    const places: [string, string][] = [
      ['a.b', 'c'],
      [databaseName, collection],
      ['a b', 'c'],
      ['d'.repeat(64), 'c'],
      [databaseName, 'a$b'],
      [databaseName, 'system.x'],
      [databaseName, 'a\0b'],
      [databaseName, '.a'],
      [databaseName, 'a..b'],
      [databaseName, 'c'.repeat(255 - databaseName.length)],
    ];
    await sink.deliver(
      places.map(([db, name], id) => ({ key: { _id: id, db, collection: name }, value: { _id: id } })),
      PLAIN,
    );
    assert.equal((await target.documents(collection)).size, 1);
    assert.deepEqual(
      errants(sink),
      [0, 2, 3, 4, 5, 6, 7, 8, 9].map(offset => [offset, 'SINK_TABLE_NAME']),
    );
  });

  it('refuses fields that would be renamed to one name', async () => {
    const renames = [
      ['value.a', 'b'],
      ['value.x', '_id'],
      ['value.map.a', 'b'],
    ].map(([oldName, newName]) => ({ oldName, newName }));
    await using sink = await open({
      'post.processor.chain': 'RenameByMapping',
      'field.renamer.mapping': JSON.stringify(renames),
    });
    const pair = struct([
      ['a', INT64],
      ['b', INT64],
    ]);
    const values = [{ a: 1 }, { a: 1, b: 2 }, { x: 1 }, { map: { a: 1, b: 2 } }, { map: { a: 1 } }];
    const typed = { map: new Struct(pair, [1n, 2n]) };
    await sink.deliver(
      [...values, typed].map((value, id) => ({ key: { id }, value })),
      PLAIN,
    );
    assert.deepEqual(await sink.documents(), { 0: { b: 1 }, 4: { map: { b: 1 } } });
    assert.deepEqual(
      sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code, error.place.column]),
      [
        [1, 'SINK_FIELDS_COLLIDE', 'b'],
        [2, 'SINK_FIELDS_COLLIDE', '_id'],
        [3, 'SINK_FIELDS_COLLIDE', 'map.b'],
        [5, 'SINK_FIELDS_COLLIDE', 'map.b'],
      ],
    );
  });

  it('refuses change events without the row that they tell of', async () => {
    await using sink = await open();
    const { key } = tombstone(1n);
    const typed = ['c', 'r', 'u'].map(op => ({ key, value: event(op, null) }));
    await sink.deliver([...typed, { key: tombstone(2n).key, value: event('c', item(2n)) }], {
      valueSchema: envelopeSchema,
    });
    const plain = [null, 5, 'x', [1], {}].map((row, i) => ({
      key: { id: 10 + i },
      value: { op: 'c', source: {}, before: null, after: row },
    }));
    await sink.deliver(plain, PLAIN);
    assert.deepEqual(await sink.documents(), { 2: item(2n), 14: {} });
    assert.deepEqual(
      errants(sink),
      [0, 1, 2, 4, 5, 6, 7].map(offset => [offset, 'SINK_VALUE_UNUSABLE']),
    );
    assert.match(sink.run.errants[0]!.error.message, /field after/);
  });
});
