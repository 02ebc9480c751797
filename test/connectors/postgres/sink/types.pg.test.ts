/** Every meaning that a field can have, into existing columns of many types and into columns that the sink makes; read back as the server writes it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
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
  type StructSchema,
  struct,
  timeSchema,
  timestampSchema,
} from '../../../../schemas/data/index.ts';
import { avroSinkBatch, plainSinkBatch } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

const named = (
  type: Exclude<SchemaType, 'ARRAY' | 'MAP' | 'STRUCT'>,
  name: string,
  parameters?: Record<string, string>,
) => primitive(type, { name: name.includes('.') && name.startsWith('io.') ? name : `io.debezium.${name}`, parameters });
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
const pointSchema = struct(
  [
    ['x', FLOAT64],
    ['y', FLOAT64],
    ['wkb', OPTIONAL_BYTES],
    ['srid', OPTIONAL_INT32],
  ],
  { name: 'io.debezium.data.geometry.Point' },
);
const nestedSchema = struct(
  [
    ['a', INT64],
    ['b', OPTIONAL_STRING],
  ],
  { name: 'test.Nested' },
);

/** Schema, value, column type (null: the sink makes the column), text that the server gives for it. */
type Case = readonly [Schema, unknown, string | null, string];

const existing: readonly Case[] = [
  [INT8, -128, 'smallint', '-128'],
  [INT16, 32767, 'integer', '32767'],
  [INT32, -2147483648, 'bigint', '-2147483648'],
  [INT64, 9223372036854775807n, 'bigint', '9223372036854775807'],
  [INT64, -9223372036854775808n, 'bigint', '-9223372036854775808'],
  [INT64, 9007199254740993n, 'numeric', '9007199254740993'],
  [INT64, 4294967295n, 'oid', '4294967295'],
  [INT32, 1, 'boolean', 'true'],
  [INT64, 42n, 'text', '42'],
  [INT64, 42n, 'double precision', '42'],
  [FLOAT32, Math.fround(0.1), 'real', '0.1'],
  [FLOAT64, 5e-324, 'double precision', '5e-324'],
  [FLOAT64, Number.NaN, 'double precision', 'NaN'],
  [FLOAT64, Number.NEGATIVE_INFINITY, 'real', '-Infinity'],
  [FLOAT64, 0.1, 'numeric', '0.1'],
  [FLOAT64, 1.5, 'numeric(10,2)', '1.50'],
  [BOOLEAN, true, 'boolean', 'true'],
  [BOOLEAN, true, 'bit(1)', '1'],
  [BOOLEAN, false, 'text', 'false'],
  [decimalSchema(2), new Decimal(-1154n, 2), 'numeric(10,2)', '-11.54'],
  [decimalSchema(2), new Decimal(0n, 2), 'numeric', '0.00'],
  [decimalSchema(4), new Decimal(10000n, 4), 'numeric(12,2)', '1.00'],
  [decimalSchema(10), new Decimal(1n, 10), 'numeric', '0.0000000001'],
  [decimalSchema(0), new Decimal(10n ** 40n + 7n, 0), 'numeric', '10000000000000000000000000000000000000007'],
  [decimalSchema(5), new Decimal(123456789012345678901234567n, 5), 'numeric', '1234567890123456789012.34567'],
  [decimalSchema(-3), new Decimal(12n, -3), 'numeric', '12000'],
  [decimalSchema(0), new Decimal(18446744073709551615n, 0), 'numeric(20)', '18446744073709551615'],
  [decimalSchema(2), new Decimal(1999n, 2), 'money', '$19.99'],
  [decimalSchema(2), new Decimal(1999n, 2), 'text', '19.99'],
  [vsdSchema, vsd('-0.00012300'), 'numeric', '-0.00012300'],
  [STRING, 'NaN', 'numeric', 'NaN'],
  [STRING, 'POSITIVE_INFINITY', 'numeric', 'Infinity'],
  [FLOAT64, Number.NaN, 'numeric(10,2)', 'NaN'],
  [FLOAT64, Number.NEGATIVE_INFINITY, 'numeric', '-Infinity'],
  [STRING, '12.345', 'numeric(10,3)', '12.345'],
  [STRING, ' 17 ', 'integer', '17'],
  [STRING, 'Ωμέγα 😀 \\ " \' \n', 'text', 'Ωμέγα 😀 \\ " \' \n'],
  [STRING, 'ab', 'char(4)', 'ab  '],
  [STRING, 'mixed', 'name', 'mixed'],
  [named('STRING', 'data.Enum', { allowed: 'sad,ok' }), 'ok', 'mood', 'ok'],
  [named('STRING', 'data.Enum', { allowed: 'sad,ok' }), 'sad', 'mood_domain', 'sad'],
  [BYTES, Buffer.from([0, 255, 92]), 'bytea', '\\x00ff5c'],
  [named('BYTES', 'data.Bits', { length: '3' }), Buffer.from([5]), 'bit(3)', '101'],
  [named('BYTES', 'data.Bits', { length: '12' }), Buffer.from([0x01, 0x08]), 'bit(12)', '100000000001'],
  [named('STRING', 'data.Json'), '{"a": 1e400}', 'json', '{"a": 1e400}'],
  [named('STRING', 'data.Json'), '{"b":12345678901234567890.5}', 'jsonb', '{"b": 12345678901234567890.5}'],
  [named('STRING', 'data.Json'), '[1]', 'text', '[1]'],
  [named('STRING', 'data.Xml'), '<a>☃</a>', 'xml', '<a>☃</a>'],
  [
    named('STRING', 'data.Uuid'),
    'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
    'uuid',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  ],
  [dateSchema(), 18690, 'date', '2021-03-04'],
  [time('INT32', 'Date'), -735160, 'date', '0044-03-15 BC'],
  [time('INT32', 'Date'), 2147483647, 'date', 'infinity'],
  [time('INT32', 'Date'), 0, 'timestamp', '1970-01-01 00:00:00'],
  [time('STRING', 'IsoDate'), '2017-09-15Z', 'date', '2017-09-15'],
  [timeSchema(), 18367891, 'time', '05:06:07.891'],
  [time('INT64', 'MicroTime'), 86400000000n, 'time', '24:00:00'],
  [time('INT64', 'NanoTime'), 1000n, 'time', '00:00:00.000001'],
  [time('STRING', 'IsoTime'), '05:06:07.891999Z', 'time', '05:06:07.891999'],
  [time('STRING', 'ZonedTime'), '02:36:07.891234Z', 'timetz', '02:36:07.891234+00'],
  [time('STRING', 'ZonedTime'), '12:00:00+05:30', 'timetz', '12:00:00+05:30'],
  [timestampSchema(), 1614834367891n, 'timestamp(3)', '2021-03-04 05:06:07.891'],
  [time('INT64', 'Timestamp'), 9223372036825200n, 'timestamp(3)', 'infinity'],
  [time('INT64', 'Timestamp'), -62135596800000n, 'timestamp(0)', '0001-01-01 00:00:00'],
  [time('INT64', 'MicroTimestamp'), -63517780800000000n, 'timestamp', '0044-03-15 12:00:00 BC'],
  [time('INT64', 'MicroTimestamp'), 9223372036825200000n, 'timestamp', 'infinity'],
  [time('INT64', 'MicroTimestamp'), -9223372036832400000n, 'timestamptz', '-infinity'],
  [time('INT64', 'NanoTimestamp'), 1614834367891234000n, 'timestamp', '2021-03-04 05:06:07.891234'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-04T03:06:07.891234Z', 'timestamptz', '2021-03-04 03:06:07.891234+00'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-31T03:06:07+02:00', 'timestamptz', '2021-03-31 01:06:07+00'],
  [time('STRING', 'ZonedTimestamp'), '-0043-03-15T12:00:00.000000Z', 'timestamptz', '0044-03-15 12:00:00+00 BC'],
  [time('STRING', 'ZonedTimestamp'), '+10000-01-01T00:00:00.000000Z', 'timestamptz', '10000-01-01 00:00:00+00'],
  [time('STRING', 'ZonedTimestamp'), 'infinity', 'timestamptz', 'infinity'],
  [time('STRING', 'IsoTimestamp'), '1960-01-01T00:00:00.1Z', 'timestamp', '1960-01-01 00:00:00.1'],
  [time('INT64', 'MicroDuration'), -86401000000n, 'interval', '-24:00:01'],
  [time('INT64', 'MicroTime'), -45015123000n, 'interval', '-12:30:15.123'],
  [time('INT64', 'MicroTime'), -45015123000n, 'text', '-12:30:15.123'],
  [time('INT64', 'MicroTime'), 3020399000000n, 'interval', '838:59:59'],
  [time('STRING', 'Interval'), 'P-1Y-2M3DT-4H-5M-6.000001S', 'interval', '-1 years -2 mons +3 days -04:05:06.000001'],
  [time('INT64', 'MicroTimestamp'), 1614834367891234n, 'bigint', '1614834367891234'],
  [time('INT64', 'MicroTimestamp'), 1614834367000000n, 'text', '2021-03-04T05:06:07'],
  [pointSchema, new Struct(pointSchema, [1.5, -2, null, null]), 'point', '(1.5,-2)'],
  [STRING, '192.168.1.5/24', 'inet', '192.168.1.5/24'],
  [STRING, '[1,6)', 'int4range', '[1,6)'],
  [STRING, '08:00:2b:01:02:03', 'macaddr', '08:00:2b:01:02:03'],
  [named('STRING', 'data.Tsvector'), "'a':1A 'cat':2", 'tsvector', "'a':1A 'cat':2"],
  [array(OPTIONAL_INT32), [1, null, -3], 'integer[]', '{1,NULL,-3}'],
  [
    array(OPTIONAL_STRING),
    ['a', null, 'NULL', 'q"u\\ote', '{b}', ''],
    'text[]',
    '{a,NULL,"NULL","q\\"u\\\\ote","{b}",""}',
  ],
  [array(decimalSchema(2)), [new Decimal(150n, 2)], 'numeric(6,2)[]', '{1.50}'],
  [array(time('INT64', 'MicroTimestamp')), [1577840523456789n], 'timestamp[]', '{"2020-01-01 01:02:03.456789"}'],
  [array(BYTES), [Buffer.from([1, 2])], 'bytea[]', '{"\\\\x0102"}'],
  [array(INT32), [], 'integer[]', '{}'],
  [
    array(array(OPTIONAL_INT32)),
    [
      [1, 2],
      [3, null],
    ],
    'integer[]',
    '{{1,2},{3,NULL}}',
  ],
  [array(array(array(STRING))), [[['a'], ['{b}']]], 'text[]', '{{{a},{"{b}"}}}'],
  [array(array(INT32)), [[1, 2], [3]], 'jsonb', '[[1, 2], [3]]'],
  [array(STRING), ['x'], 'jsonb', '["x"]'],
  [map(STRING, OPTIONAL_STRING), new Map([['k', 'v']]), 'jsonb', '{"k": "v"}'],
  [nestedSchema, new Struct(nestedSchema, [9007199254740993n, null]), 'jsonb', '{"a": 9007199254740993, "b": null}'],
];

const made: readonly Case[] = [
  [INT8, 1, null, 'smallint'],
  [INT16, 1, null, 'smallint'],
  [INT32, 1, null, 'integer'],
  [INT64, 1n, null, 'bigint'],
  [FLOAT32, 1, null, 'real'],
  [FLOAT64, 1, null, 'double precision'],
  [BOOLEAN, true, null, 'boolean'],
  [STRING, 'x', null, 'text'],
  [BYTES, Buffer.from('x'), null, 'bytea'],
  [decimalSchema(2, 10), new Decimal(1n, 2), null, 'numeric(10,2)'],
  [decimalSchema(2), new Decimal(1n, 2), null, 'numeric'],
  [vsdSchema, vsd('1.5'), null, 'numeric'],
  [time('INT32', 'Date'), 1, null, 'date'],
  [time('INT64', 'MicroTime'), 1n, null, 'time without time zone'],
  [time('STRING', 'ZonedTime'), '00:00:00Z', null, 'time with time zone'],
  [time('INT64', 'Timestamp'), 1n, null, 'timestamp without time zone'],
  [time('STRING', 'ZonedTimestamp'), '2021-03-04T03:06:07Z', null, 'timestamp with time zone'],
  [time('INT64', 'MicroDuration'), 1n, null, 'interval'],
  [named('STRING', 'data.Json'), '{}', null, 'jsonb'],
  [named('STRING', 'data.Uuid'), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', null, 'uuid'],
  [named('STRING', 'data.Xml'), '<a/>', null, 'xml'],
  [named('STRING', 'data.Enum', { allowed: 'a,b' }), 'a', null, 'text'],
  [named('BYTES', 'data.Bits', { length: '3' }), Buffer.from([5]), null, 'bit varying(3)'],
  [pointSchema, new Struct(pointSchema, [1, 2, null, null]), null, 'point'],
  [array(OPTIONAL_INT32), [1], null, 'integer[]'],
  [array(time('STRING', 'ZonedTimestamp')), ['2021-03-04T03:06:07Z'], null, 'timestamp with time zone[]'],
  [map(STRING, STRING), new Map([['a', 'b']]), null, 'jsonb'],
  [
    primitive('STRING', {
      parameters: { '__debezium.source.column.type': 'VARCHAR', '__debezium.source.column.length': '30' },
    }),
    'x',
    null,
    'character varying(30)',
  ],
  [
    decimalSchema(3, null, {
      parameters: {
        '__debezium.source.column.type': 'NUMERIC',
        '__debezium.source.column.length': '9',
        '__debezium.source.column.scale': '3',
      },
    }),
    new Decimal(1n, 3),
    null,
    'numeric(9,3)',
  ],
  [primitive('STRING', { parameters: { '__debezium.source.column.type': 'INET' } }), '::1', null, 'inet'],
  [primitive('STRING', { parameters: { '__debezium.source.column.type': 'text; drop table x' } }), 'x', null, 'text'],
];

/** Values that must be refused, not cut: schema, value, column type, code. */
const unfit: readonly (readonly [Schema, unknown, string, string])[] = [
  [INT64, 32768n, 'smallint', 'SINK_VALUE_UNFIT'],
  [INT64, 2147483648n, 'integer', 'SINK_VALUE_UNFIT'],
  [FLOAT64, 1.5, 'integer', 'SINK_VALUE_UNFIT'],
  [FLOAT64, 1e300, 'real', 'SINK_VALUE_UNFIT'],
  [decimalSchema(3), new Decimal(1005n, 3), 'numeric(10,2)', 'SINK_VALUE_UNFIT'],
  [decimalSchema(2), new Decimal(12345n, 2), 'numeric(4,2)', 'SINK_RECORD_REJECTED'],
  [decimalSchema(2), new Decimal(150n, 2), 'integer', 'SINK_VALUE_UNFIT'],
  [decimalSchema(0), new Decimal(2n ** 63n, 0), 'bigint', 'SINK_VALUE_UNFIT'],
  [time('INT64', 'MicroTimestamp'), 1614834367891234n, 'timestamp(3)', 'SINK_VALUE_UNFIT'],
  [time('INT64', 'NanoTimestamp'), 1n, 'timestamp', 'SINK_VALUE_UNFIT'],
  [time('INT64', 'MicroTimestamp'), 1614834367891234n, 'date', 'SINK_VALUE_UNFIT'],
  [time('INT64', 'MicroTime'), 90000000000n, 'time', 'SINK_VALUE_UNFIT'],
  [STRING, 'twelve', 'integer', 'SINK_VALUE_UNFIT'],
  [STRING, 'abcd', 'varchar(3)', 'SINK_RECORD_REJECTED'],
  [FLOAT64, Number.POSITIVE_INFINITY, 'numeric(10,2)', 'SINK_RECORD_REJECTED'],
  [array(array(INT32)), [[1, 2], [3]], 'integer[]', 'SINK_RECORD_REJECTED'],
  [STRING, 'nul \0', 'text', 'SINK_RECORD_REJECTED'],
  [STRING, 'great', 'mood', 'SINK_RECORD_REJECTED'],
  [STRING, '{', 'jsonb', 'SINK_RECORD_REJECTED'],
  [named('STRING', 'data.Uuid'), 'no uuid', 'uuid', 'SINK_VALUE_UNFIT'],
  [named('BYTES', 'data.Bits', { length: '4' }), Buffer.from([5]), 'bit(3)', 'SINK_RECORD_REJECTED'],
  [STRING, '300.1.1.1', 'inet', 'SINK_RECORD_REJECTED'],
  [STRING, '2021-02-30T00:00:00Z', 'timestamptz', 'SINK_VALUE_UNFIT'],
];

/** Meanings that can never go into such a column. */
const mismatched: readonly (readonly [Schema, unknown, string])[] = [
  [BYTES, Buffer.from('x'), 'text'],
  [BYTES, Buffer.from('x'), 'integer'],
  [STRING, 'x', 'bytea'],
  [dateSchema(), 1, 'uuid'],
  [array(INT32), [1], 'integer'],
];

const keySchema = struct([['id', INT32]], { name: 'types.Key' });

for (const [name, server] of servers) {
  describe(`types, ${name}`, () => {
    let target: PgTarget;
    before(async () => {
      target = await openPgTarget(server);
      await target.client.query("set timezone = 'UTC'");
      await target.client.query(
        `create type mood as enum ('sad', 'ok'); create domain mood_domain as mood check (value <> 'ok')`,
      );
    });
    after(() => target[Symbol.asyncDispose]());

    const config = (table: string) => ({
      ...target.connection,
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'table.name.format': table,
      'auto.create': 'true',
    });
    const record = (schema: StructSchema, id: number, values: readonly unknown[]) => ({
      key: new Struct(keySchema, [id]),
      value: new Struct(schema, [id, ...values]),
    });

    for (const [form, make] of [
      ['plain', plainSinkBatch],
      ['Avro', avroSinkBatch],
    ] as const) {
      it(`writes each kind into existing columns, ${form}`, async () => {
        const table = target.uniqueName();
        await target.client.query(
          `create table ${table} (id int primary key, ${existing.map(([, , type], i) => `c${i} ${type}`).join(', ')})`,
        );
        const schema = struct([['id', INT32], ...existing.map(([s], i) => [`c${i}`, optional(s)] as const)], {
          name: 'types.Row',
        });
        await using run = await startSink(sinkPlugin.createTask(), config(table));
        const rows = [
          record(
            schema,
            1,
            existing.map(c => c[1]),
          ),
          record(
            schema,
            2,
            existing.map(() => null),
          ),
        ];
        await run.deliver(await make({ topic: 'types', keySchema, valueSchema: schema }, rows));
        const { rows: got } = await target.client.query(
          `select ${existing
            .map((_, i) => (existing[i]![2]!.startsWith('char') ? `rpad(c${i}::text, 4)` : `c${i}::text`))
            .map((e, i) => `${e} as c${i}`)
            .join(', ')} from ${table} order by id`,
        );
        const found = existing.map(([s, , type], i) => [s.name ?? s.type, type, got[0][`c${i}`]]);
        assert.deepEqual(
          found,
          existing.map(([s, , type, text]) => [s.name ?? s.type, type, text]),
        );
        assert.ok(Object.values(got[1]).every(v => v === null));
      });
    }

    it('makes columns that hold each kind', async () => {
      const table = target.uniqueName();
      const schema = struct([['id', INT32], ...made.map(([s], i) => [`c${i}`, optional(s)] as const)], {
        name: 'types.Made',
      });
      await using run = await startSink(sinkPlugin.createTask(), config(table));
      await run.deliver(
        await avroSinkBatch({ topic: 'types', keySchema, valueSchema: schema }, [
          record(
            schema,
            1,
            made.map(c => c[1]),
          ),
        ]),
      );
      const { rows } = await target.client.query(
        `select format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = '${table}'::regclass and attnum > 1 order by attnum`,
      );
      assert.deepEqual(
        rows.map(r => r.type),
        made.map(c => c[3]),
      );
      assert.equal((await target.client.query(`select from ${table}`)).rowCount, 1);
    });

    it('refuses values that do not fit, each as its own record, and never cuts', async () => {
      for (const [schema, value, type, code] of unfit) {
        const table = target.uniqueName();
        await target.client.query(`create table ${table} (id int primary key, c ${type})`);
        await using run = await startSink(sinkPlugin.createTask(), config(table), { tolerate: true });
        const row = struct(
          [
            ['id', INT32],
            ['c', optional(schema)],
          ],
          { name: 'types.Unfit' },
        );
        await run.deliver(
          plainSinkBatch({ topic: 'types', keySchema, valueSchema: row }, [
            record(row, 1, [null]),
            record(row, 2, [value]),
            record(row, 3, [null]),
          ]),
        );
        const what = `${schema.name ?? schema.type} to ${type}`;
        assert.deepEqual([what, ...run.errants.map(e => e.error.code)], [what, code]);
        assert.equal(run.errants[0]!.record.originalOffset, 1);
        assert.equal((await target.client.query(`select from ${table}`)).rowCount, 2);
      }
    });

    it('fails at once for a field that can never go into its column, naming both', async () => {
      for (const [schema, value, type] of mismatched) {
        const table = target.uniqueName();
        await target.client.query(`create table ${table} (id int primary key, odd ${type})`);
        await using run = await startSink(sinkPlugin.createTask(), config(table), { tolerate: true });
        const row = struct(
          [
            ['id', INT32],
            ['odd', optional(schema)],
          ],
          { name: 'types.Mismatch' },
        );
        const batch = plainSinkBatch({ topic: 'types', keySchema, valueSchema: row }, [record(row, 1, [value])]);
        await assert.rejects(run.deliver(batch), { code: 'SINK_TYPE_MISMATCH', message: /"odd"/ });
      }
    });
  });
}
