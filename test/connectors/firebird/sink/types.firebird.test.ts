/** Values that the client would round, cut or shift go into columns of every type exactly, or are refused. One case for each type. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  BOOLEAN,
  BYTES,
  Decimal,
  decimalSchema,
  FLOAT32,
  FLOAT64,
  INT16,
  INT32,
  INT64,
  primitive,
  type Schema,
  STRING,
} from '../../../../schemas/data/index.ts';
import { oneRow, upsert } from '../../../contract/flatRecords.ts';
import type { FirebirdVersion } from '../../../services/localFirebird.ts';
import { type OrdersTarget, openOrders } from './ordersTarget.ts';

const time = (type: 'INT32' | 'INT64' | 'STRING', name: string): Schema =>
  primitive(type, { name: `io.debezium.time.${name}`, version: 1 });
const decimal = (text: string): [Schema, Decimal] => {
  const value = Decimal.parse(text);
  return [decimalSchema(value.scale, 38), value];
};

type Case = readonly [column: string, schema: Schema, value: unknown, expected: string];
const cases: readonly Case[] = [
  ['smallint', INT16, -32768, '-32768'],
  ['integer', INT32, 2147483647, '2147483647'],
  ['bigint', INT64, 9007199254740993n, '9007199254740993'],
  ['bigint', INT64, -9223372036854775808n, '-9223372036854775808'],
  ['int128', ...decimal('170141183460469231731687303715884105727'), '170141183460469231731687303715884105727'],
  ['int128', ...decimal('-170141183460469231731687303715884105728'), '-170141183460469231731687303715884105728'],
  ['numeric(18,4)', ...decimal('-92233720368547.7581'), '-92233720368547.7581'],
  ['decimal(38,10)', ...decimal('1234567890123456789012345678.0123456789'), '1234567890123456789012345678.0123456789'],
  ['decfloat(16)', STRING, '1234567890.123456', '1234567890.123456'],
  ['decfloat(34)', STRING, '-9.999999999999999999999999999999999E+6144', '-9.999999999999999999999999999999999E+6144'],
  ['decfloat(34)', ...decimal('1234567890123456789012345678901.234'), '1234567890123456789012345678901.234'],
  ['float', FLOAT32, 1.5, '1.5000000'],
  ['double precision', FLOAT64, 0.1, '0.1000000000000000'],
  ['boolean', BOOLEAN, true, 'TRUE'],
  ['date', time('INT32', 'Date'), -719162, '0001-01-01'],
  ['time', time('INT64', 'MicroTime'), 86_399_999_900n, '23:59:59.9999'],
  ['timestamp', time('INT64', 'MicroTimestamp'), -100n, '1969-12-31 23:59:59.9999'],
  ['time with time zone', time('STRING', 'ZonedTime'), '10:11:12.1234+03:00', '10:11:12.1234 +03:00'],
  [
    'timestamp with time zone',
    time('STRING', 'ZonedTimestamp'),
    '2024-02-29T01:02:03.4567+01:00',
    '2024-02-29 00:02:03.4567 +00:00',
  ],
  ['varchar(10)', STRING, 'Привет ☃', 'Привет ☃'],
  ['char(4) character set win1251', STRING, 'Жук', 'Жук '],
  ['varbinary(4)', BYTES, Buffer.from('00ff10', 'hex'), '00FF10'],
  ['blob sub_type text', STRING, 'длинный '.repeat(50), 'длинный '.repeat(50)],
  ['blob sub_type binary', BYTES, Buffer.from('000102fffe', 'hex'), '000102FFFE'],
];

/** Column, schema, value: not without loss. */
const refused: readonly (readonly [column: string, schema: Schema, value: unknown])[] = [
  ['smallint', INT32, 40000],
  ['bigint', ...decimal('9223372036854775808')],
  ['bigint', ...decimal('1.5')],
  ['numeric(9,2)', ...decimal('1.005')],
  ['numeric(4,2)', ...decimal('123456789.01')],
  ['time', time('INT64', 'MicroTime'), 1n],
  ['timestamp', time('INT64', 'MicroTimestamp'), 1_000_001n],
  ['timestamp with time zone', time('STRING', 'ZonedTimestamp'), '2024-02-29T01:02:03.45678Z'],
  ['varchar(3)', STRING, 'four'],
  ['varbinary(2)', BYTES, Buffer.alloc(3)],
  ['boolean', INT32, 2],
];

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  describe(`types: Firebird ${version}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(version);
    });
    after(() => orders[Symbol.asyncDispose]());

    it('every type takes its values exactly', async () => {
      const columns = cases.map(([type], i) => `F${i} ${type}`).join(', ');
      const table = await orders.create(`ID bigint not null primary key, ${columns}`);
      await using run = await orders.start(upsert(table));
      await run.deliver(
        await oneRow(
          cases.map(([, schema], i) => [`F${i}`, schema] as const),
          cases.map(([, , value]) => value),
        ),
      );
      const shown = cases.map(([type], i) =>
        /binary/.test(type)
          ? `hex_encode(cast(F${i} as varbinary(100))) F${i}`
          : `cast(F${i} as varchar(1000) character set utf8) F${i}`,
      );
      const [row] = await orders.query(`select ${shown.join(', ')} from ${table}`);
      for (const [i, [type, , , expected]] of cases.entries()) assert.equal(row![`F${i}`], expected, type);
    });

    it('what would be rounded or cut is refused', async () => {
      for (const [type, schema, value] of refused) {
        const table = await orders.create(`ID bigint not null primary key, F ${type}`);
        await using run = await orders.start(upsert(table), { tolerate: true });
        await run.deliver(await oneRow([['F', schema]], [value]));
        assert.equal(run.errants.length, 1, `${type} takes ${String(value)}`);
        assert.match(run.errants[0]!.error.code, /^SINK_(VALUE_UNFIT|RECORD_REJECTED)$/);
        assert.deepEqual(await orders.query(`select 1 n from ${table}`), []);
      }
    });
  });
}
