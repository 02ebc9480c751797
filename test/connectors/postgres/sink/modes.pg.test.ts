/** What the configuration can ask for beside the contract of all sinks: modes, keys, forms of records, names of tables. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  array,
  INT32,
  INT64,
  OPTIONAL_STRING,
  primitive,
  type Schema,
  STRING,
  Struct,
  struct,
} from '../../../../schemas/data/index.ts';
import { flat, flatBatch, jsonBatch, keySchema, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

describe('modes', () => {
  let orders: OrdersTarget;
  before(async () => {
    orders = await openOrders();
  });
  after(() => orders[Symbol.asyncDispose]());

  it('insert: a key that is there already is an error of that record', async () => {
    const table = await orders.create();
    await using run = await orders.start({ 'table.name.format': table }, { tolerate: true });
    await run.deliver(await flatBatch([flat(1n, 'a'), flat(2n, 'b'), flat(1n, 'again'), flat(3n, 'c')]));
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[2, 'SINK_RECORD_REJECTED']],
    );
    assert.match(run.errants[0]!.error.message, /unique constraint.*23505/);
    assert.deepEqual(await orders.rows(table), [
      { id: 1, note: 'a' },
      { id: 2, note: 'b' },
      { id: 3, note: 'c' },
    ]);
  });

  it('insert without any key appends every record', async () => {
    const table = await orders.create('id bigint, note text');
    await using run = await orders.start({ 'table.name.format': table });
    await run.deliver(await flatBatch([flat(1n, 'a'), flat(1n, 'a')]));
    assert.equal((await orders.rows(table)).length, 2);
  });

  it('update: changes rows that are there, counts those that are not', async () => {
    const table = await orders.create();
    await orders.target.client.query(`insert into ${table} values (1, 'old')`);
    await using run = await orders.start({ ...upsert(table), 'insert.mode': 'update' });
    await run.deliver(await flatBatch([flat(1n, 'new'), flat(2n, 'nowhere')]));
    assert.deepEqual(await orders.rows(table), [{ id: 1, note: 'new' }]);
    assert.equal(run.counts.get('rows_without_match'), 1);
  });

  it('pk.mode=kafka: replays are harmless without a key in the record', async () => {
    const table = orders.target.uniqueName();
    await using run = await orders.start({
      'insert.mode': 'upsert',
      'pk.mode': 'kafka',
      'auto.create': 'true',
      'table.name.format': table,
    });
    const batch = await flatBatch([flat(1n, 'a'), flat(1n, 'b')], 40);
    await run.deliver(batch);
    await run.deliver(batch);
    const columns = '__connect_offset::int as o, __connect_partition as p, __connect_topic as t, "Note" as note';
    assert.deepEqual(await orders.rows(table, columns), [
      { o: 40, p: 0, t: topic, note: 'a' },
      { o: 41, p: 0, t: topic, note: 'b' },
    ]);
  });

  it('pk.mode=record_value: key fields of the value, deletes by the row before', async () => {
    const table = await orders.create('id bigint, note text, primary key (note)');
    const row = struct(
      [
        ['id', INT64],
        ['note', STRING],
      ],
      { name: 'v.Row', optional: true },
    );
    const envelope = struct(
      [
        ['before', row],
        ['after', row],
        ['source', struct([['table', STRING]], { name: 'v.Source' })],
        ['op', STRING],
      ],
      { name: 'v.Envelope' },
    );
    const source = new Struct(envelope.fields[2]!.schema as typeof row, ['x']);
    const image = (id: bigint, note: string): Struct => new Struct(row, [id, note]);
    await using run = await orders.start({ ...upsert(table), 'pk.mode': 'record_value', 'pk.fields': 'note' });
    const records = [
      { key: null, value: new Struct(envelope, [null, image(1n, 'a'), source, 'c']) },
      { key: null, value: new Struct(envelope, [null, image(2n, 'b'), source, 'c']) },
      { key: null, value: new Struct(envelope, [image(1n, 'a'), null, source, 'd']) },
    ];
    await run.deliver(await avroSinkBatch({ topic, keySchema: null, valueSchema: envelope }, records));
    assert.deepEqual(await orders.rows(table), [{ id: 2, note: 'b' }]);
  });

  it('takes a key that is no struct under the one name of pk.fields', async () => {
    const table = await orders.create();
    await using run = await orders.start({ ...upsert(table), 'pk.fields': 'id' });
    const value = struct([['note', OPTIONAL_STRING]], { name: 'prim.Value' });
    const record = (key: bigint, note: string | null) => ({
      key,
      value: note === null ? null : new Struct(value, [note]),
    });
    const records = [record(1n, 'a'), record(2n, 'b'), record(1n, null)];
    await run.deliver(await avroSinkBatch({ topic, keySchema: INT64, valueSchema: value }, records));
    assert.deepEqual(await orders.rows(table), [{ id: 2, note: 'b' }]);
  });

  it('JSON without schema: rows of different fields, nested values, deletes', async () => {
    const table = await orders.create('id bigint primary key, note text, n numeric, doc jsonb, tags text[], ok bool');
    await using run = await orders.start(upsert(table));
    const record = (id: number, value: object | null): TestRecord => ({ key: { id }, value });
    await run.deliver(
      jsonBatch([
        record(1, { id: 1, note: 'a', n: 1.25 }),
        record(2, { id: 2, doc: { a: [1, { b: null }] }, tags: ['x', 'y'], ok: true }),
        record(3, { id: 3, note: 'gone' }),
        record(1, { id: 1, n: 7n }),
        record(3, null),
      ]),
    );
    assert.deepEqual(await orders.rows(table, 'id::int as id, note, n::text, doc, tags, ok'), [
      { id: 1, note: 'a', n: '7', doc: null, tags: null, ok: null },
      { id: 2, note: null, n: null, doc: { a: [1, { b: null }] }, tags: ['x', 'y'], ok: true },
    ]);
  });

  it('JSON without schema: change events, and no guesses about numbers in time columns', async () => {
    const table = await orders.create('id bigint primary key, note text, at timestamptz');
    await using run = await orders.start(upsert(table), { tolerate: true });
    const event = (op: string, after: object | null) => ({ before: null, after, source: { table: 'x' }, op, ts_ms: 1 });
    await run.deliver(
      jsonBatch([
        { key: { id: 1 }, value: event('r', { id: 1, note: 'a', at: '2021-03-04T03:06:07Z' }) },
        { key: { id: 1 }, value: event('u', { id: 1, note: '__debezium_unavailable_value', at: null }) },
        { key: { id: 2 }, value: event('c', { id: 2, note: 'b', at: 1614834367891 }) },
        { key: { id: 3 }, value: event('c', { id: 3, note: 'c', at: null }) },
        { key: { id: 3 }, value: event('d', null) },
      ]),
    );
    assert.deepEqual(await orders.rows(table, 'id::int as id, note, at'), [{ id: 1, note: 'a', at: null }]);
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[2, 'SINK_VALUE_UNFIT']],
    );
    // Reports show the causes behind the message: one that says the same would be said twice.
    assert.equal(run.errants[0]!.error.cause, undefined);
  });

  it('flattened events: __deleted deletes, other added fields are columns only where the table has them', async () => {
    const table = await orders.create('id bigint primary key, note text, __op text');
    const schema = struct(
      [
        ['id', INT64],
        ['note', OPTIONAL_STRING],
        ['__op', STRING],
        ['__deleted', OPTIONAL_STRING],
      ],
      { name: 'flattened.Value' },
    );
    const record = (id: bigint, op: string): TestRecord => ({
      key: new Struct(keySchema, [id]),
      value: new Struct(schema, [id, 'x', op, String(op === 'd')]),
    });
    await using run = await orders.start(upsert(table));
    const records = [record(1n, 'c'), record(2n, 'c'), record(1n, 'd')];
    await run.deliver(await avroSinkBatch({ topic, keySchema, valueSchema: schema }, records));
    assert.deepEqual(await orders.rows(table, 'id::int as id, __op'), [{ id: 2, __op: 'c' }]);
  });

  it('the placeholder in flattened events: updates leave the column, others are refused, whatever the type', async () => {
    const placeholder = '__debezium_unavailable_value';
    const bytes = Buffer.from(placeholder);
    const forms: [string, Schema, unknown, unknown][] = [
      ['jsonb', primitive('STRING', { name: 'io.debezium.data.Json' }), '{}', placeholder],
      ['bytea', primitive('BYTES'), Buffer.from('ab'), bytes],
      ['text[]', array(STRING), ['a', 'b'], [placeholder]],
      ['int[]', array(INT32), [1], [...bytes]],
      ['uuid[]', array(STRING), [], ['b68a35a7-17ad-35b3-af2a-ae46edb4545a']],
      ['text', STRING, 'x', bytes.toString('base64')],
    ];
    for (const [type, schema, known, lacking] of forms) {
      const table = await orders.create(`id bigint primary key, big ${type}, __op text`);
      const value = struct(
        [
          ['id', INT64],
          ['big', schema],
          ['__op', STRING],
        ],
        { name: 'toast.Value' },
      );
      const record = (id: bigint, big: unknown, op: string): TestRecord => ({
        key: new Struct(keySchema, [id]),
        value: new Struct(value, [id, big, op]),
      });
      await using run = await orders.start(upsert(table), { tolerate: true });
      const records = [record(1n, known, 'c'), record(1n, lacking, 'u'), record(2n, lacking, 'c')];
      await run.deliver(plainSinkBatch({ topic, keySchema, valueSchema: value }, records));
      const rows = await orders.rows(table, 'id::int as id, big is not null as kept, __op');
      assert.deepEqual(rows, [{ id: 1, kept: true, __op: 'u' }], type);
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code]),
        [[2, 'SINK_VALUE_UNAVAILABLE']],
        type,
      );
    }
  });

  it('replace.null.with.default fills nulls of flat records only', async () => {
    const table = await orders.create();
    const schema = struct(
      [
        ['id', INT64],
        ['note', primitive('STRING', { optional: true, defaultValue: 'none' })],
      ],
      { name: 'defaults.Value' },
    );
    const record = (id: bigint): TestRecord => ({
      key: new Struct(keySchema, [id]),
      value: new Struct(schema, [id, null]),
    });
    await using on = await orders.start(upsert(table));
    await on.deliver(plainSinkBatch({ topic, keySchema, valueSchema: schema }, [record(1n)]));
    await using off = await orders.start({ ...upsert(table), 'replace.null.with.default': 'false' });
    await off.deliver(plainSinkBatch({ topic, keySchema, valueSchema: schema }, [record(2n)]));
    assert.deepEqual(await orders.rows(table), [
      { id: 1, note: 'none' },
      { id: 2, note: null },
    ]);
  });

  it('names tables by topic, source and mapping', async () => {
    await orders.target.client.query('create schema if not exists sales');
    await orders.target.client.query('create table sales.a (id bigint primary key, note text)');
    await orders.target.client.query('create table sales.b (id bigint primary key, note text)');
    const row = struct(
      [
        ['id', INT64],
        ['note', OPTIONAL_STRING],
      ],
      { name: 's.Row', optional: true },
    );
    const source = struct(
      [
        ['schema', STRING],
        ['table', STRING],
      ],
      { name: 's.Source' },
    );
    const envelope = struct(
      [
        ['before', row],
        ['after', row],
        ['source', source],
        ['op', STRING],
      ],
      { name: 's.Envelope' },
    );
    const event = (id: bigint, table: string): TestRecord => ({
      key: new Struct(keySchema, [id]),
      value: new Struct(envelope, [null, new Struct(row, [id, table]), new Struct(source, ['sales', table]), 'c']),
    });
    const tombstone = (id: bigint): TestRecord => ({ key: new Struct(keySchema, [id]), value: null });
    const batchFor = (name: string, records: TestRecord[], firstOffset = 0) =>
      avroSinkBatch({ topic: name, firstOffset, keySchema, valueSchema: envelope }, records);

    await using bySource = await orders.start({
      ...upsert(''),
      'collection.name.format': '${source.schema}.${source.table}',
      'table.name.format': '${source.schema}.${source.table}',
    });
    await bySource.deliver(
      await batchFor('all', [event(1n, 'a'), event(1n, 'b'), event(2n, 'a'), event(3n, 'b'), tombstone(3n)]),
    );
    // A fetch ends anywhere: a tombstone may come without the event of its deletion.
    await bySource.deliver(await batchFor('all', [event(7n, 'a'), event(8n, 'b')], 5));
    await bySource.deliver(await batchFor('all', [tombstone(8n), event(9n, 'a')], 7));
    await bySource.deliver(await batchFor('all', [tombstone(9n)], 9));
    await using restarted = await orders.start({ ...upsert('${source.schema}.${source.table}') });
    await restarted.deliver(await batchFor('all', [tombstone(9n), event(10n, 'a')], 9));
    await using byTopic = await orders.start({ ...upsert('${topic}') });
    await byTopic.deliver(await batchFor('prefix.sales.a', [event(5n, 'x')]));
    await using mapped = await orders.start({ ...upsert('${topic}'), 'topics.to.tables.mapping': 'other:sales.b,x:y' });
    await mapped.deliver(await batchFor('other', [event(6n, 'x')]));
    assert.deepEqual(await orders.rows('sales.a', 'id::int as id, note'), [
      { id: 1, note: 'a' },
      { id: 2, note: 'a' },
      { id: 5, note: 'x' },
      { id: 7, note: 'a' },
      { id: 10, note: 'a' },
    ]);
    assert.deepEqual(await orders.rows('sales.b', 'id::int as id, note'), [
      { id: 1, note: 'b' },
      { id: 6, note: 'x' },
    ]);
    const like = { 'connector.class': 'io.debezium.connector.jdbc.JdbcSinkConnector', 'schema.evolution': 'basic' };
    const { 'table.name.format': _, ...unnamed } = upsert('');
    await using debezium = await orders.start({ ...unnamed, ...like });
    await debezium.deliver(await batchFor('prefix.sales.c', [event(7n, 'x')]));
    assert.equal((await orders.rows('prefix_sales_c', 'id, note')).length, 1);
  });

  it('matches columns without case, keeps generated columns out, writes identity columns', async () => {
    const table = await orders.create(
      'id bigint generated always as identity primary key, note text, twice text generated always as (note || note) stored',
    );
    await using run = await orders.start(upsert(table));
    await run.deliver(await flatBatch([flat(10n, 'a')]));
    await run.deliver(await flatBatch([flat(10n, 'b'), flat(11n, 'c')], 1));
    assert.deepEqual(await orders.rows(table, 'id::int as id, twice'), [
      { id: 10, twice: 'bb' },
      { id: 11, twice: 'cc' },
    ]);
  });

  it('a table whose columns are all keys', async () => {
    const table = await orders.create('id bigint primary key');
    await using run = await orders.start({ ...upsert(table), 'field.include.list': 'none' });
    await run.deliver(await flatBatch([flat(1n, 'x'), flat(2n, 'y')]));
    await run.deliver(await flatBatch([flat(1n, 'x')], 2));
    assert.equal((await orders.rows(table, 'id, 1')).length, 2);
  });

  it('writes to views and partitioned tables', async () => {
    const base = await orders.create();
    await orders.target.client.query(`create view v_${base} as select id, note from ${base}`);
    await orders.target.client.query(
      `create table p_${base} (id bigint primary key, note text) partition by range (id); create table p1_${base} partition of p_${base} for values from (0) to (1000)`,
    );
    const records = Array.from({ length: 200 }, (_, i) => flat(BigInt(i), 'x'));
    await using view = await orders.start({ 'table.name.format': `v_${base}` });
    await view.deliver(await flatBatch(records));
    await using parts = await orders.start(upsert(`p_${base}`));
    await parts.deliver(await flatBatch(records));
    assert.equal((await orders.rows(base)).length, 200);
    assert.equal((await orders.rows(`p_${base}`)).length, 200);
  });

  it('reports records without key, or whose value has no fields', async () => {
    const table = await orders.create();
    await using run = await orders.start(upsert(table), { tolerate: true });
    await run.deliver(await flatBatch([{ ...flat(1n, 'a'), key: null }, flat(2n, 'b')]));
    await run.deliver(
      plainSinkBatch({ topic, firstOffset: 2, keySchema, valueSchema: STRING }, [
        { key: new Struct(keySchema, [3n]), value: 'just text' },
      ]),
    );
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [
        [0, 'SINK_KEY_MISSING'],
        [2, 'SINK_VALUE_UNUSABLE'],
      ],
    );
    assert.deepEqual(await orders.rows(table), [{ id: 2, note: 'b' }]);
  });
});
