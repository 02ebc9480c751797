/** What the configuration can ask for beside the contract of all sinks: modes, keys, names, automatic DDL, and the errors of each. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import {
  array,
  Decimal,
  decimalSchema,
  INT32,
  INT64,
  OPTIONAL_INT64,
  OPTIONAL_STRING,
  primitive,
  type Schema,
  STRING,
  Struct,
  struct,
} from '../../../../schemas/data/index.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

const keySchema = struct([['id', INT64]], { name: 'orders.Key' });
const flatSchema = struct(
  [
    ['id', INT64],
    ['Note', OPTIONAL_STRING],
  ],
  { name: 'orders.Value' },
);
const flat = (id: bigint, note: string | null): TestRecord => ({
  key: new Struct(keySchema, [id]),
  value: new Struct(flatSchema, [id, note]),
});
const topic = 'orders';
const flatBatch = (records: readonly TestRecord[], firstOffset = 0) =>
  avroSinkBatch({ topic, firstOffset, keySchema, valueSchema: flatSchema }, records);
const jsonBatch = (records: readonly TestRecord[], firstOffset = 0) =>
  plainSinkBatch({ topic, firstOffset, keySchema: null, valueSchema: null }, records);

describe('modes', () => {
  let target: PgTarget;
  before(async () => {
    target = await openPgTarget(servers[0]![1]);
  });
  after(() => target[Symbol.asyncDispose]());

  const start = (extra: Config, options: { tolerate?: boolean } = {}) =>
    startSink(sinkPlugin.createTask(), { ...target.connection, ...extra }, options);
  const upsert = (table: string): Config => ({
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'table.name.format': table,
  });
  const create = async (columns = 'id bigint primary key, note text'): Promise<string> => {
    const table = target.uniqueName();
    await target.client.query(`create table ${table} (${columns})`);
    return table;
  };
  const rows = async (table: string, what = 'id::int as id, note'): Promise<unknown[]> =>
    (await target.client.query(`select ${what} from ${table} order by 1, 2`)).rows;

  it('insert: a key that is there already is an error of that record', async () => {
    const table = await create();
    await using run = await start({ 'table.name.format': table }, { tolerate: true });
    await run.deliver(await flatBatch([flat(1n, 'a'), flat(2n, 'b'), flat(1n, 'again'), flat(3n, 'c')]));
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[2, 'SINK_RECORD_REJECTED']],
    );
    assert.match(run.errants[0]!.error.message, /unique constraint.*23505/);
    assert.deepEqual(await rows(table), [
      { id: 1, note: 'a' },
      { id: 2, note: 'b' },
      { id: 3, note: 'c' },
    ]);
  });

  it('insert without any key appends every record', async () => {
    const table = await create('id bigint, note text');
    await using run = await start({ 'table.name.format': table });
    await run.deliver(await flatBatch([flat(1n, 'a'), flat(1n, 'a')]));
    assert.equal((await rows(table)).length, 2);
  });

  it('update: changes rows that are there, counts those that are not', async () => {
    const table = await create();
    await target.client.query(`insert into ${table} values (1, 'old')`);
    await using run = await start({ ...upsert(table), 'insert.mode': 'update' });
    await run.deliver(await flatBatch([flat(1n, 'new'), flat(2n, 'nowhere')]));
    assert.deepEqual(await rows(table), [{ id: 1, note: 'new' }]);
    assert.equal(run.counts.get('rows_without_match'), 1);
  });

  it('pk.mode=kafka: replays are harmless without a key in the record', async () => {
    const table = target.uniqueName();
    await using run = await start({
      'insert.mode': 'upsert',
      'pk.mode': 'kafka',
      'auto.create': 'true',
      'table.name.format': table,
    });
    const batch = await flatBatch([flat(1n, 'a'), flat(1n, 'b')], 40);
    await run.deliver(batch);
    await run.deliver(batch);
    const columns = '__connect_offset::int as o, __connect_partition as p, __connect_topic as t, "Note" as note';
    assert.deepEqual(await rows(table, columns), [
      { o: 40, p: 0, t: topic, note: 'a' },
      { o: 41, p: 0, t: topic, note: 'b' },
    ]);
  });

  it('pk.mode=record_value: key fields of the value, deletes by the row before', async () => {
    const table = await create('id bigint, note text, primary key (note)');
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
    await using run = await start({ ...upsert(table), 'pk.mode': 'record_value', 'pk.fields': 'note' });
    const records = [
      { key: null, value: new Struct(envelope, [null, image(1n, 'a'), source, 'c']) },
      { key: null, value: new Struct(envelope, [null, image(2n, 'b'), source, 'c']) },
      { key: null, value: new Struct(envelope, [image(1n, 'a'), null, source, 'd']) },
    ];
    await run.deliver(await avroSinkBatch({ topic, keySchema: null, valueSchema: envelope }, records));
    assert.deepEqual(await rows(table), [{ id: 2, note: 'b' }]);
  });

  it('takes a key that is no struct under the one name of pk.fields', async () => {
    const table = await create();
    await using run = await start({ ...upsert(table), 'pk.fields': 'id' });
    const value = struct([['note', OPTIONAL_STRING]], { name: 'prim.Value' });
    const record = (key: bigint, note: string | null) => ({
      key,
      value: note === null ? null : new Struct(value, [note]),
    });
    const records = [record(1n, 'a'), record(2n, 'b'), record(1n, null)];
    await run.deliver(await avroSinkBatch({ topic, keySchema: INT64, valueSchema: value }, records));
    assert.deepEqual(await rows(table), [{ id: 2, note: 'b' }]);
  });

  it('JSON without schema: rows of different fields, nested values, deletes', async () => {
    const table = await create('id bigint primary key, note text, n numeric, doc jsonb, tags text[], ok bool');
    await using run = await start(upsert(table));
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
    assert.deepEqual(await rows(table, 'id::int as id, note, n::text, doc, tags, ok'), [
      { id: 1, note: 'a', n: '7', doc: null, tags: null, ok: null },
      { id: 2, note: null, n: null, doc: { a: [1, { b: null }] }, tags: ['x', 'y'], ok: true },
    ]);
  });

  it('JSON without schema: change events, and no guesses about numbers in time columns', async () => {
    const table = await create('id bigint primary key, note text, at timestamptz');
    await using run = await start(upsert(table), { tolerate: true });
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
    assert.deepEqual(await rows(table, 'id::int as id, note, at'), [{ id: 1, note: 'a', at: null }]);
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[2, 'SINK_VALUE_UNFIT']],
    );
  });

  it('flattened events: __deleted deletes, other added fields are columns only where the table has them', async () => {
    const table = await create('id bigint primary key, note text, __op text');
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
    await using run = await start(upsert(table));
    const records = [record(1n, 'c'), record(2n, 'c'), record(1n, 'd')];
    await run.deliver(await avroSinkBatch({ topic, keySchema, valueSchema: schema }, records));
    assert.deepEqual(await rows(table, 'id::int as id, __op'), [{ id: 2, __op: 'c' }]);
  });

  it('replace.null.with.default fills nulls of flat records only', async () => {
    const table = await create();
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
    await using on = await start(upsert(table));
    await on.deliver(plainSinkBatch({ topic, keySchema, valueSchema: schema }, [record(1n)]));
    await using off = await start({ ...upsert(table), 'replace.null.with.default': 'false' });
    await off.deliver(plainSinkBatch({ topic, keySchema, valueSchema: schema }, [record(2n)]));
    assert.deepEqual(await rows(table), [
      { id: 1, note: 'none' },
      { id: 2, note: null },
    ]);
  });

  it('names tables by topic, source and mapping', async () => {
    await target.client.query('create schema if not exists sales');
    await target.client.query('create table sales.a (id bigint primary key, note text)');
    await target.client.query('create table sales.b (id bigint primary key, note text)');
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
    const batchFor = (name: string, records: TestRecord[]) =>
      avroSinkBatch({ topic: name, keySchema, valueSchema: envelope }, records);

    await using bySource = await start({
      ...upsert(''),
      'collection.name.format': '${source.schema}.${source.table}',
      'table.name.format': '${source.schema}.${source.table}',
    });
    await bySource.deliver(
      await batchFor('all', [event(1n, 'a'), event(1n, 'b'), event(2n, 'a'), event(3n, 'b'), tombstone(3n)]),
    );
    await using byTopic = await start({ ...upsert('${topic}') });
    await byTopic.deliver(await batchFor('prefix.sales.a', [event(5n, 'x')]));
    await using mapped = await start({ ...upsert('${topic}'), 'topics.to.tables.mapping': 'other:sales.b,x:y' });
    await mapped.deliver(await batchFor('other', [event(6n, 'x')]));
    assert.deepEqual(await rows('sales.a', 'id::int as id, note'), [
      { id: 1, note: 'a' },
      { id: 2, note: 'a' },
      { id: 5, note: 'x' },
    ]);
    assert.deepEqual(await rows('sales.b', 'id::int as id, note'), [
      { id: 1, note: 'b' },
      { id: 6, note: 'x' },
    ]);
    const like = { 'connector.class': 'io.debezium.connector.jdbc.JdbcSinkConnector', 'schema.evolution': 'basic' };
    const { 'table.name.format': _, ...unnamed } = upsert('');
    await using debezium = await start({ ...unnamed, ...like });
    await debezium.deliver(await batchFor('prefix.sales.c', [event(7n, 'x')]));
    assert.equal((await rows('prefix_sales_c', 'id, note')).length, 1);
  });

  it('auto.create and auto.evolve: keys, required columns, new and wider columns; new required fields are refused', async () => {
    const table = target.uniqueName();
    const config = { ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' };
    await using run = await start(config);
    const versions = [
      struct(
        [
          ['id', INT64],
          ['n', INT32],
          ['price', decimalSchema(2, 6)],
        ],
        { name: 'ev.V1' },
      ),
      struct(
        [
          ['id', INT64],
          ['n', OPTIONAL_INT64],
          ['price', decimalSchema(3, 9)],
          ['extra', OPTIONAL_STRING],
        ],
        { name: 'ev.V2' },
      ),
      struct(
        [
          ['id', INT64],
          ['n', OPTIONAL_INT64],
          ['must', STRING],
        ],
        { name: 'ev.V3' },
      ),
    ];
    const values = [
      [1n, 5, new Decimal(150n, 2)],
      [2n, 2n ** 40n, new Decimal(123456789n, 3), 'x'],
      [3n, 1n, 'y'],
    ];
    const batchOf = (i: number) =>
      avroSinkBatch({ topic, firstOffset: i, keySchema, valueSchema: versions[i]! }, [
        { key: new Struct(keySchema, [values[i]![0]]), value: new Struct(versions[i]!, values[i]!) },
      ]);
    await run.deliver(await batchOf(0));
    await run.deliver(await batchOf(1));
    const { rows: columns } = await target.client.query(
      `select attname, format_type(atttypid, atttypmod) as type, attnotnull from pg_attribute where attrelid = '${table}'::regclass and attnum > 0 order by attnum`,
    );
    assert.deepEqual(
      columns.map(c => [c.attname, c.type, c.attnotnull]),
      [
        ['id', 'bigint', true],
        ['n', 'bigint', true],
        ['price', 'numeric(9,3)', true],
        ['extra', 'text', false],
      ],
    );
    assert.deepEqual(await rows(table, 'id::int as id, n::text, price::text, extra'), [
      { id: 1, n: '5', price: '1.500', extra: null },
      { id: 2, n: String(2n ** 40n), price: '123456.789', extra: 'x' },
    ]);
    await assert.rejects(run.deliver(await batchOf(2)), { code: 'SINK_COLUMN_REQUIRED', message: /"must"/ });
  });

  it('two tasks that create and widen the same table at the same time both go on', async () => {
    for (let round = 0; round < 5; round++) {
      const table = target.uniqueName();
      const config = { ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' };
      const wider = struct(
        [
          ['id', INT64],
          ['Note', OPTIONAL_STRING],
          ['more', OPTIONAL_STRING],
        ],
        { name: `race.V${round}` },
      );
      await using a = await start(config);
      await using b = await start(config);
      const both = async (make: (id: bigint) => Promise<Parameters<typeof a.deliver>[0]>) =>
        Promise.all([a.deliver(await make(1n)), b.deliver(await make(2n))]);
      await both(id => flatBatch([flat(id, 'x')]));
      await both(id =>
        avroSinkBatch({ topic, keySchema, valueSchema: wider }, [
          { key: new Struct(keySchema, [id]), value: new Struct(wider, [id, 'y', 'z']) },
        ]),
      );
      assert.deepEqual(await rows(table, 'id::int as id, "Note" as note, more'), [
        { id: 1, note: 'y', more: 'z' },
        { id: 2, note: 'y', more: 'z' },
      ]);
    }
  });

  it('gives rows that are there already the default of a new field, whatever is in it', async () => {
    const table = await create();
    const config = { ...upsert(table), 'auto.evolve': 'true' };
    const defaults: [string, Schema, string][] = [
      ['text', primitive('STRING', { optional: true, defaultValue: `it's \\ "odd"; drop` }), `it's \\ "odd"; drop`],
      ['price', decimalSchema(3, 12, { defaultValue: new Decimal(7000n, 3) }), '7.000'],
      ['day', primitive('INT32', { name: 'io.debezium.time.Date', optional: true, defaultValue: 18690 }), '2021-03-04'],
      ['raw', primitive('BYTES', { optional: true, defaultValue: Buffer.from([0, 92]) }), '\\x005c'],
      ['big', primitive('INT64', { defaultValue: 2n ** 60n }), String(2n ** 60n)],
      ['list', array(INT32, { optional: true, defaultValue: [1, 2] }), '{1,2}'],
    ];
    const fields = defaults.map(([name, schema]) => [name, schema] as const);
    const schema = struct([['id', INT64], ['note', OPTIONAL_STRING], ...fields], { name: 'defaults.V2' });
    await using run = await start(config);
    await run.deliver(await flatBatch([flat(1n, 'old')]));
    const values = [2n, 'new', ...defaults.map(([, s]) => s.defaultValue)];
    const record = { key: new Struct(keySchema, [2n]), value: new Struct(schema, values) };
    await run.deliver(plainSinkBatch({ topic, firstOffset: 1, keySchema, valueSchema: schema }, [record]));
    const found = await rows(table, `id::int, ${defaults.map(([name]) => `${name}::text`).join(', ')}`);
    const expected = Object.fromEntries(defaults.map(([name, , text]) => [name, text]));
    assert.deepEqual(found, [
      { id: 1, ...expected },
      { id: 2, ...expected },
    ]);
  });

  it('leaves deletions from a table that is still to be created', async () => {
    const table = target.uniqueName();
    await using run = await start({ ...upsert(table), 'auto.create': 'true' });
    const gone = { ...flat(1n, 'a'), value: null };
    await run.deliver(await flatBatch([gone]));
    await run.deliver(await flatBatch([flat(1n, 'a'), gone, flat(2n, 'b')], 1));
    assert.deepEqual(await rows(table, 'id::int as id, "Note" as note'), [{ id: 2, note: 'b' }]);
  });

  it('matches columns without case, keeps generated columns out, writes identity columns', async () => {
    const table = await create(
      'id bigint generated always as identity primary key, note text, twice text generated always as (note || note) stored',
    );
    await using run = await start(upsert(table));
    await run.deliver(await flatBatch([flat(10n, 'a')]));
    await run.deliver(await flatBatch([flat(10n, 'b'), flat(11n, 'c')], 1));
    assert.deepEqual(await rows(table, 'id::int as id, twice'), [
      { id: 10, twice: 'bb' },
      { id: 11, twice: 'cc' },
    ]);
  });

  it('a table whose columns are all keys', async () => {
    const table = await create('id bigint primary key');
    await using run = await start({ ...upsert(table), 'field.include.list': 'none' });
    await run.deliver(await flatBatch([flat(1n, 'x'), flat(2n, 'y')]));
    await run.deliver(await flatBatch([flat(1n, 'x')], 2));
    assert.equal((await rows(table, 'id, 1')).length, 2);
  });

  it('writes to views and partitioned tables', async () => {
    const base = await create();
    await target.client.query(`create view v_${base} as select id, note from ${base}`);
    await target.client.query(
      `create table p_${base} (id bigint primary key, note text) partition by range (id); create table p1_${base} partition of p_${base} for values from (0) to (1000)`,
    );
    const records = Array.from({ length: 200 }, (_, i) => flat(BigInt(i), 'x'));
    await using view = await start({ 'table.name.format': `v_${base}` });
    await view.deliver(await flatBatch(records));
    await using parts = await start(upsert(`p_${base}`));
    await parts.deliver(await flatBatch(records));
    assert.equal((await rows(base)).length, 200);
    assert.equal((await rows(`p_${base}`)).length, 200);
  });

  it('names what is wrong with table, key, privilege or configuration', async () => {
    const noKey = await create('id bigint, note text');
    const required = await create('id bigint primary key, note text, must text not null');
    const one = [flat(1n, 'a')];
    const cases: [Config, string, RegExp][] = [
      [upsert(noKey), 'SINK_KEY_INDEX_MISSING', /\(id\).*none/],
      [upsert(required), 'SINK_COLUMN_REQUIRED', /"must"/],
      [{ ...upsert(noKey), 'pk.fields': 'nope' }, 'SINK_KEY_MISSING', /"nope"/],
      [upsert('${source.table}'), 'SINK_TABLE_NAME', /source\.table/],
    ];
    for (const [config, code, message] of cases) {
      await using run = await start(config, { tolerate: true });
      await assert.rejects(run.deliver(await flatBatch(one)), { code, message });
    }
    const granted = await create();
    await target.client.query(`drop role if exists ${granted}_role; create role ${granted}_role login password 'x'`);
    const limited = { ...upsert(granted), 'connection.user': `${granted}_role`, 'connection.password': 'x' };
    await target.client.query(`grant insert, select on ${granted} to ${granted}_role`);
    await using run = await start(limited);
    await assert.rejects(run.deliver(await flatBatch(one)), { code: 'SINK_PRIVILEGE', message: /UPDATE, DELETE/ });
    await run.abort();
    await target.client.query(`drop owned by ${granted}_role; drop role ${granted}_role`);
    await assert.rejects(start({ ...upsert(noKey), 'connection.user': 'nobody_here', 'connection.password': 'x' }), {
      code: 'SINK_LOGIN_FAILED',
    });
    await assert.rejects(start({ ...upsert(noKey), 'connection.url': 'jdbc:mysql://x/y' }), {
      code: 'CONFIG_INVALID',
      message: /connection\.url/,
    });
  });

  it('reports records without key, or whose value has no fields', async () => {
    const table = await create();
    await using run = await start(upsert(table), { tolerate: true });
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
    assert.deepEqual(await rows(table), [{ id: 2, note: 'b' }]);
  });
});
