/** Every meaning that a field can have, into existing columns of many types and into columns that the sink makes; read back as the server writes it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  array,
  BOOLEAN,
  BYTES,
  Decimal,
  dateSchema,
  decimalSchema,
  FLOAT32,
  FLOAT64,
  INT8,
  INT16,
  INT32,
  INT64,
  map,
  OPTIONAL_BYTES,
  OPTIONAL_INT32,
  OPTIONAL_STRING,
  optional,
  primitive,
  type Schema,
  type SchemaType,
  STRING,
  Struct,
  struct,
  timeSchema,
  timestampSchema,
} from '../../../../schemas/data/index.ts';
import { keySchema, oneRow, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, plainSinkBatch } from '../../../contract/sinkBatches.ts';
import { servers } from './mysqlTarget.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

const named = (
  type: Exclude<SchemaType, 'ARRAY' | 'MAP' | 'STRUCT'>,
  name: string,
  parameters?: Record<string, string>,
) => primitive(type, { name: `io.debezium.${name}`, parameters });
const time = (type: 'INT32' | 'INT64' | 'STRING', name: string): Schema => named(type, `time.${name}`);

const vsdSchema = struct(
  [
    ['scale', INT32],
    ['value', BYTES],
  ],
  { name: 'io.debezium.data.VariableScaleDecimal' },
);
const vsd = (text: string): Struct => {
  const decimal = Decimal.parse(text);
  return new Struct(vsdSchema, [decimal.scale, decimal.toBytes()]);
};
const geometrySchema = struct(
  [
    ['wkb', BYTES],
    ['srid', OPTIONAL_INT32],
  ],
  { name: 'io.debezium.data.geometry.Geometry' },
);
const pointSchema = struct(
  [
    ['x', FLOAT64],
    ['y', FLOAT64],
    ['wkb', OPTIONAL_BYTES],
    ['srid', OPTIONAL_INT32],
  ],
  { name: 'io.debezium.data.geometry.Point' },
);
const wkb = (x: number, y: number): Buffer => {
  const bytes = Buffer.alloc(21);
  bytes[0] = 1;
  bytes.writeUInt32LE(1, 1);
  bytes.writeDoubleLE(x, 5);
  bytes.writeDoubleLE(y, 13);
  return bytes;
};
const US = 1_614_834_367_891_234n; // 2021-03-04T05:06:07.891234

/** Schema, value, column type, what the server gives for it (`hex(…)`, `st_astext(…)` and the like where the third has `/`). */
type Case = readonly [Schema, unknown, string, string];

const existing: readonly Case[] = [
  [INT8, -128, 'tinyint', '-128'],
  [INT16, 255, 'tinyint unsigned', '255'],
  [INT32, 8388607, 'mediumint', '8388607'],
  [INT32, -2147483648, 'int', '-2147483648'],
  [INT64, 4294967295n, 'int unsigned', '4294967295'],
  [INT64, 9223372036854775807n, 'bigint', '9223372036854775807'],
  [INT64, -9223372036854775808n, 'bigint', '-9223372036854775808'],
  [decimalSchema(0), new Decimal(18446744073709551615n, 0), 'bigint unsigned', '18446744073709551615'],
  [INT64, 42n, 'varchar(5)', '42'],
  [INT64, 9007199254740993n, 'decimal(20,0)', '9007199254740993'],
  [FLOAT64, 0.1, 'double', '0.1'],
  [FLOAT64, 5e-324, 'double', '5e-324'],
  [FLOAT64, -1.7976931348623157e308, 'double', '-1.7976931348623157e308'],
  [FLOAT32, Math.fround(0.1), 'float', '0.1'],
  [FLOAT64, 1.5, 'decimal(10,2)', '1.50'],
  [BOOLEAN, true, 'tinyint(1)', '1'],
  [BOOLEAN, true, 'bit(1)/hex', '1'],
  [BOOLEAN, false, 'text', 'false'],
  [named('BYTES', 'data.Bits', { length: '12' }), Buffer.from([0x01, 0x08]), 'bit(12)/hex', '801'],
  [named('BYTES', 'data.Bits', { length: '64' }), Buffer.alloc(8, 0xff), 'bit(64)/hex', 'FFFFFFFFFFFFFFFF'],
  [INT32, 0, 'year', '0000'],
  [INT32, 2155, 'year', '2155'],
  [decimalSchema(2), new Decimal(-1154n, 2), 'decimal(10,2)', '-11.54'],
  [decimalSchema(2), new Decimal(-4n, 2), 'decimal(10,2)', '-0.04'],
  [decimalSchema(4), new Decimal(10000n, 4), 'decimal(12,2)', '1.00'],
  [decimalSchema(30), new Decimal(10n ** 64n + 1n, 30), 'decimal(65,30)', `1${'0'.repeat(34)}.${'0'.repeat(29)}1`],
  [vsdSchema, vsd('-0.00012300'), 'decimal(20,10)', '-0.0001230000'],
  [STRING, '12.345', 'decimal(10,3)', '12.345'],
  [STRING, 'Ωμέγα 😀 \\ " \' % _ \n \0 \x1a \r', 'text', 'Ωμέγα 😀 \\ " \' % _ \n \0 \x1a \r'],
  [STRING, "a'; drop table x; -- \\", 'varchar(40)', "a'; drop table x; -- \\"],
  [STRING, `${'x'.repeat(50)}'\\`, 'varchar(60)', `${'x'.repeat(50)}'\\`],
  [STRING, '', 'varchar(4)', ''],
  [STRING, 'Grüße', 'varchar(10) character set latin1', 'Grüße'],
  [STRING, 'ab  ', 'varchar(4)', 'ab  '],
  [named('STRING', 'data.Enum', { allowed: 'sad,ok' }), 'ok', "enum('sad','ok')", 'ok'],
  [named('STRING', 'data.Enum', { allowed: '1,2' }), '1', "enum('2','1')", '1'],
  [named('STRING', 'data.EnumSet', { allowed: 'a,b,c' }), 'a,c', "set('a','b','c')", 'a,c'],
  [named('STRING', 'data.EnumSet', { allowed: 'a' }), '', "set('a')", ''],
  [BYTES, Buffer.from([0, 255, 92, 39]), 'blob/hex', '00FF5C27'],
  [BYTES, Buffer.alloc(0), 'varbinary(4)/hex', ''],
  [BYTES, Buffer.from([1]), 'binary(3)/hex', '010000'],
  [
    named('STRING', 'data.Uuid'),
    '6f1e8b3c-0d4e-4a50-8c1d-9be0c6c1a001',
    'char(36)',
    '6f1e8b3c-0d4e-4a50-8c1d-9be0c6c1a001',
  ],
  [
    named('STRING', 'data.Uuid'),
    '6f1e8b3c-0d4e-4a50-8c1d-9be0c6c1a001',
    'binary(16)/hex',
    '6F1E8B3C0D4E4A508C1D9BE0C6C1A001',
  ],
  [named('STRING', 'data.Json'), '{"a": [1, "it\'s \\\\ \\"q\\""]}', 'json/json', '{"a": [1, "it\'s \\\\ \\"q\\""]}'],
  [named('STRING', 'data.Json'), '{"s": "😀"}', 'json/json', '{"s": "😀"}'],
  [array(INT32), [1, 2], 'json/json', '[1, 2]'],
  [map(STRING, INT64), new Map([['k', 9223372036854775807n]]), 'json/json', '{"k": 9223372036854775807}'],
  [dateSchema(), 18690, 'date', '2021-03-04'],
  [time('INT32', 'Date'), -719_528, 'date', '0000-01-01'],
  [time('STRING', 'IsoDate'), '2021-03-04Z', 'date', '2021-03-04'],
  [STRING, '0000-00-00', 'date', '0000-00-00'],
  [STRING, '2021-00-00', 'date', '2021-00-00'],
  [STRING, '0000-00-00 00:00:00', 'datetime(3)', '0000-00-00 00:00:00.000'],
  [timeSchema(), 18_367_891, 'time(3)', '05:06:07.891'],
  [time('INT64', 'MicroTime'), 18_367_891_234n, 'time(6)', '05:06:07.891234'],
  [time('INT64', 'MicroTime'), -3_020_399_000_000n, 'time', '-838:59:59'],
  [time('INT64', 'MicroTime'), 3_020_399_000_000n, 'time', '838:59:59'],
  [time('STRING', 'ZonedTime'), '05:06:07.5+02:00', 'time(1)', '03:06:07.5'],
  [STRING, '-100:00:01.5', 'time(2)', '-100:00:01.50'],
  [timestampSchema(), US / 1000n, 'datetime(3)', '2021-03-04 05:06:07.891'],
  [time('INT64', 'MicroTimestamp'), US, 'datetime(6)', '2021-03-04 05:06:07.891234'],
  [time('INT64', 'NanoTimestamp'), US * 1000n, 'datetime(6)', '2021-03-04 05:06:07.891234'],
  [time('INT64', 'MicroTimestamp'), 253_402_300_799_999_999n, 'datetime(6)', '9999-12-31 23:59:59.999999'],
  [time('INT64', 'Timestamp'), -1n, 'datetime(3)', '1969-12-31 23:59:59.999'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-04T05:06:07.891234Z', 'timestamp(6)', '2021-03-04 05:06:07.891234'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-04T05:06:07+02:00', 'datetime', '2021-03-04 03:06:07'],
  [geometrySchema, new Struct(geometrySchema, [wkb(1, -2), null]), 'geometry/st_astext', 'POINT(1 -2)'],
  [pointSchema, new Struct(pointSchema, [3, 4, wkb(3, 4), 0]), 'point/st_astext', 'POINT(3 4)'],
];

/** Schema, value, type of the column that the sink makes. */
const made: readonly (readonly [Schema, unknown, string])[] = [
  [INT16, 1, 'smallint'],
  [INT32, 1, 'int'],
  [INT64, 1n, 'bigint'],
  [FLOAT32, 1, 'float'],
  [FLOAT64, 1, 'double'],
  [BOOLEAN, true, 'tinyint(1)'],
  [STRING, '😀', 'longtext'],
  [BYTES, Buffer.from([1]), 'longblob'],
  [decimalSchema(2, 10), new Decimal(1n, 2), 'decimal(10,2)'],
  [decimalSchema(2), new Decimal(1n, 2), 'decimal(65,2)'],
  [vsdSchema, vsd('1.5'), 'decimal(65,30)'],
  [dateSchema(), 1, 'date'],
  [timeSchema(), 1, 'time(3)'],
  [time('INT64', 'MicroTime'), 1n, 'time(6)'],
  [timestampSchema(), 1n, 'datetime(3)'],
  [time('INT64', 'MicroTimestamp'), 1n, 'datetime(6)'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-04T05:06:07.891234Z', 'datetime(6)'],
  [named('STRING', 'data.Json'), '{}', 'json'],
  [array(INT32), [1], 'json'],
  [named('STRING', 'data.Uuid'), '6f1e8b3c-0d4e-4a50-8c1d-9be0c6c1a001', 'char(36)'],
  [named('BYTES', 'data.Bits', { length: '12' }), Buffer.from([1]), 'bit(12)'],
  [geometrySchema, new Struct(geometrySchema, [wkb(1, 2), null]), 'geometry'],
  [
    primitive('STRING', {
      parameters: { '__debezium.source.column.type': 'VARCHAR', '__debezium.source.column.length': '30' },
    }),
    'x',
    'varchar(30)',
  ],
  [primitive('INT64', { parameters: { '__debezium.source.column.type': 'INT UNSIGNED' } }), 1n, 'int unsigned'],
];

const UNFIT = 'SINK_VALUE_UNFIT';
const REJECTED = 'SINK_RECORD_REJECTED';

/** Schema, value, column type, code. */
const unfit: readonly (readonly [Schema, unknown, string, string])[] = [
  [INT64, 128n, 'tinyint', UNFIT],
  [INT32, -1, 'bigint unsigned', UNFIT],
  [FLOAT64, 1.5, 'int', UNFIT],
  [FLOAT64, Number.NaN, 'double', UNFIT],
  [FLOAT64, 1e39, 'float', REJECTED],
  [decimalSchema(3), new Decimal(1234n, 3), 'decimal(10,2)', UNFIT],
  [decimalSchema(2), new Decimal(123456n, 2), 'decimal(5,2)', REJECTED],
  [named('BYTES', 'data.Bits', { length: '4' }), Buffer.from([15]), 'bit(3)', UNFIT],
  [INT32, 70, 'year', UNFIT],
  [STRING, 'abcd', 'varchar(3)', REJECTED],
  [STRING, 'abc ', 'varchar(3)', UNFIT],
  [STRING, '😀', 'varchar(3) character set latin1', REJECTED],
  [STRING, 'x', "enum('a')", REJECTED],
  [STRING, '1', "enum('a')", UNFIT],
  [BYTES, Buffer.alloc(4), 'varbinary(3)', REJECTED],
  [STRING, '{bad', 'json', REJECTED],
  [time('INT64', 'MicroTimestamp'), 1n, 'datetime(3)', UNFIT],
  [time('INT64', 'MicroTimestamp'), 253_402_300_800_000_000n, 'datetime(6)', UNFIT],
  [time('INT64', 'Timestamp'), -1000n, 'timestamp', REJECTED],
  [STRING, '2021-02-30', 'date', UNFIT],
  [time('INT64', 'MicroTime'), 3_020_399_000_001n, 'time(6)', UNFIT],
];

const mismatched: readonly (readonly [Schema, unknown, string])[] = [
  [BYTES, Buffer.alloc(1), 'int'],
  [STRING, 'x', 'blob'],
  [array(INT32), [1], 'int'],
  [time('INT64', 'MicroTime'), 1n, 'date'],
];

const bare = (type: string): string => type.split('/')[0]!;
function shown(type: string, column: string): string {
  const how = type.split('/')[1];
  if (how === 'json') return `cast(${column} as char)`;
  return how === undefined ? `cast(${column} as char)` : `${how}(${column})`;
}
/** Digits of floating point are printed in more than one way. */
const plain = (type: string, text: unknown): unknown =>
  type === 'double' || type === 'float'
    ? String(Number(text))
    : type.endsWith('/json')
      ? JSON.stringify(JSON.parse(String(text).replace('9223372036854775807', '"long"')))
      : text;

for (const [name, server] of servers) {
  describe(`types: ${name}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(server);
    });
    after(() => orders[Symbol.asyncDispose]());

    it('writes each kind into existing columns, and nulls', async () => {
      const table = await orders.create(
        `id int primary key, ${existing.map(([, , type], i) => `c${i} ${bare(type)} null`).join(', ')}`,
      );
      await using run = await orders.start(upsert(table));
      const fields = existing.map(([s], i) => [`c${i}`, optional(s)] as const);
      await run.deliver(
        await oneRow(
          fields,
          existing.map(c => c[1]),
        ),
      );
      const columns = existing.map(([, , type], i) => `${shown(type, `c${i}`)} as c${i}`).join(', ');
      const [got] = await orders.target.rows(`select ${columns} from ${table}`);
      assert.deepEqual(
        existing.map(([s, , type], i) => [s.name ?? s.type, type, plain(type, got![`c${i}`])]),
        existing.map(([s, , type, text]) => [s.name ?? s.type, type, plain(type, text)]),
      );
      await run.deliver(
        await oneRow(
          fields,
          existing.map(() => null),
        ),
      );
      const [nulls] = await orders.target.rows(`select * from ${table}`);
      assert.ok(Object.entries(nulls!).every(([column, value]) => column === 'id' || value === null));
    });

    it('makes columns that hold each kind', async () => {
      const table = orders.target.uniqueName();
      await using run = await orders.start({ ...upsert(table), 'auto.create': 'true' });
      const fields = made.map(([s], i) => [`c${i}`, optional(s)] as const);
      await run.deliver(
        await oneRow(
          fields,
          made.map(c => c[1]),
        ),
      );
      const columns = await orders.target.rows(
        'select column_type as t from information_schema.columns where table_schema = database() and table_name = ? order by ordinal_position',
        [table],
      );
      // MariaDB shows widths of integers, and JSON as what it is made of.
      const type = (text: unknown): string =>
        String(text)
          .replace(/^(smallint|int|bigint)\(\d+\)/, '$1')
          .replace(/^json$/, 'longtext');
      assert.deepEqual(
        columns.slice(1).map(c => type(c.t)),
        made.map(c => type(c[2])),
      );
      assert.equal((await orders.target.rows(`select id from ${table}`)).length, 1);
    });

    it('refuses values that do not fit, each as its own record, and never cuts', async () => {
      for (const [schema, value, type, code] of unfit) {
        const table = await orders.create(`id int primary key, c ${type} null`);
        await using run = await orders.start(upsert(table), { tolerate: true });
        const valueSchema = struct(
          [
            ['id', INT64],
            ['c', optional(schema)],
          ],
          { name: 'types.Unfit' },
        );
        const record = (id: bigint, c: unknown) => ({
          key: new Struct(keySchema, [id]),
          value: new Struct(valueSchema, [id, c]),
        });
        const records = [record(1n, null), record(2n, value), record(3n, null)];
        await run.deliver(plainSinkBatch({ topic, keySchema, valueSchema }, records));
        const what = `${schema.name ?? schema.type} to ${type}`;
        assert.deepEqual([what, ...run.errants.map(e => e.error.code)], [what, code]);
        assert.equal(run.errants[0]!.record.originalOffset, 1);
        assert.equal(run.errants[0]!.error.place.column, 'c', what);
        assert.equal((await orders.rows(table, 'id, c')).length, 2);
      }
    });

    it('fails at once for a field that can never go into its column, naming both', async () => {
      for (const [schema, value, type] of mismatched) {
        const table = await orders.create(`id int primary key, odd ${type} null`);
        await using run = await orders.start(upsert(table), { tolerate: true });
        await assert.rejects(run.deliver(await oneRow([['odd', optional(schema)]], [value])), {
          code: 'SINK_TYPE_MISMATCH',
          message: /"odd"/,
        });
      }
    });

    it('finds rows by keys of many types, to update and to delete them', async () => {
      const keys: readonly Case[] = [
        [STRING, "it's \\", 'varchar(20)', ''],
        [decimalSchema(1), new Decimal(15n, 1), 'decimal(10,3)', ''],
        [dateSchema(), 18690, 'date', ''],
        [time('INT64', 'MicroTimestamp'), US, 'datetime(6)', ''],
        [time('INT64', 'MicroTime'), 18_367_891_234n, 'time(6)', ''],
        [BYTES, Buffer.from([0, 1, 255]), 'varbinary(10)', ''],
        [named('BYTES', 'data.Bits', { length: '9' }), Buffer.from([1, 1]), 'bit(9)', ''],
        [named('STRING', 'data.Enum', { allowed: 'a,b' }), 'b', "enum('a','b')", ''],
      ];
      for (const two of [false, true]) {
        for (const [schema, value, type] of keys) {
          const table = await orders.create(`k ${type}, n int, v int, primary key (k${two ? ', n' : ''})`);
          const key = struct(
            two
              ? [
                  ['k', schema],
                  ['n', INT32],
                ]
              : [['k', schema]],
            { name: `k.${type}.${two}` },
          );
          const row = struct(
            [
              ['k', schema],
              ['n', INT32],
              ['v', INT32],
            ],
            { name: `v.${type}` },
          );
          await using run = await orders.start(upsert(table));
          const deliver = async (v: number | null, offset: number) =>
            run.deliver(
              await avroSinkBatch({ topic, firstOffset: offset, keySchema: key, valueSchema: row }, [
                {
                  key: new Struct(key, two ? [value, 7] : [value]),
                  value: v === null ? null : new Struct(row, [value, 7, v]),
                },
                {
                  key: new Struct(key, two ? [value, 7] : [value]),
                  value: v === null ? null : new Struct(row, [value, 7, v]),
                },
              ]),
            );
          await deliver(1, 0);
          await deliver(2, 2);
          assert.deepEqual(await orders.rows(table, 'n, v'), [{ n: 7, v: 2 }], type);
          await deliver(null, 4);
          assert.deepEqual(await orders.rows(table, 'n, v'), [], `${type} ${two}`);
        }
      }
    });

    it('keeps keys apart that differ by case, accents or spaces at the end, in tables that it makes', async () => {
      const table = orders.target.uniqueName();
      await using run = await orders.start({ ...upsert(table), 'auto.create': 'true' });
      const key = struct([['k', STRING]], { name: 'case.Key' });
      const row = struct(
        [
          ['k', STRING],
          ['v', OPTIONAL_STRING],
        ],
        { name: 'case.Row' },
      );
      const texts = ['a', 'A', 'á', 'a ', '😀', ''];
      const records = texts.map(k => ({ key: new Struct(key, [k]), value: new Struct(row, [k, k]) }));
      await run.deliver(await avroSinkBatch({ topic, keySchema: key, valueSchema: row }, records));
      const rows = await orders.rows(table, 'k, v');
      assert.deepEqual(new Set(rows.map(r => r.k)), new Set(texts));
      assert.ok(rows.every(r => r.k === r.v));
    });
  });
}
