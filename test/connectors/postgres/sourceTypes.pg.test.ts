/** The same row by snapshot, by binary stream and by text stream gives the same values, whatever the type and the modes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import { Decimal, Struct } from '../../../schemas/data/index.ts';
import { PG15_URL, PG18_URL, SourceHarness } from './sourceHarness.ts';

/** Type, then values. All are nullable. */
const COLUMNS: readonly (readonly [type: string, ...values: string[]])[] = [
  ['boolean', 'true', 'false'],
  ['smallint', '-32768', '32767'],
  ['integer', '-2147483648', '2147483647'],
  ['bigint', '-9223372036854775808', '9223372036854775807'],
  ['oid', '4294967295', '0'],
  ['real', "'NaN'", "'-Infinity'", '3.4028235e38', '1e-45', '0.1'],
  ['double precision', "'Infinity'", '5e-324', '0.1'],
  ['numeric', "'NaN'", '0', '123456789012345678901234567890.1234567', '-0.00010', '1e30'],
  ['numeric(10,2)', "'NaN'", '-99999999.99', '0.05', '10000'],
  ['numeric(30,20)', '1234567890.12345678901234567891', '-0.00000000000000000001'],
  ['numeric(4,-2)', '123456'],
  ['money', "'$1,234.56'", "'-$0.01'", "'-92233720368547758.08'"],
  ['char(4)', "'ab'", "''"],
  ['"char"', "'x'"],
  ['varchar(10)', "'žluťoučký'", "''"],
  ['text', "E'a\\nb\\\\'", "''", "repeat('x', 70000)"],
  ['name', "'имя'"],
  ['bytea', "'\\x00ff5c'", "''"],
  ['bit', "B'1'", "B'0'"],
  ['bit(12)', "B'100000000001'", "B'000000000000'"],
  ['varbit', "B''", "B'101010101010101010101'"],
  ['date', "'infinity'", "'-infinity'", "'0044-03-15 BC'", "'5874897-12-31'", "'2000-02-29'"],
  ['time', "'24:00'", "'05:06:07.891234'"],
  ['time(3)', "'23:59:59.9995'", "'00:00:00.001'"],
  ['timetz', "'24:00-08'", "'12:00:00.5+15:59:59'"],
  [
    'timestamp',
    "'infinity'",
    "'-infinity'",
    "'4713-01-01 BC'",
    "'294246-12-31 23:59:59.999999'",
    "'1969-12-31 23:59:59.999999'",
  ],
  ['timestamp(3)', "'infinity'", "'1969-12-31 23:59:59.999'", "'0001-01-01'"],
  [
    'timestamptz',
    "'-infinity'",
    "'2020-02-29 01:02:03.000001+02'",
    "'294276-12-31 23:59:59.999999+00'",
    "'0044-03-15 12:00+00 BC'",
    "'1700-01-01 00:00:00.000001Z'",
  ],
  ['timestamptz(0)', "'2021-03-04 05:06:07.9+00'"],
  ['interval', "'1 year 2 mons -3 days 04:05:06.789'", "'-00:00:00.5'", "'178000000 years'", "'-1 mon -1 day -1 us'"],
  ['uuid', "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
  ['json', '\'{"b": 1,  "a": [null]}\''],
  ['jsonb', '\'{"b": 1,  "a": [null, 1e3]}\'', "'null'"],
  ['xml', '\'<?xml version="1.0"?><r>☃</r>\'', "'text'"],
  ['inet', "'192.168.1.5'", "'10.1.2.3/8'", "'::1'", "'2001:db8:0:0:1:0:0:1/64'", "'::ffff:1.2.3.4'", "'1:0:0:2::'"],
  ['cidr', "'10.0.0.0/8'", "'2001:db8::/32'", "'0.0.0.0/0'"],
  ['macaddr', "'08:00:2b:01:02:03'"],
  ['macaddr8', "'08:00:2b:01:02:03:04:05'"],
  ['point', "'(1.5,-2)'"],
  ['tsvector', "'''it''''s'':1A,3 fat cat:2B'"],
  ['hstore', '\'a=>1, b=>NULL, "c d"=>"x\\"y"\'', "''"],
  ['ltree', "'Top.Science'"],
  ['citext', "'MiXed'"],
  ['mood', "'very, happy'"],
  ['price', '1.5'],
  ['integer[]', "'{1,NULL,-3}'", "'{}'", "'[0:1]={5,6}'", "'{{1,2},{3,4}}'"],
  ['bigint[]', "'{9223372036854775807}'"],
  ['text[]', '\'{a,NULL,"NULL","with, comma","q\\"uote","","back\\\\\\\\slash","{brace}"}\''],
  ['numeric(6,2)[]', "'{1.5,NULL,-2}'"],
  ['numeric[]', "'{1.50,2}'"],
  ['double precision[]', "'{1e10,NaN}'"],
  ['boolean[]', "'{t,f,NULL}'"],
  ['date[]', "'{2020-01-01,NULL}'"],
  ['timestamptz[]', '\'{"2020-01-01 01:02:03+02"}\''],
  ['uuid[]', "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"],
  ['jsonb[]', 'ARRAY[\'{"a":1}\'::jsonb, NULL]'],
  ['bytea[]', "ARRAY['\\x00ff'::bytea, NULL]"],
  ['inet[]', "'{10.0.0.1,::1/64}'"],
  ['mood[]', "'{sad,NULL}'"],
  ['varchar(5)[]', "'{abc}'"],
];

const SETUP = `CREATE EXTENSION hstore;
CREATE EXTENSION ltree;
CREATE EXTENSION citext;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very, happy');
CREATE DOMAIN price AS numeric(8,3);
`;

const MODES: readonly (readonly [string, Record<string, string>])[] = [
  ['defaults', {}],
  [
    'texts',
    {
      'decimal.handling.mode': 'string',
      'time.precision.mode': 'isostring',
      'interval.handling.mode': 'string',
      'binary.handling.mode': 'base64',
    },
  ],
  [
    'numbers',
    {
      'decimal.handling.mode': 'double',
      'time.precision.mode': 'connect',
      'hstore.handling.mode': 'map',
      'binary.handling.mode': 'hex',
    },
  ],
  ['nanoseconds', { 'time.precision.mode': 'nanoseconds' }],
  ['microseconds', { 'time.precision.mode': 'microseconds' }],
];

for (const [server, url] of [
  ['PostgreSQL 18', PG18_URL],
  ['PostgreSQL 15', PG15_URL],
] as const) {
  for (const [mode, config] of MODES) {
    // A column of a range type has no binary reader: it turns the stream to text.
    for (const form of ['binary', 'text'] as const) {
      test(`values are those of the snapshot: ${server}, ${mode}, ${form} stream`, { timeout: 60_000 }, async t => {
        const harness = await SourceHarness.open(t, url);
        await harness.script(SETUP);
        const columns = COLUMNS.map(([type], i) => `c${i} ${type}`).join(', ');
        const range = form === 'text' ? ', r int4range, m int4multirange' : '';
        await harness.sql.query(`CREATE TABLE v (id integer PRIMARY KEY, ${columns}${range})`);
        const height = Math.max(...COLUMNS.map(column => column.length)) - 1;
        const insert = async (from: number): Promise<void> => {
          for (let row = 0; row <= height; row++) {
            const values = COLUMNS.map(([, ...list]) => list[row] ?? 'NULL').join(', ');
            await harness.sql.query(
              `INSERT INTO v VALUES (${from + row}, ${values}${range && ", '[1,5)', '{[1,2),[5,6)}'"})`,
            );
          }
        };
        await insert(0);
        await harness.start(config);
        await harness.pollUntilStreaming();
        assert.equal(harness.records.length, height + 1);
        await insert(100);
        const records = await harness.pollUntil(2 * (height + 1));
        for (let row = 0; row <= height; row++) {
          const [read, streamed] = [after(records[row]!), after(records[height + 1 + row]!)];
          for (const [i, [type]] of COLUMNS.entries()) {
            assert.deepEqual(streamed[`c${i}`], read[`c${i}`], `${type}, row ${row}`);
          }
          if (form === 'text') {
            assert.deepEqual(
              [read.r, read.m, streamed.r, streamed.m],
              ['[1,5)', '{[1,2),[5,6)}', '[1,5)', '{[1,2),[5,6)}'],
            );
          }
          for (const [i, column] of COLUMNS.entries()) {
            const isNull = column[row + 1] === undefined || /NaN/.test(column[row + 1]!);
            if (!isNull) assert.notEqual(read[`c${i}`], null, `${column[0]} ${column[row + 1]}`);
          }
        }
      });
    }
  }
}

function after(record: ConnectRecord): Record<string, unknown> {
  return plain((record.value as Struct).get('after')) as Record<string, unknown>;
}

function plain(value: unknown): unknown {
  if (value instanceof Struct) {
    return Object.fromEntries(value.schema.fields.map((field, i) => [field.name, plain(value.values[i])]));
  }
  if (value instanceof Decimal) return `${value.unscaled}e${-value.scale}`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  return value;
}
