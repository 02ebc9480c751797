/** Tables that the sink makes and changes, and what it says about those that do not fit. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
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
import { flat, flatBatch, jsonBatch, keySchema, textKey, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, plainSinkBatch } from '../../../contract/sinkBatches.ts';
import { servers } from './mysqlTarget.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

for (const [name, server] of servers) {
  describe(`tables: ${name}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(server);
    });
    after(() => orders[Symbol.asyncDispose]());

    it('auto.create and auto.evolve: keys, new and wider columns; new required fields are refused', async () => {
      const table = orders.target.uniqueName();
      await using run = await orders.start({ ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' });
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
          {
            name: 'ev.V2',
          },
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
      const columns = await orders.target.rows(
        'select column_name as c, data_type as t, numeric_precision as p, numeric_scale as s, is_nullable as n from information_schema.columns where table_schema = database() and table_name = ? order by ordinal_position',
        [table],
      );
      assert.deepEqual(
        columns.map(c => [c.c, c.t === 'decimal' ? `decimal(${c.p},${c.s})` : c.t, c.n]),
        [
          ['id', 'bigint', 'NO'],
          ['n', 'bigint', 'YES'],
          ['price', 'decimal(9,3)', 'YES'],
          ['extra', 'longtext', 'YES'],
        ],
      );
      assert.deepEqual(await orders.rows(table, 'id, n, price, extra'), [
        { id: '1', n: '5', price: '1.500', extra: null },
        { id: '2', n: String(2n ** 40n), price: '123456.789', extra: 'x' },
      ]);
      await assert.rejects(run.deliver(await batchOf(2)), { code: 'SINK_COLUMN_REQUIRED', message: /"must"/ });
    });

    it('auto.create makes texts of a key as long as an index takes all of them', async () => {
      const table = orders.target.uniqueName();
      await using run = await orders.start({ ...upsert(table), 'auto.create': 'true' });
      const { batch, values } = await textKey(5);
      await run.deliver(batch);
      assert.deepEqual(await orders.rows(table, 'k1, k2, k3, k4, k5'), [values]);
    });

    it('widens a column without losing its default, comment or NOT NULL', async () => {
      const table = await orders.create(
        "id bigint primary key, note varchar(5) character set utf8mb4 not null default 'it''s' comment 'what\\'s it'",
      );
      const note = primitive('STRING', {
        parameters: { '__debezium.source.column.type': 'VARCHAR', '__debezium.source.column.length': '40' },
      });
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      const row = struct(
        [
          ['id', INT64],
          ['note', note],
        ],
        { name: 'wide.Row' },
      );
      const record = { key: new Struct(keySchema, [1n]), value: new Struct(row, [1n, 'longer than five']) };
      await run.deliver(await avroSinkBatch({ topic, keySchema, valueSchema: row }, [record]));
      await orders.target.client.query(`insert into ${table} (id) values (2)`);
      assert.deepEqual(await orders.rows(table), [
        { id: '1', note: 'longer than five' },
        { id: '2', note: "it's" },
      ]);
      const [column] = await orders.target.rows(
        'select column_type as t, is_nullable as n, column_comment as c from information_schema.columns where table_schema = database() and table_name = ? and column_name = ?',
        [table, 'note'],
      );
      assert.deepEqual(column, { t: 'varchar(40)', n: 'NO', c: "what's it" });
    });

    it('auto.evolve widens a column that it added with a default', async () => {
      const table = await orders.create('id bigint primary key');
      const version = (type: 'INT32' | 'INT64') =>
        struct(
          [
            ['id', INT64],
            ['n', primitive(type, { optional: true, defaultValue: type === 'INT32' ? 5 : 5n })],
          ],
          { name: `defaulted.${type}` },
        );
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      for (const [type, value] of [
        ['INT32', 7],
        ['INT64', 5_000_000_000n],
      ] as const) {
        const row = new Struct(version(type), [1n, value]);
        const record = { key: new Struct(keySchema, [1n]), value: row };
        await run.deliver(await avroSinkBatch({ topic, keySchema, valueSchema: row.schema }, [record]));
      }
      await orders.target.client.query(`insert into ${table} (id) values (2)`);
      assert.deepEqual(await orders.rows(table, 'id, n'), [
        { id: '1', n: '5000000000' },
        { id: '2', n: '5' },
      ]);
    });

    it('auto.evolve widens a column for a value that no schema told of, and leaves columns of indexes alone', async () => {
      const table = await orders.create(
        "id bigint primary key, note varchar(5) not null comment 'n', n int, code varchar(5) unique, price decimal(4,2)",
      );
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' }, { tolerate: true });
      const record = (id: number, value: object) => ({ key: { id }, value: { id, ...value } });
      await run.deliver(
        jsonBatch([
          record(1, { note: 'short', n: 1, code: 'a' }),
          record(2, { note: 'longer than five', n: 2 ** 40, code: 'b' }),
          record(3, { note: 'x', n: 3, code: 'too long' }),
        ]),
      );
      const priced = struct(
        [
          ['id', INT64],
          ['note', STRING],
          ['price', decimalSchema(2)],
        ],
        { name: 'w.Priced' },
      );
      const row = new Struct(priced, [4n, 'y', new Decimal(1234567n, 2)]);
      await run.deliver(
        await avroSinkBatch({ topic, firstOffset: 3, keySchema, valueSchema: priced }, [
          { key: new Struct(keySchema, [4n]), value: row },
        ]),
      );
      assert.deepEqual(await orders.rows(table, 'id, note, n, code, price'), [
        { id: '1', note: 'short', n: '1', code: 'a', price: null },
        { id: '2', note: 'longer than five', n: String(2 ** 40), code: 'b', price: null },
        { id: '4', note: 'y', n: null, code: null, price: '12345.67' },
      ]);
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code, e.error.place.column]),
        [[2, 'SINK_RECORD_REJECTED', 'code']],
      );
      const [column] = await orders.target.rows(
        'select data_type as t, is_nullable as n, column_comment as c from information_schema.columns where table_schema = database() and table_name = ? and column_name = ?',
        [table, 'note'],
      );
      assert.deepEqual(column, { t: 'longtext', n: 'NO', c: 'n' });
    });

    it('asks whether a column was renamed where one of its type goes and one with a default comes', async () => {
      const table = await orders.create('id bigint primary key, note longtext');
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      await run.deliver(await flatBatch([flat(1n, 'kept')]));
      const remark = primitive('STRING', { optional: true, defaultValue: 'none' });
      const renamed = struct(
        [
          ['id', INT64],
          ['remark', remark],
        ],
        { name: 'ren.V2' },
      );
      const batch = () =>
        avroSinkBatch({ topic, firstOffset: 1, keySchema, valueSchema: renamed }, [
          { key: new Struct(keySchema, [2n]), value: new Struct(renamed, [2n, 'new']) },
        ]);
      let asked = '';
      await assert.rejects(run.deliver(await batch()), (error: Error & { code?: string }) => {
        asked = error.message;
        return error.code === 'SINK_COLUMN_RENAMED';
      });
      await run.abort();
      await orders.target.client.query(/ALTER TABLE .*? RENAME COLUMN `note` TO `remark`/.exec(asked)![0]);
      await using again = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      await again.deliver(await batch());
      assert.deepEqual(await orders.rows(table, 'id, remark'), [
        { id: '1', remark: 'kept' },
        { id: '2', remark: 'new' },
      ]);
    });

    it('auto.create makes a missing database too, in two tasks at once, and says what right is missing', async () => {
      const schema = `${orders.target.database}_new`;
      const config = (database: string) => ({ ...upsert(`prefix.${database}.orders`), 'auto.create': 'true' });
      const user = `u${process.pid}`;
      try {
        await using a = await orders.start(config(schema));
        await using b = await orders.start(config(schema));
        await Promise.all([a.deliver(await flatBatch([flat(1n, 'x')])), b.deliver(await flatBatch([flat(2n, 'y')]))]);
        assert.equal((await orders.rows(`${schema}.orders`, '*')).length, 2);
        await orders.target.client.query(
          `create user ${user} identified by 'x'; grant select, insert on ${orders.target.database}.* to ${user}`,
        );
        const login = { 'connection.user': user, 'connection.password': 'x' };
        await using c = await orders.start({ ...config('elsewhere'), ...login });
        await assert.rejects(c.deliver(await flatBatch([flat(1n, 'x')])), {
          code: 'SINK_PRIVILEGE',
          message: /create database if not exists `elsewhere`: Access denied/,
        });
        const table = await orders.create();
        await using d = await orders.start({ ...upsert(table), ...login });
        await assert.rejects(d.deliver(await flatBatch([flat(1n, 'x')])), {
          code: 'SINK_PRIVILEGE',
          message: /UPDATE command denied/,
        });
      } finally {
        await orders.target.client.query(`drop database if exists ${schema}; drop user if exists ${user}`);
      }
    });

    it('validation says what is wrong with login or database', async () => {
      const validate = (change: Config) => sinkPlugin.validate!({ ...orders.target.connection, ...change });
      assert.deepEqual(await validate({}), []);
      const wrong: [Config, string, RegExp][] = [
        [
          { 'connection.user': 'nobody_here', 'connection.password': 'secret' },
          'connection.user',
          /^\[SINK_LOGIN_FAILED\] .*Access denied/,
        ],
        [
          { 'connection.url': `${orders.target.url}_not` },
          'connection.url',
          /^\[SINK_LOGIN_FAILED\] .*Unknown database '.*_not'/,
        ],
        [
          // One server has a certificate of its own making, the other has no TLS.
          { 'connection.url': `${orders.target.url}?sslMode=VERIFY_CA` },
          'connection.url',
          /^\[SINK_LOGIN_FAILED\] .*no TLS connection could be made: .*; check sslMode/,
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
      for (let round = 0; round < 3; round++) {
        const table = orders.target.uniqueName();
        const config = { ...upsert(table), 'auto.create': 'true', 'auto.evolve': 'true' };
        // The second knows one more new column than the first.
        const versions = ['more', 'most'].map((_, i) =>
          struct(
            [
              ['id', INT64],
              ['Note', OPTIONAL_STRING],
              ['more', OPTIONAL_STRING],
              ...(i === 0 ? [] : ([['most', OPTIONAL_STRING]] as const)),
            ],
            { name: `race.V${round}${i}` },
          ),
        );
        await using a = await orders.start(config);
        await using b = await orders.start(config);
        await Promise.all([a.deliver(await flatBatch([flat(1n, 'x')])), b.deliver(await flatBatch([flat(2n, 'x')]))]);
        const record = (i: number, id: bigint) =>
          avroSinkBatch({ topic, keySchema, valueSchema: versions[i]! }, [
            { key: new Struct(keySchema, [id]), value: new Struct(versions[i]!, [id, 'y', 'z', 'w'].slice(0, 3 + i)) },
          ]);
        await Promise.all([a.deliver(await record(0, 1n)), b.deliver(await record(1, 2n))]);
        assert.deepEqual(await orders.rows(table, 'id, Note as note, more, most'), [
          { id: '1', note: 'y', more: 'z', most: null },
          { id: '2', note: 'y', more: 'z', most: 'w' },
        ]);
      }
    });

    it('gives rows that are there already the default of a new field, whatever is in it', async () => {
      const table = await orders.create();
      const defaults: [string, Schema, string][] = [
        ['txt', primitive('STRING', { optional: true, defaultValue: `it's \\ "odd"; drop` }), `it's \\ "odd"; drop`],
        ['price', decimalSchema(3, 12, { defaultValue: new Decimal(7000n, 3) }), '7.000'],
        [
          'day',
          primitive('INT32', { name: 'io.debezium.time.Date', optional: true, defaultValue: 18690 }),
          '2021-03-04',
        ],
        ['big', primitive('INT64', { defaultValue: 2n ** 60n }), String(2n ** 60n)],
        ['ok', primitive('BOOLEAN', { defaultValue: true }), '1'],
        ['at', primitive('INT64', { name: 'io.debezium.time.Timestamp', defaultValue: 0n }), '1970-01-01 00:00:00.000'],
        ['list', array(INT32, { optional: true, defaultValue: [1, 2] }), '[1,2]'],
      ];
      const fields = defaults.map(([field, schema]) => [field, schema] as const);
      const schema = struct([['id', INT64], ['note', OPTIONAL_STRING], ...fields], { name: 'defaults.V2' });
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      await run.deliver(await flatBatch([flat(1n, 'old')]));
      const values = [2n, 'new', ...defaults.map(([, s]) => s.defaultValue)];
      const record = { key: new Struct(keySchema, [2n]), value: new Struct(schema, values) };
      await run.deliver(plainSinkBatch({ topic, firstOffset: 1, keySchema, valueSchema: schema }, [record]));
      const found = await orders.rows(table, `id, ${defaults.map(([c]) => `cast(${c} as char) as ${c}`).join(', ')}`);
      const expected = Object.fromEntries(defaults.map(([c, , text]) => [c, text]));
      assert.deepEqual(
        found.map(r => ({ ...r, list: String(r.list).replaceAll(' ', '') })),
        [
          { id: '1', ...expected },
          { id: '2', ...expected },
        ],
      );
    });

    it('names what is wrong with table, key or configuration', async () => {
      const noKey = await orders.create('id bigint, note text');
      const prefixKey = await orders.create('id bigint, note text, unique key (note(3))');
      const required = await orders.create('id bigint primary key, note text, must varchar(3) not null');
      const cases: [Config, string, RegExp][] = [
        [upsert(noKey), 'SINK_KEY_INDEX_MISSING', /\(id\).*none/],
        [
          { ...upsert(prefixKey), 'pk.mode': 'record_value', 'pk.fields': 'Note' },
          'SINK_KEY_INDEX_MISSING',
          /\(note\).*none/,
        ],
        [upsert(required), 'SINK_COLUMN_REQUIRED', /"must"/],
        [{ ...upsert(noKey), 'pk.fields': 'nope' }, 'SINK_KEY_MISSING', /"nope"/],
        [upsert('${source.table}'), 'SINK_TABLE_NAME', /source\.table/],
      ];
      for (const [config, code, message] of cases) {
        await using run = await orders.start(config, { tolerate: true });
        await assert.rejects(run.deliver(await flatBatch([flat(1n, 'a')])), { code, message });
      }
    });
  });
}
