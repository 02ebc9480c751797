/** Tables that the sink makes and changes: auto.create, auto.evolve, and what it leaves alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/firebird/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { Decimal, decimalSchema, INT16, INT32, INT64, optional, STRING } from '../../../../schemas/data/index.ts';
import { oneRow, textKey, upsert } from '../../../contract/flatRecords.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import type { FirebirdVersion } from '../../../services/localFirebird.ts';
import { type OrdersTarget, openOrders } from './ordersTarget.ts';

const money = (precision: number, scale: number) => decimalSchema(scale, precision);

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  describe(`tables: Firebird ${version}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(version);
    });
    after(() => orders[Symbol.asyncDispose]());

    it('auto.create makes texts of a key as long as an index takes all of them', async () => {
      const table = 'MANY_TEXTS';
      await using run = await orders.start({ ...upsert(table), 'auto.create': 'true' });
      const { batch, values } = await textKey(5);
      await run.deliver(batch);
      assert.deepEqual(await orders.query(`select "k1", "k2", "k3", "k4", "k5" from ${table}`), [values]);
    });

    it('tells why the server did not make a table', async () => {
      await using run = await orders.start({ ...upsert('WIDE_KEY'), 'auto.create': 'true' });
      const { batch } = await textKey(20);
      await assert.rejects(run.deliver(batch), { code: 'SINK_DDL_FAILED', message: /failed: .*key/i });
    });

    it('auto.evolve adds columns and widens those whose fields have become wider', async () => {
      const table = await orders.create(
        'ID bigint not null primary key, A smallint, B integer default 7 not null, C numeric(9,2), D float',
      );
      await orders.query(`insert into ${table} values (5, 5, 5, 5.55, 5.5)`);
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' });
      const fields = [
        ['A', INT32],
        ['B', INT64],
        ['C', money(20, 4)],
        ['E', optional(STRING)],
      ] as const;
      await run.deliver(
        await oneRow(fields, [2_000_000_000, 9007199254740993n, Decimal.parse('1234567890123456.7891'), 'new']),
      );
      const rows = await orders.query(
        `select ID, A, cast(B as varchar(30)) B, cast(C as varchar(30)) C, D, cast(E as varchar(30)) E from ${table} order by 1`,
      );
      assert.deepEqual(
        rows.map(row => ({ ...row, ID: Number(row.ID) })),
        [
          { ID: 1, A: 2_000_000_000, B: '9007199254740993', C: '1234567890123456.7891', D: null, E: 'new' },
          { ID: 5, A: 5, B: '5', C: '5.5500', D: 5.5, E: null },
        ],
      );
      // The default is still there.
      await orders.query(`insert into ${table} (ID) values (6)`);
      assert.deepEqual(
        (await orders.query(`select B from ${table} where ID = 6`)).map(row => Number(row.B)),
        [7],
      );
    });

    it('auto.evolve widens a column for a value that no schema told of, and leaves keys alone', async () => {
      const table = await orders.create(
        'ID bigint not null primary key, V varchar(5), U varchar(5) unique, W varchar(5) character set win1251',
      );
      await using run = await orders.start({ ...upsert(table), 'auto.evolve': 'true' }, { tolerate: true });
      const fields = ['V', 'U', 'W'].map(name => [name, optional(STRING)] as const);
      await run.deliver(await oneRow(fields, ['Привет, мир', null, 'Жук-олень']));
      await run.deliver(await oneRow(fields, ['x'.repeat(5000), null, 'Ж']));
      const shown = async () =>
        (await orders.query(`select char_length(V) V, U, W from ${table}`)).map(row => ({ ...row, V: Number(row.V) }));
      assert.deepEqual(await shown(), [{ V: 5000, U: null, W: 'Ж' }]);
      await run.deliver(await oneRow(fields, ['x', 'too long', null]));
      assert.deepEqual(
        run.errants.map(({ error }) => error.code),
        ['SINK_RECORD_REJECTED'],
      );
      assert.deepEqual(await shown(), [{ V: 5000, U: null, W: 'Ж' }]);
    });

    it('without auto.evolve a value that is too wide is refused, and the column stays', async () => {
      const table = await orders.create('ID bigint not null primary key, V varchar(5), A smallint');
      await using run = await orders.start(upsert(table), { tolerate: true });
      const fields = [
        ['V', STRING],
        ['A', INT16],
      ] as const;
      await run.deliver(await oneRow(fields, ['too long', 1]));
      assert.equal(run.errants.length, 1);
    });

    it('a wrong password is told at once, and so is a database that is not there', async () => {
      const wrongs: readonly Config[] = [
        { 'connection.password': 'wrong' },
        { 'connection.user': 'NOBODY' },
        { 'connection.url': `${orders.connection['connection.url']}x` },
      ];
      for (const wrong of wrongs) {
        const config = { ...orders.connection, ...upsert('T'), 'max.retries': '0', ...wrong };
        const begun = performance.now();
        await assert.rejects(startSink(sinkPlugin.createTask(), config), { code: 'SINK_LOGIN_FAILED' });
        const errors = await sinkPlugin.validate!(config);
        assert.equal(errors.length, 1);
        assert.ok(performance.now() - begun < 5000, `${performance.now() - begun} ms`);
      }
    });
  });
}
