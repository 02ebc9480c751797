/** Changes at the source that the sink follows or refuses to guess at, partitioned targets, and targets that play a replica. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SinkBatch } from '../../../../runtime/api/index.ts';
import {
  Decimal,
  decimalSchema,
  INT64,
  OPTIONAL_INT32,
  OPTIONAL_STRING,
  primitive,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../../../schemas/data/index.ts';
import { flat, flatBatch, jsonBatch, keySchema, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

describe('evolution', () => {
  let orders: OrdersTarget;
  before(async () => {
    orders = await openOrders();
  });
  after(() => orders[Symbol.asyncDispose]());

  const batchOf = (
    valueSchema: StructSchema,
    rows: readonly (readonly unknown[])[],
    firstOffset = 0,
  ): Promise<SinkBatch> =>
    avroSinkBatch(
      { topic, firstOffset, keySchema, valueSchema },
      rows.map(
        (row): TestRecord => ({ key: new Struct(keySchema, [row[0]]), value: new Struct(valueSchema, [...row]) }),
      ),
    );
  const typesOf = async (table: string): Promise<Record<string, string>> => {
    const { rows } = await orders.target.client.query(
      'select attname, format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = $1::regclass and attnum > 0',
      [table],
    );
    return Object.fromEntries(rows.map(r => [r.attname, r.type]));
  };

  it('widens columns for values whose width no schema tells, with auto.evolve only', async () => {
    const schema = struct(
      [
        ['id', INT64],
        ['note', OPTIONAL_STRING],
        ['price', decimalSchema(2)],
      ],
      { name: 'wide.V1' },
    );
    const rows = [
      [1n, 'four', new Decimal(999n, 2)],
      [2n, '😀😀😀😀', new Decimal(-999n, 2)],
      [3n, 'five!', new Decimal(1n, 2)],
      [4n, 'x', new Decimal(100000n, 2)],
    ];
    const columns = 'id bigint primary key, note varchar(4), price numeric(3,2)';
    const strict = await orders.create(columns);
    await using refusing = await orders.start(upsert(strict), { tolerate: true });
    await refusing.deliver(await batchOf(schema, rows));
    assert.deepEqual(
      refusing.errants.map(e => [e.record.originalOffset, e.error.code]),
      [
        [2, 'SINK_RECORD_REJECTED'],
        [3, 'SINK_RECORD_REJECTED'],
      ],
    );
    const table = await orders.create(columns);
    await using run = await orders.start({ ...upsert(table), 'schema.evolution': 'basic' });
    await run.deliver(await batchOf(schema, rows));
    assert.deepEqual(await typesOf(table), { id: 'bigint', note: 'character varying', price: 'numeric' });
    assert.deepEqual(await orders.rows(table, 'id::int, note, price::text'), [
      { id: 1, note: 'four', price: '9.99' },
      { id: 2, note: '😀😀😀😀', price: '-9.99' },
      { id: 3, note: 'five!', price: '0.01' },
      { id: 4, note: 'x', price: '1000.00' },
    ]);
  });

  it('widens integers for numbers without schema', async () => {
    const table = await orders.create('id bigint primary key, n smallint, m integer');
    await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
    await run.deliver(
      jsonBatch([
        { key: { id: 1 }, value: { id: 1, n: 32767, m: -2147483648 } },
        { key: { id: 2 }, value: { id: 2, n: -32769, m: 2147483648 } },
      ]),
    );
    assert.deepEqual(await typesOf(table), { id: 'bigint', n: 'bigint', m: 'bigint' });
    assert.deepEqual(await orders.rows(table, 'id::int, n::text, m::text'), [
      { id: 1, n: '32767', m: '-2147483648' },
      { id: 2, n: '-32769', m: '2147483648' },
    ]);
  });

  it('takes values that a column has become wide enough for since its table was read', async () => {
    const table = await orders.create('id bigint primary key, n integer');
    const schema = struct(
      [
        ['id', INT64],
        ['n', INT64],
      ],
      { name: 'widened.Row' },
    );
    await using run = await orders.start(upsert(table), { tolerate: true });
    await run.deliver(await batchOf(schema, [[1n, 1n]]));
    await run.deliver(await batchOf(schema, [[2n, 5_000_000_000n]], 1));
    assert.deepEqual(
      run.errants.map(({ error }) => error.code),
      ['SINK_VALUE_UNFIT'],
    );
    await orders.target.client.query(`alter table ${table} alter column n type bigint`);
    // A table is not read again for each such value.
    let offset = 2;
    await waitUntil('the value fits', 10_000, async () => {
      await run.deliver(await batchOf(schema, [[3n, 6_000_000_000n]], offset++));
      return (await orders.rows(table, 'id::int, n::text')).length === 2;
    });
    assert.deepEqual(await orders.rows(table, 'id::int, n::text'), [
      { id: 1, n: '1' },
      { id: 3, n: '6000000000' },
    ]);
  });

  it('does not mix tables whose names differ by case', async () => {
    const table = orders.target.uniqueName();
    const config = { ...upsert('${topic}'), 'auto.create': 'true' };
    const rows = (of: string, id: bigint): Promise<SinkBatch> => {
      const valueSchema = struct([['id', INT64]], { name: 'cased.Row' });
      const record = { key: new Struct(keySchema, [id]), value: new Struct(valueSchema, [id]) };
      return avroSinkBatch({ topic: of, keySchema, valueSchema }, [record]);
    };
    const upper = `${table}_Users`;
    const lower = `${table}_users`;
    await using run = await orders.start(config);
    await run.deliver(await rows(upper, 1n));
    await assert.rejects(run.deliver(await rows(lower, 1n)), { code: 'SINK_TABLE_NAME', message: /_Users.*_users/ });
    await orders.target.client.query(`create table "${lower}" (id bigint primary key)`);
    await using again = await orders.start(config);
    await again.deliver(await rows(lower, 2n), await rows(upper, 3n));
    const ids = async (of: string): Promise<unknown[]> =>
      (await orders.target.client.query(`select id::int from "${of}" order by id`)).rows.map(row => row.id);
    assert.deepEqual(await ids(upper), [1, 3]);
    assert.deepEqual(await ids(lower), [2]);
  });

  it('tells of a column that may be another one renamed with another type', async () => {
    const version = (field: string, type: typeof INT64): StructSchema =>
      struct(
        [
          ['id', INT64],
          [field, type],
        ],
        { name: `retyped.${field}` },
      );
    const table = await orders.create('id bigint primary key, qty integer');
    const warnings: unknown[] = [];
    const logger = { error() {}, warn: (fields: unknown) => void warnings.push(fields), info() {}, debug() {} };
    await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' }, { logger });
    await run.deliver(await batchOf(version('qty', OPTIONAL_INT32), [[1n, 17]]));
    const later = primitive('INT64', { optional: true, defaultValue: 1n });
    await run.deliver(await batchOf(version('quantity', later), [[2n, 18n]], 1));
    assert.deepEqual(
      warnings.map(fields => (fields as { gone: unknown }).gone),
      [['qty']],
    );
  });

  it('does not guess whether a column with a default was renamed', async () => {
    const withDefault = primitive('INT64', { defaultValue: 5n });
    const version = (field: string): StructSchema =>
      struct(
        [
          ['id', INT64],
          [field, withDefault],
        ],
        { name: `renamed.${field}` },
      );
    const table = await orders.create('id bigint primary key, old_name bigint default 5, others bigint');
    const config = { ...upsert(table), 'auto.evolve': 'true' };
    await using run = await orders.start(config);
    await run.deliver(await batchOf(version('old_name'), [[1n, 17n]]));
    await assert.rejects(run.deliver(await batchOf(version('new_name'), [[2n, 18n]], 1)), {
      code: 'SINK_COLUMN_RENAMED',
      message: /RENAME COLUMN "old_name" TO "new_name".*ADD COLUMN "new_name" bigint/,
    });
    await orders.target.client.query(`alter table ${table} rename column old_name to new_name`);
    await using again = await orders.start(config);
    await again.deliver(await batchOf(version('new_name'), [[2n, 18n]], 1));
    // Nothing goes: it is a new one.
    const both = struct([...version('new_name').fields.map(f => [f.name, f.schema] as const), ['third', withDefault]], {
      name: 'renamed.both',
    });
    await again.deliver(await batchOf(both, [[3n, 19n, 6n]], 2));
    assert.deepEqual(await orders.rows(table, 'id::int, new_name::int, third::int'), [
      { id: 1, new_name: 17, third: 5 },
      { id: 2, new_name: 18, third: 5 },
      { id: 3, new_name: 19, third: 6 },
    ]);
  });

  it('warns where a column without a default may have been renamed', async () => {
    const version = (field: string): StructSchema =>
      struct(
        [
          ['id', INT64],
          [field, OPTIONAL_STRING],
        ],
        { name: `moved.${field}` },
      );
    const table = await orders.create('id bigint primary key, old_name text');
    const warnings: unknown[] = [];
    const logger = { error() {}, info() {}, debug() {}, warn: (fields: unknown) => warnings.push(fields) };
    await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' }, { logger });
    await run.deliver(await batchOf(version('old_name'), [[1n, 'a']]));
    await run.deliver(await batchOf(version('new_name'), [[2n, 'b']], 1));
    const [{ gone, column, statement }] = warnings as [{ gone: string; column: string; statement: string }];
    assert.deepEqual([gone, column, warnings.length], ['old_name', 'new_name', 1]);
    await orders.target.client.query(statement);
    assert.deepEqual(await orders.rows(table, 'id::int, new_name'), [
      { id: 1, new_name: 'a' },
      { id: 2, new_name: 'b' },
    ]);
  });

  it('tells of an update without all values in insert mode, where nothing could complete it', async () => {
    const table = await orders.create('id bigint, note text');
    const schema = struct(
      [
        ['id', INT64],
        ['note', OPTIONAL_STRING],
        ['__op', STRING],
      ],
      { name: 'partial.V1' },
    );
    await using run = await orders.start(
      { 'table.name.format': table, 'insert.mode': 'insert', 'field.exclude.list': '__op' },
      { tolerate: true },
    );
    await run.deliver(
      await batchOf(schema, [
        [1n, 'a', 'u'],
        [1n, '__debezium_unavailable_value', 'u'],
      ]),
    );
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code, e.error.place.column]),
      [[1, 'SINK_VALUE_UNAVAILABLE', 'note']],
    );
    assert.deepEqual(await orders.rows(table), [{ id: 1, note: 'a' }]);
  });

  it('moves rows between the partitions of a target, and reports those that no partition takes', async () => {
    const partitionedKey = struct(
      [
        ['id', INT64],
        ['region', OPTIONAL_INT32],
      ],
      { name: 'parts.Key' },
    );
    const schema = struct(
      [
        ['id', INT64],
        ['region', OPTIONAL_INT32],
        ['note', OPTIONAL_STRING],
      ],
      { name: 'parts.Value', optional: true },
    );
    const table = orders.target.uniqueName();
    await orders.target.client.query(`
      create table ${table} (id bigint, region int, note text, primary key (id, region)) partition by list (region);
      create table ${table}_1 partition of ${table} for values in (1);
      create table ${table}_2 partition of ${table} for values in (2) partition by hash (id);
      create table ${table}_2a partition of ${table}_2 for values with (modulus 1, remainder 0)`);
    const record = (id: bigint, region: number, note: string | null): TestRecord => ({
      key: new Struct(partitionedKey, [id, region]),
      value: note === null ? null : new Struct(schema, [id, region, note]),
    });
    await using run = await orders.start(upsert(table), { tolerate: true });
    const put = async (records: readonly TestRecord[], firstOffset: number): Promise<void> =>
      run.deliver(await avroSinkBatch({ topic, firstOffset, keySchema: partitionedKey, valueSchema: schema }, records));
    await put(
      Array.from({ length: 100 }, (_, i) => record(BigInt(i), 1, 'new')),
      0,
    );
    await put([record(7n, 1, null), record(7n, 2, 'moved'), record(8n, 3, 'nowhere'), record(9n, 1, 'changed')], 100);
    assert.deepEqual(
      run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[102, 'SINK_RECORD_REJECTED']],
    );
    assert.deepEqual(await orders.rows(`${table}_2a`), [{ id: 7, note: 'moved' }]);
    assert.equal((await orders.rows(`${table}_1`)).length, 99);
  });

  it('plays a replica with session.replication.role: no triggers, no foreign keys', async () => {
    const mother = await orders.create('id bigint primary key');
    const table = await orders.create(`id bigint primary key, note text, mother bigint default 9 references ${mother}`);
    await orders.target.client.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not you'; end $$;
      create trigger refuse before insert on ${table} for each row execute function refuse()`);
    await using run = await orders.start({ ...upsert(table), 'session.replication.role': 'replica' });
    await run.deliver(await flatBatch([flat(1n, 'a')]));
    assert.deepEqual(await orders.rows(table, 'id::int, note, mother::int'), [{ id: 1, note: 'a', mother: 9 }]);

    const role = `replica_${orders.target.url.slice(-8)}`;
    await orders.target.client.query(`create role ${role} login password 'x'`);
    try {
      await assert.rejects(
        orders.start({
          ...upsert(table),
          'connection.user': role,
          'connection.password': 'x',
          'session.replication.role': 'replica',
        }),
        { code: 'SINK_PRIVILEGE', message: /session_replication_role/ },
      );
    } finally {
      await orders.target.client.query(`drop role ${role}`);
    }
  });
});
