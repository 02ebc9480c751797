/** Tables that the sink makes and changes, and what it says about those that do not fit. */
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
import { flat, flatBatch, keySchema, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, plainSinkBatch } from '../../../contract/sinkBatches.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

describe('tables', () => {
  let orders: OrdersTarget;
  before(async () => {
    orders = await openOrders();
  });
  after(() => orders[Symbol.asyncDispose]());

  it('auto.create and auto.evolve: keys, required columns, new and wider columns; new required fields are refused', async () => {
    const table = orders.target.uniqueName();
    const config = { ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' };
    await using run = await orders.start(config);
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
    const { rows: columns } = await orders.target.client.query(
      `select attname, format_type(atttypid, atttypmod) as type, attnotnull from pg_attribute where attrelid = '${table}'::regclass and attnum > 0 order by attnum`,
    );
    assert.deepEqual(
      columns.map(c => [c.attname, c.type, c.attnotnull]),
      [
        ['id', 'bigint', true],
        ['n', 'bigint', false],
        ['price', 'numeric(9,3)', false],
        ['extra', 'text', false],
      ],
    );
    assert.deepEqual(await orders.rows(table, 'id::int as id, n::text, price::text, extra'), [
      { id: 1, n: '5', price: '1.500', extra: null },
      { id: 2, n: String(2n ** 40n), price: '123456.789', extra: 'x' },
    ]);
    await assert.rejects(run.deliver(await batchOf(2)), { code: 'SINK_COLUMN_REQUIRED', message: /"must"/ });
  });

  it('auto.create makes a missing schema too, in two tasks at once, and says what right is missing', async () => {
    const schema = orders.target.uniqueName();
    const config = (name: string) => ({ ...upsert(`prefix.${name}.orders`), 'auto.create': 'true' });
    await using a = await orders.start(config(schema));
    await using b = await orders.start(config(schema));
    await Promise.all([a.deliver(await flatBatch([flat(1n, 'x')])), b.deliver(await flatBatch([flat(2n, 'y')]))]);
    assert.equal((await orders.rows(`${schema}.orders`, '*')).length, 2);
    // One that differs by case is the one that is meant, as for tables.
    await using upper = await orders.start({
      ...config(schema.toUpperCase()),
      'table.name.format': `${schema.toUpperCase()}.more`,
    });
    await upper.deliver(await flatBatch([flat(1n, 'x')]));
    assert.equal((await orders.rows(`${schema}.more`, '*')).length, 1);
    const role = `${schema}_${process.pid}`;
    await orders.target.client.query(`create role ${role} login password 'x'`);
    try {
      await using c = await orders.start({
        ...config('elsewhere'),
        'connection.user': role,
        'connection.password': 'x',
      });
      await assert.rejects(c.deliver(await flatBatch([flat(1n, 'x')])), {
        code: 'SINK_PRIVILEGE',
        message: /create schema if not exists "elsewhere": permission denied for database/,
      });
    } finally {
      await orders.target.client.query(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('validation says what is wrong with login or database', async () => {
    const validate = (change: Config) => sinkPlugin.validate!({ ...orders.target.connection, ...change });
    assert.deepEqual(await validate({}), []);
    const wrong: [Config, string, RegExp][] = [
      [
        { 'connection.password': 'secret' },
        'connection.user',
        /^\[SINK_LOGIN_FAILED\] .*password authentication failed/,
      ],
      [
        { 'connection.url': `${orders.target.url}_not` },
        'connection.url',
        /^\[SINK_LOGIN_FAILED\] .*_not" does not exist/,
      ],
    ];
    for (const [change, key, message] of wrong) {
      const errors = await validate(change);
      assert.deepEqual(
        errors.map(e => e.key),
        [key],
      );
      assert.match(errors[0]!.message, message);
      assert.doesNotMatch(errors[0]!.message, /secret/);
    }
  });

  it('two tasks that create and widen the same table at the same time both go on', async () => {
    for (let round = 0; round < 5; round++) {
      const table = orders.target.uniqueName();
      const config = { ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' };
      const wider = struct(
        [
          ['id', INT64],
          ['Note', OPTIONAL_STRING],
          ['more', OPTIONAL_STRING],
        ],
        { name: `race.V${round}` },
      );
      await using a = await orders.start(config);
      await using b = await orders.start(config);
      const both = async (make: (id: bigint) => Promise<Parameters<typeof a.deliver>[0]>) =>
        Promise.all([a.deliver(await make(1n)), b.deliver(await make(2n))]);
      await both(id => flatBatch([flat(id, 'x')]));
      await both(id =>
        avroSinkBatch({ topic, keySchema, valueSchema: wider }, [
          { key: new Struct(keySchema, [id]), value: new Struct(wider, [id, 'y', 'z']) },
        ]),
      );
      assert.deepEqual(await orders.rows(table, 'id::int as id, "Note" as note, more'), [
        { id: 1, note: 'y', more: 'z' },
        { id: 2, note: 'y', more: 'z' },
      ]);
    }
  });

  it('gives rows that are there already the default of a new field, whatever is in it', async () => {
    const table = await orders.create();
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
    await using run = await orders.start(config);
    await run.deliver(await flatBatch([flat(1n, 'old')]));
    const values = [2n, 'new', ...defaults.map(([, s]) => s.defaultValue)];
    const record = { key: new Struct(keySchema, [2n]), value: new Struct(schema, values) };
    await run.deliver(plainSinkBatch({ topic, firstOffset: 1, keySchema, valueSchema: schema }, [record]));
    const found = await orders.rows(table, `id::int, ${defaults.map(([name]) => `${name}::text`).join(', ')}`);
    const expected = Object.fromEntries(defaults.map(([name, , text]) => [name, text]));
    assert.deepEqual(found, [
      { id: 1, ...expected },
      { id: 2, ...expected },
    ]);
  });

  it('leaves deletions from a table that is still to be created', async () => {
    const table = orders.target.uniqueName();
    await using run = await orders.start({ ...upsert(table), 'auto.create': 'true' });
    const gone = { ...flat(1n, 'a'), value: null };
    await run.deliver(await flatBatch([gone]));
    await run.deliver(await flatBatch([flat(1n, 'a'), gone, flat(2n, 'b')], 1));
    assert.deepEqual(await orders.rows(table, 'id::int as id, "Note" as note'), [{ id: 2, note: 'b' }]);
  });

  it('names what is wrong with table, key, privilege or configuration', async () => {
    const noKey = await orders.create('id bigint, note text');
    const required = await orders.create('id bigint primary key, note text, must text not null');
    const one = [flat(1n, 'a')];
    const cases: [Config, string, RegExp][] = [
      [upsert(noKey), 'SINK_KEY_INDEX_MISSING', /\(id\).*none/],
      [upsert(required), 'SINK_COLUMN_REQUIRED', /"must"/],
      [{ ...upsert(noKey), 'pk.fields': 'nope' }, 'SINK_KEY_MISSING', /"nope"/],
      [upsert('${source.table}'), 'SINK_TABLE_NAME', /source\.table/],
    ];
    for (const [config, code, message] of cases) {
      await using run = await orders.start(config, { tolerate: true });
      await assert.rejects(run.deliver(await flatBatch(one)), { code, message });
    }
    const granted = await orders.create();
    await orders.target.client.query(
      `drop role if exists ${granted}_role; create role ${granted}_role login password 'x'`,
    );
    const limited = { ...upsert(granted), 'connection.user': `${granted}_role`, 'connection.password': 'x' };
    await orders.target.client.query(`grant insert, select on ${granted} to ${granted}_role`);
    await using run = await orders.start(limited);
    await assert.rejects(run.deliver(await flatBatch(one)), { code: 'SINK_PRIVILEGE', message: /UPDATE, DELETE/ });
    await run.abort();
    await orders.target.client.query(`drop owned by ${granted}_role; drop role ${granted}_role`);
    await assert.rejects(
      orders.start({ ...upsert(noKey), 'connection.user': 'nobody_here', 'connection.password': 'x' }),
      {
        code: 'SINK_LOGIN_FAILED',
      },
    );
    await assert.rejects(orders.start({ ...upsert(noKey), 'connection.url': 'jdbc:mysql://x/y' }), {
      code: 'CONFIG_INVALID',
      message: /connection\.url/,
    });
  });
});
