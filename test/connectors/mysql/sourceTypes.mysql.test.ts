/** Rows of every type: the snapshot gives what the stream gave, MariaDB what MySQL gives, and zongji, another reader of the log, the same rows. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { Decimal } from '../../../schemas/data/index.ts';
import { type Column, columns, everyTypeTable, workload } from './everyType.ts';
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
  await harness.sql.query(everyTypeTable(columns));
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
