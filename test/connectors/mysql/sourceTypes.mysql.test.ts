/** Rows of every type: the snapshot gives what the stream gave, MariaDB what MySQL gives, and zongji, another reader of the log, the same rows. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Decimal } from '../../../schemas/data/index.ts';
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
