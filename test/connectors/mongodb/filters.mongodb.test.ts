/** The document of a record is found by equality with its id, business key or image from before, whatever is in them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import { INT64, primitive, STRING, Struct, struct } from '../../../schemas/data/index.ts';
import { item, type Named, rowSchema } from '../../contract/sinkContract.ts';
import { type MongoTarget, type OpenSink, openMongoTarget, openSink, type SideSchemas } from './mongoTarget.ts';

const PLAIN: SideSchemas = { keySchema: null, valueSchema: null };

describe('filters', () => {
  let target: MongoTarget;
  before(async () => {
    target = await openMongoTarget();
  });
  after(() => target[Symbol.asyncDispose]());
  const open = (config?: Config): Promise<OpenSink> => openSink(target, config, { tolerate: true });
  const errants = ({ run }: OpenSink): unknown[] =>
    run.errants.map(({ record, error }) => [record.originalOffset, error.code, error.place.column]);
  const unfit = (offset: number, field: string): unknown[] => [offset, 'SINK_VALUE_UNFIT', field];

  it('refuses operators in keys', async () => {
    await using sink = await open();
    await sink.deliver(
      [1, 2, 3].map(id => ({ key: { id }, value: { id, v: id } })),
      PLAIN,
    );
    await sink.deliver(
      [
        { key: { id: { $gt: 2 } }, value: { v: 'x' } },
        { key: { id: { $lt: 3 } }, value: null },
        { key: { id: [{ a: { $gt: 'secret' } }] }, value: null },
        { key: { id: { a: { b: 1 } } }, value: { v: 'nested' } },
        { key: { id: 1, $where: 'secret' }, value: null },
      ],
      PLAIN,
    );
    assert.deepEqual(await sink.documents(), {
      1: { id: 1, v: 1 },
      2: { id: 2, v: 2 },
      3: { id: 3, v: 3 },
      '{"a":{"b":1}}': { v: 'nested' },
    });
    assert.deepEqual(errants(sink), [unfit(3, 'id'), unfit(4, 'id'), unfit(5, 'id'), unfit(7, '$where')]);
    for (const { error } of sink.run.errants) assert.doesNotMatch(error.message, /secret|[23]\b/);
  });

  it('refuses operators in an _id that key or value has', async () => {
    for (const side of ['Key', 'Value']) {
      await using sink = await open({
        'delete.on.null.values': 'false',
        'document.id.strategy': `ProvidedIn${side}Strategy`,
      });
      const record = (_id: unknown) => ({ key: { _id }, value: side === 'Key' ? { v: 1 } : { _id, v: 1 } });
      await sink.deliver([record(1), record({ $gt: 0 }), record({ a: 1 })], PLAIN);
      assert.deepEqual(await sink.documents(), { 1: { v: 1 }, '{"a":1}': { v: 1 } });
      assert.deepEqual(errants(sink), [unfit(1, '_id')]);
    }
  });

  it('refuses operators in business keys', async () => {
    await using sink = await open({
      'delete.on.null.values': 'false',
      'document.id.strategy': 'PartialValueStrategy',
      'document.id.strategy.partial.value.projection.type': 'blocklist',
      'document.id.strategy.partial.value.projection.list': 'v',
      'writemodel.strategy': 'ReplaceOneBusinessKeyStrategy',
    });
    const values = [
      { a: 1 },
      { a: { $gt: 0 } },
      { a: [{ $gt: 0 }] },
      { $where: 'true' },
      { 'b.c': 1 },
      { a: { b: 1 } },
    ];
    await sink.deliver(
      values.map(value => ({ key: null, value: { ...value, v: 1 } })),
      PLAIN,
    );
    const found = Object.values(await sink.documents());
    assert.deepEqual(found, [
      { a: 1, v: 1 },
      { a: { b: 1 }, v: 1 },
    ]);
    assert.deepEqual(errants(sink), [unfit(1, 'a'), unfit(2, 'a'), unfit(3, '$where'), unfit(4, 'b.c')]);
  });

  it('compares images from before with whole documents', async () => {
    await using sink = await open({
      'change.data.capture.handler': 'RdbmsHandler',
      'delete.on.null.values': 'false',
    });
    const change = (op: string, earlier: Named | null, later: Named | null) => ({
      key: null,
      value: { op, source: {}, before: earlier, after: later },
    });
    await sink.deliver([change('c', null, { a: { b: 1 } }), change('c', null, { a: 5 })], PLAIN);
    await sink.deliver([change('d', { a: { $gt: 1 } }, null), change('u', { a: { b: 1 } }, { a: { b: 2 } })], PLAIN);
    assert.deepEqual(Object.values(await sink.documents()), [{ a: { b: 2 } }, { a: 5 }]);
    await sink.deliver([change('d', { $where: 'true' }, null)], PLAIN);
    assert.deepEqual(errants(sink), [unfit(4, '$where')]);
  });

  it('refuses times finer than a millisecond where they tell documents apart', async () => {
    const at = primitive('INT64', { name: 'io.debezium.time.MicroTimestamp' });
    const zoned = primitive('STRING', { name: 'io.debezium.time.ZonedTimestamp' });
    const single = struct([['at', at]]);
    const pair = struct([
      ['id', INT64],
      ['at', zoned],
    ]);
    const { value } = { value: Struct.of(rowSchema, item(1n)) };
    for (const handler of ['', 'RdbmsHandler']) {
      await using sink = await open(handler === '' ? {} : { 'change.data.capture.handler': handler });
      const change = { op: 'c', source: {}, before: null, after: { v: 1 } };
      const plain = (key: Struct) => ({ key, value: change });
      const times = [1_000n, 1_001n].map(us => plain(new Struct(single, [us])));
      await sink.deliver(times, { keySchema: single, valueSchema: null });
      const texts = ['2020-01-01T00:00:00.001Z', '2020-01-01T00:00:00.001000001Z', '2020-01-01T00:00:00.001000000Z'];
      await sink.deliver(
        texts.map(text => plain(new Struct(pair, [1n, text]))),
        { keySchema: pair, valueSchema: null },
      );
      assert.equal(Object.keys(await sink.documents()).length, 2);
      assert.deepEqual(errants(sink), [unfit(1, 'at'), unfit(3, 'at')]);
      assert.match(sink.run.errants[0]!.error.message, /temporal\.values=raw/);
    }
    await using raw = await open({ 'temporal.values': 'raw' });
    await raw.deliver(
      [1_000n, 1_001n].map(us => ({ key: new Struct(single, [us]), value })),
      { keySchema: single },
    );
    assert.equal(Object.keys(await raw.documents()).length, 2);
    await using byKey = await open({
      'delete.on.null.values': 'false',
      'document.id.strategy': 'PartialValueStrategy',
      'document.id.strategy.partial.value.projection.type': 'allowlist',
      'document.id.strategy.partial.value.projection.list': 'at',
      'writemodel.strategy': 'ReplaceOneBusinessKeyStrategy',
    });
    const named = struct([
      ['at', at],
      ['name', STRING],
    ]);
    await byKey.deliver([{ key: null, value: new Struct(named, [1_001n, 'x']) }], {
      keySchema: null,
      valueSchema: named,
    });
    assert.deepEqual(errants(byKey), [unfit(0, 'at')]);
  });
});
