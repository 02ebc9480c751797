/** Rows of every type: the snapshot gives what the stream gave, MariaDB what MySQL gives, and zongji, another reader of the log, the same rows. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Decimal, type StructSchema } from '../../../schemas/data/index.ts';
import { randomOf } from '../../chaos/random.ts';
import { type Column, columns, everyTypeTable, workload } from './everyType.ts';
import { eventText, readByMillrace, readByZongji } from './logReaders.ts';
import { MARIADB_URL, MYSQL_URL, MysqlHarness, plain } from './mysqlHarness.ts';

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
  await harness.sql.query(everyTypeTable(used));
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
  harness.stored = null;
  await harness.start({ 'snapshot.mode': 'initial_only', 'bigint.unsigned.handling.mode': 'precise' });
  await harness.pollUntil(Number(n) + 1);
  return { streamed, snapshot: rowsOf(harness) };
}

test('a snapshot gives the values of the stream for random rows of every type, MariaDB those of MySQL', async t => {
  const statements = [...workload(7, columns, 150)];
  const mysql = await streamAndSnapshot(t, MYSQL_URL, columns, statements);
  assert.ok(mysql.streamed.size > 100);
  assert.deepEqual(mysql.snapshot, mysql.streamed);

  const common = columns.filter(column => !column.isMysqlOnly);
  const shared = [...workload(8, common, 100)];
  const maria = await streamAndSnapshot(t, MARIADB_URL, common, shared);
  assert.ok(maria.streamed.size > 60);
  assert.deepEqual(maria.snapshot, maria.streamed);
  const again = await streamAndSnapshot(t, MYSQL_URL, common, shared);
  const known = common.filter(column => column.name !== 'p').map(column => column.name);
  const only = (rows: Map<number, unknown>): unknown =>
    Array.from(rows, ([id, row]) => [id, known.map(name => (row as Record<string, unknown>)[name])]);
  assert.deepEqual(only(maria.streamed), only(again.streamed));
});

test('the rows are those that zongji reads from the same log', { timeout: 60_000 }, async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query("SET time_zone = '+00:00'");
  await harness.sql.query(everyTypeTable(columns));
  const [status] = await harness.sql.query('SHOW BINARY LOG STATUS');
  const { File: file, Position: position } = (status as { File: string; Position: string }[])[0]!;
  for (const statement of workload(11, columns, 200)) await harness.sql.query(statement);
  const lastId = 9_999_999;
  await harness.sql.query(`INSERT INTO t (id) VALUES (${lastId})`);
  const part = { url: MYSQL_URL, database: harness.name, file, position: Number(position), lastId };
  const [ours, theirs]: string[][] = [[], []];
  await readByMillrace(part, (...event) => ours!.push(eventText(...event)));
  await readByZongji(part, (...event) => theirs!.push(eventText(...event)));
  assert.ok(ours!.length > 250);
  assert.deepEqual(ours, theirs);
});

test('MariaDB: UUID, INET4 and INET6 are texts, in snapshot, stream and keys, with zeros at either end', async t => {
  const random = randomOf(20_261_201);
  const word = (): string => (random(3) > 0 ? '0' : random(65_536).toString(16));
  const inet6 = (): string => Array.from({ length: 8 }, word).join(':');
  const inet4 = (): string => Array.from({ length: 4 }, () => random(3) * 120).join('.');
  const digits = (count: number): string =>
    Array.from({ length: count }, () => '0123456789abcdef'[random(4) > 0 ? random(16) : 0]).join('');
  const uuid = (): string =>
    `${digits(8)}-${digits(4)}-${1 + random(7)}${digits(3)}-${'89ab'[random(4)]}${digits(3)}-${digits(10)}00`;
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  const { sql, name } = harness;
  await sql.query(
    "CREATE TABLE t (id UUID PRIMARY KEY, i4 INET4 NOT NULL DEFAULT '1.2.3.4', i6 INET6); CREATE TABLE sig (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data TEXT)",
  );
  const config = { 'signal.data.collection': `${name}.sig`, 'incremental.snapshot.chunk.size': '50' };
  await harness.start({ ...config, 'snapshot.mode': 'no_data', 'table.include.list': `${name}\\.t` });
  await harness.pollUntilStreaming();
  const fixed = [
    '::',
    '::1',
    '::1:0',
    '::ffff:1.2.3.4',
    '::ffff:0:1',
    '1::',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ];
  const rows = Array.from({ length: 300 }, (_, i) => [uuid(), inet4(), fixed[i] ?? inet6()]);
  await sql.query('INSERT INTO t VALUES ?', [[...rows, [uuid(), '0.0.0.0', null]]]);
  await harness.pollUntil(rows.length + 1);
  const read = (from: number): string[] =>
    harness.records.slice(from).map(({ key, value }) => {
      const { after } = plain(value) as { after: Record<string, unknown> };
      assert.deepEqual(plain(key), { id: after.id });
      return JSON.stringify(after);
    });
  const [now] = await sql.query('SELECT id, i4, i6 FROM t');
  const expected = (now as object[]).map(row => JSON.stringify(row)).sort();
  assert.deepEqual(read(0).sort(), expected);
  const { keySchema, valueSchema } = harness.records[0]!;
  assert.equal((keySchema as StructSchema).fields[0]!.schema.name, 'io.debezium.data.Uuid');

  const streamed = harness.records.length;
  const data = JSON.stringify({ 'data-collections': [`${name}.t`] });
  await sql.query("INSERT INTO sig VALUES ('1', 'execute-snapshot', ?)", [data]);
  await harness.pollUntil(2 * streamed);
  assert.deepEqual(read(streamed).sort(), expected);
  await harness.stop();

  harness.records.length = 0;
  harness.stored = null;
  await harness.start({ ...config, 'snapshot.mode': 'initial_only', 'table.include.list': `${name}\\.t` });
  await harness.pollUntil(streamed);
  assert.deepEqual(read(0).sort(), expected);
  assert.deepEqual(harness.records[0]!.valueSchema, valueSchema);
});
