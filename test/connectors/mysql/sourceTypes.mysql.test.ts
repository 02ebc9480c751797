/** Rows of every type: the snapshot gives what the stream gave, MariaDB what MySQL gives, and zongji, another reader of the log, the same rows. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { Decimal } from '../../../schemas/data/index.ts';
import { Random } from '../../schemas/transcode/randomRecords.ts';
import { MARIADB_URL, MYSQL_URL, MysqlHarness, plain } from './mysqlHarness.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly value: (r: Random) => string;
  /** Not in MariaDB, or there another type. */
  readonly isMysqlOnly?: boolean;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const integer =
  (bits: number, isUnsigned = false) =>
  (r: Random): string =>
    String(isUnsigned ? BigInt.asUintN(bits, r.long(bits)) : r.long(bits));
const two = (n: number): string => String(n).padStart(2, '0');
const date = (r: Random): string => `${1000 + r.below(8999)}-${two(1 + r.below(12))}-${two(1 + r.below(28))}`;
const time = (r: Random): string => `${two(r.below(24))}:${two(r.below(60))}:${two(r.below(60))}`;
const fraction = (r: Random, digits: number): string =>
  digits === 0 || r.chance(30) ? '' : `.${String(r.below(10 ** digits)).padStart(digits, '0')}`;
const short = (r: Random): string => Array.from(r.text()).slice(0, 40).join('');

const columns: readonly Column[] = [
  { name: 't', type: 'TINYINT', value: integer(8) },
  { name: 'tu', type: 'TINYINT UNSIGNED', value: integer(8, true) },
  { name: 's', type: 'SMALLINT', value: integer(16) },
  { name: 'su', type: 'SMALLINT UNSIGNED', value: integer(16, true) },
  { name: 'm', type: 'MEDIUMINT', value: integer(24) },
  { name: 'mu', type: 'MEDIUMINT UNSIGNED', value: integer(24, true) },
  { name: 'i', type: 'INT', value: integer(32) },
  { name: 'iu', type: 'INT UNSIGNED', value: integer(32, true) },
  { name: 'b', type: 'BIGINT', value: integer(64) },
  { name: 'bu', type: 'BIGINT UNSIGNED', value: integer(64, true) },
  { name: 'z', type: 'BIGINT(20) ZEROFILL', value: integer(32, true) },
  { name: 'f', type: 'FLOAT', value: r => String(Math.fround(r.below(1e6) / 7)) },
  { name: 'd', type: 'DOUBLE', value: r => String((r.below(1e9) - 5e8) / 7) },
  { name: 'dc', type: 'DECIMAL(12,3)', value: r => `${r.chance(50) ? '-' : ''}${r.below(1e9)}.${r.below(1000)}` },
  { name: 'dl', type: 'DECIMAL(40,20)', value: r => `-${r.long(60)}`.replace('--', '') },
  { name: 'b1', type: 'BIT(1)', value: r => `b'${r.below(2)}'` },
  { name: 'b11', type: 'BIT(11)', value: r => String(r.below(2048)) },
  { name: 'y', type: 'YEAR', value: r => String(r.pick([0, 1901, 2155, 2000 + r.below(100)])) },
  { name: 'da', type: 'DATE', value: r => quoted(date(r)) },
  { name: 'ti', type: 'TIME', value: r => quoted(`${r.chance(30) ? '-' : ''}${r.below(838)}:${two(r.below(60))}:07`) },
  { name: 'ti3', type: 'TIME(3)', value: r => quoted(`${r.chance(50) ? '-' : ''}${time(r)}${fraction(r, 3)}`) },
  { name: 'ti6', type: 'TIME(6)', value: r => quoted(`${r.chance(50) ? '-' : ''}${time(r)}${fraction(r, 6)}`) },
  { name: 'dt', type: 'DATETIME', value: r => quoted(`${date(r)} ${time(r)}`) },
  { name: 'dt2', type: 'DATETIME(2)', value: r => quoted(`${date(r)} ${time(r)}${fraction(r, 2)}`) },
  { name: 'dt6', type: 'DATETIME(6)', value: r => quoted(`${date(r)} ${time(r)}${fraction(r, 6)}`) },
  { name: 'ts', type: 'TIMESTAMP NULL', value: r => quoted(`${1971 + r.below(60)}-03-04 ${time(r)}`) },
  {
    name: 'ts4',
    type: 'TIMESTAMP(4) NULL',
    value: r => quoted(`${1971 + r.below(60)}-03-04 ${time(r)}${fraction(r, 4)}`),
  },
  { name: 'c', type: 'CHAR(40)', value: r => quoted(short(r).trimEnd()) },
  { name: 'v', type: 'VARCHAR(300)', value: r => quoted(short(r)) },
  { name: 'l1', type: 'VARCHAR(40) CHARACTER SET latin1', value: r => quoted(r.pick(['é€ß', 'plain', '', 'Œ…™'])) },
  { name: 'u2', type: 'VARCHAR(40) CHARACTER SET ucs2', value: r => quoted(r.pick(['Ωé', 'plain', ''])) },
  { name: 'tx', type: 'TEXT', value: r => quoted(r.text()) },
  { name: 'bi', type: 'BINARY(5)', value: r => `0x${r.bytes().subarray(0, 5).toString('hex') || '00'}` },
  { name: 'vb', type: 'VARBINARY(200)', value: r => `x'${r.bytes().toString('hex')}'` },
  { name: 'bl', type: 'MEDIUMBLOB', value: r => `x'${r.bytes().toString('hex')}'` },
  { name: 'e', type: "ENUM('a','b,c','d''e','é')", value: r => String(1 + r.below(4)) },
  { name: 'st', type: "SET('x','y','z z','w')", value: r => String(r.below(16)) },
  { name: 'p', type: 'POINT', value: r => `ST_GeomFromText('POINT(${r.below(90)} ${r.below(90) / 4})', 4326)` },
  { name: 'g', type: 'GEOMETRY', value: r => `ST_GeomFromText('LINESTRING(0 0,${r.below(9)} 1)')` },
  {
    name: 'j',
    type: 'JSON',
    isMysqlOnly: true,
    value: r =>
      quoted(
        JSON.stringify({
          s: short(r),
          n: [r.below(9), null, true, 1.5, -2],
          o: { k: 70_000, l: 'x'.repeat(r.below(300)) },
        }),
      ),
  },
];

/** Statements that fill and change a table `t` of the columns. */
function workload(seed: number, used: readonly Column[], rows: number): string[] {
  const r = new Random(seed);
  const value = (column: Column): string => (r.chance(12) ? 'NULL' : column.value(r));
  const statements: string[] = [];
  for (let id = 1; id <= rows; id++) {
    statements.push(`INSERT INTO t VALUES (${[id, ...used.map(value)].join(', ')})`);
    if (r.chance(40)) {
      const changed = used.filter(() => r.chance(30));
      if (changed.length > 0) {
        const sets = changed.map(column => `${column.name} = ${value(column)}`);
        statements.push(`UPDATE t SET ${sets.join(', ')} WHERE id = ${1 + r.below(id)}`);
      }
    }
    if (r.chance(10)) statements.push(`DELETE FROM t WHERE id = ${1 + r.below(id)}`);
  }
  return statements;
}

const tableOf = (used: readonly Column[]): string =>
  `CREATE TABLE t (id INT PRIMARY KEY, ${used.map(({ name, type }) => `${name} ${type}`).join(', ')})`;

/** Values as texts that compare. */
const shown = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, function (key, v) {
      const raw: unknown = this[key];
      if (typeof v === 'bigint') return `${v}`;
      if (raw instanceof Decimal) return raw.toString();
      return Buffer.isBuffer(raw) ? raw.toString('hex') : v;
    }),
  );

/** The rows that a topic's events leave, by id. */
function rowsOf(harness: MysqlHarness): Map<number, unknown> {
  const rows = new Map<number, unknown>();
  for (const record of harness.records) {
    const { id } = plain(record.key) as { id: number };
    const event = plain(record.value) as { after: unknown } | null;
    if (event?.after == null) rows.delete(id);
    else rows.set(id, shown(event.after));
  }
  return rows;
}

async function streamAndSnapshot(t: TestContext, url: string, used: readonly Column[], statements: readonly string[]) {
  const harness = await MysqlHarness.open(t, { url });
  await harness.sql.query("SET time_zone = '+00:00'");
  await harness.sql.query(tableOf(used));
  await harness.start({ 'snapshot.mode': 'no_data', 'bigint.unsigned.handling.mode': 'precise' });
  await harness.pollUntilStreaming();
  for (const statement of statements) await harness.sql.query(statement);
  const [rows] = await harness.sql.query('SELECT COUNT(*) AS n FROM t');
  const { n } = (rows as { n: string }[])[0]!;
  const last = 9_999_999;
  await harness.sql.query(`INSERT INTO t (id) VALUES (${last})`);
  await harness.pollWhile(() => !rowsOf(harness).has(last));
  await harness.stop();
  const streamed = rowsOf(harness);
  harness.records.length = 0;
  await harness.start({ 'snapshot.mode': 'initial_only', 'bigint.unsigned.handling.mode': 'precise' });
  await harness.pollUntil(Number(n) + 1);
  return { streamed, snapshot: rowsOf(harness) };
}

test('a snapshot gives the values of the stream for random rows of every type, MariaDB those of MySQL', async t => {
  const statements = workload(7, columns, 150);
  const mysql = await streamAndSnapshot(t, MYSQL_URL, columns, statements);
  assert.ok(mysql.streamed.size > 100);
  assert.deepEqual(mysql.snapshot, mysql.streamed);

  const common = columns.filter(column => !column.isMysqlOnly);
  const shared = workload(8, common, 100);
  const maria = await streamAndSnapshot(t, MARIADB_URL, common, shared);
  assert.ok(maria.streamed.size > 60);
  assert.deepEqual(maria.snapshot, maria.streamed);
  const again = await streamAndSnapshot(t, MYSQL_URL, common, shared);
  const known = common.filter(column => column.name !== 'p').map(column => column.name);
  const only = (rows: Map<number, unknown>): unknown =>
    Array.from(rows, ([id, row]) => [id, known.map(name => (row as Record<string, unknown>)[name])]);
  assert.deepEqual(only(maria.streamed), only(again.streamed));
});

interface ZongjiEvent {
  getEventName(): string;
  tableId: number;
  tableMap: Record<number, { tableName: string; parentSchema: string }>;
  rows: readonly (Record<string, unknown> & { before?: Record<string, unknown>; after?: Record<string, unknown> })[];
}
interface Zongji {
  on(event: string, f: (event: ZongjiEvent) => void): void;
  start(options: object): Promise<void> | void;
  stop(): Promise<void> | void;
}

/** Columns that both readers give in forms that a text compares. */
const COMPARED = ['t', 'tu', 's', 'su', 'm', 'mu', 'i', 'iu', 'b', 'f', 'd', 'dl', 'c', 'v', 'tx', 'e', 'vb', 'bl'];

test('the rows are those that zongji reads from the same log', { timeout: 60_000 }, async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query("SET time_zone = '+00:00'");
  await harness.sql.query(tableOf(columns));
  await harness.start({ 'snapshot.mode': 'no_data' });
  await harness.pollUntilStreaming();
  const [status] = await harness.sql.query('SHOW BINARY LOG STATUS');
  const { File: filename, Position: position } = (status as { File: string; Position: string }[])[0]!;
  for (const statement of workload(11, columns, 200)) await harness.sql.query(statement);
  const last = 9_999_999;
  await harness.sql.query(`INSERT INTO t (id) VALUES (${last})`);
  await harness.pollWhile(() => !rowsOf(harness).has(last));

  type Row = Record<string, unknown>;
  const require = createRequire(import.meta.url);
  const module = (await import(require.resolve('@vlasky/zongji'))) as { default: new (options: object) => Zongji };
  const url = new URL(MYSQL_URL);
  const zongji = new module.default({
    host: url.hostname,
    port: Number(url.port),
    user: url.username,
    dateStrings: true,
  });
  const theirs: [string, Row | null, Row | null][] = [];
  await new Promise<void>((resolve, reject) => {
    zongji.on('error', reject as never);
    zongji.on('binlog', event => {
      const name = event.getEventName();
      if (!/rows$/.test(name) || event.tableMap[event.tableId]?.parentSchema !== harness.name) return;
      for (const row of event.rows) {
        if (name === 'writerows') theirs.push(['c', null, row]);
        else if (name === 'deleterows') theirs.push(['d', row, null]);
        else theirs.push(['u', row.before!, row.after!]);
      }
      if (theirs.at(-1)?.[2]?.id === last) resolve();
    });
    void zongji.start({
      serverId: 4_000_000 + Math.floor(Math.random() * 1e6),
      filename,
      position: Number(position),
      includeEvents: ['rotate', 'tablemap', 'writerows', 'updaterows', 'deleterows'],
    });
  });
  await zongji.stop();

  const text = (value: unknown): string => {
    if (value === null || value === undefined) return 'null';
    if (value instanceof Decimal) return value.toString();
    return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
  };
  const compared = (row: Row | null): string | null =>
    row === null ? null : ['id', ...COMPARED].map(name => `${name}=${text(row[name])}`).join(' ');
  const ours = harness.records.flatMap(record => {
    const event = plain(record.value) as { op: string; before: Row | null; after: Row | null } | null;
    return event === null ? [] : [[event.op, compared(event.before), compared(event.after)]];
  });
  assert.equal(ours.length, theirs.length);
  assert.deepEqual(
    ours,
    theirs.map(([op, before, after]) => [op, compared(before), compared(after)]),
  );
});
