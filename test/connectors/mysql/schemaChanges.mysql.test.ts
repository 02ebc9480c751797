/** DDL: cut-overs of migration tools under load, the topic of schema changes of MariaDB, and partial updates of JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../../chaos/random.ts';
import { MARIADB_URL, MysqlHarness, plain } from './mysqlHarness.ts';

interface Event {
  readonly op: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

const eventsOf = (harness: MysqlHarness, table: string): Event[] =>
  harness.records
    .filter(({ topic, value }) => topic.endsWith(`.${table}`) && value !== null)
    .map(({ value }) => plain(value) as Event);

for (const url of [undefined, MARIADB_URL]) {
  const server = url === undefined ? 'MySQL' : 'MariaDB';

  test(`${server}: tables are swapped as gh-ost and pt-online-schema-change do, under load`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    const { sql } = harness;
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY, c0 INT)');
    await harness.start({ 'snapshot.mode': 'no_data', 'include.schema.changes': 'true' });
    await harness.pollUntilStreaming();
    const other = await harness.connect();
    t.after(async () => {
      isLoading = false;
      await load.catch(() => {});
      other.destroy();
    });
    let isLoading = true;
    let id = 0;
    const load = (async () => {
      while (isLoading) await other.query('INSERT INTO t (id, c0) VALUES (?, ?)', [++id, id * 2]);
    })();
    const rounds = 5;
    for (let round = 1; round <= rounds; round++) {
      await sql.query(`CREATE TABLE _t_gho LIKE t; ALTER TABLE _t_gho ADD COLUMN c${round} INT DEFAULT ${round} FIRST`);
      const [columns] = await sql.query(
        "SELECT GROUP_CONCAT(column_name) AS names FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'",
      );
      const { names } = (columns as { names: string }[])[0]!;
      // Writing waits while the rest is copied, as in the cut-over.
      await sql.query('LOCK TABLES t WRITE, _t_gho WRITE');
      await sql.query(`INSERT INTO _t_gho (${names}) SELECT ${names} FROM t`);
      if (url === undefined) await sql.query('RENAME TABLE t TO _t_del, _t_gho TO t; UNLOCK TABLES');
      else await sql.query('UNLOCK TABLES; RENAME TABLE t TO _t_del, _t_gho TO t');
      await sql.query('DROP TABLE _t_del');
      await harness.poll();
    }
    isLoading = false;
    await load;
    await other.query('INSERT INTO t (id, c0) VALUES (1000000, 0)');
    await harness.pollWhile(() => !eventsOf(harness, 't').some(({ after }) => after?.id === 1000000));
    const seen = eventsOf(harness, 't').filter(({ after }) => after!.id !== 1000000);
    assert.deepEqual(
      seen.map(({ op, after }) => `${op} ${after!.id} ${after!.c0}`),
      Array.from({ length: id }, (_, i) => `c ${i + 1} ${(i + 1) * 2}`),
    );
    // Each row has the columns of its moment: all of the rounds before, none of those to come.
    const widths = seen.map(({ after }) => Object.keys(after!).length);
    assert.deepEqual(
      widths,
      widths.toSorted((a, b) => a - b),
    );
    const { after } = eventsOf(harness, 't').at(-1)!;
    assert.deepEqual(Object.keys(after!), [...Array.from({ length: rounds }, (_, i) => `c${rounds - i}`), 'id', 'c0']);
    const ddl = harness.records
      .filter(({ topic }) => topic === harness.name)
      .map(({ value }) => plain(value) as { ddl: string; tableChanges: unknown[] });
    const renames = ddl.filter(change => change.ddl.startsWith('RENAME TABLE _t_gho TO t'));
    assert.equal(renames.length, rounds);
    const last = JSON.stringify(renames.at(-1)!.tableChanges.map(plain), (_, v) =>
      Array.isArray(v) ? v.map(plain) : plain(v),
    );
    for (let round = 1; round <= rounds; round++) assert.ok(last.includes(`"name":"c${round}"`), last);
  });
}

test('MariaDB: what DDL does is published with its names of schemas', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, u UUID, at TIMESTAMP DEFAULT current_timestamp())');
  await harness.start({ 'include.schema.changes': 'true', 'column.exclude.list': `${harness.name}.t.u` });
  await harness.pollUntilStreaming();
  await harness.sql.query('ALTER TABLE t ADD COLUMN v VARCHAR(3) NOT NULL DEFAULT "x"');
  const isThere = (): boolean =>
    harness.records.some(({ value }) => String((plain(value) as { ddl?: string }).ddl).startsWith('ALTER TABLE t'));
  await harness.pollWhile(() => !isThere());
  const changes = harness.records.filter(({ topic }) => topic === harness.name);
  assert.equal(changes[0]!.valueSchema!.name, 'io.debezium.connector.mariadb.SchemaChangeValue');
  const text = JSON.stringify(plain(changes.at(-1)!.value), (_, v) =>
    typeof v === 'bigint' ? String(v) : Array.isArray(v) ? v.map(plain) : plain(v),
  );
  assert.match(text, /"name":"v","jdbcType":12.*"length":3.*"defaultValueExpression":"x"/);
});

test('MySQL: partial updates of JSON give the documents of the server', async t => {
  const harness = await MysqlHarness.open(t);
  const { sql } = harness;
  await sql.query('CREATE TABLE j (id INT PRIMARY KEY, a JSON, n INT, b JSON NOT NULL)');
  const filler = '"filler": "so long that parts of the document are logged, and not all of it"';
  await sql.query(
    `INSERT INTO j VALUES (1, '{"k": [1, {"x": 2.50}], "é": null, ${filler}}', 0, '[[], {"q": 1e3}, ${filler.split(': ')[1]}]')`,
  );
  await harness.start({ 'snapshot.mode': 'no_data' });
  await harness.pollUntilStreaming();
  await sql.query("SET binlog_row_value_options = 'PARTIAL_JSON'");
  const random = randomOf(20_261_130);
  const pick = <T>(of: readonly T[]): T => of[random(of.length)]!;
  const values = [
    "'text'",
    '1',
    '-2.5',
    'TRUE',
    'JSON_OBJECT("in", JSON_ARRAY(1, 2))',
    'CAST("[1, [2]]" AS JSON)',
    'NULL',
    'CAST("2020-01-02" AS DATE)',
    '1.10',
  ];
  const documents: string[] = [];
  for (let i = 0; i < 150; i++) {
    const column = pick(['a', 'b']);
    const paths =
      column === 'a'
        ? ['$.k', '$.k[0]', '$.k[1].x', '$."é"', '$.z', '$."a b"']
        : ['$[0]', '$[1]', '$[1].q', '$[1].new', '$[3]', '$[0][0]'];
    const change = pick([
      `JSON_SET(${column}, '${pick(paths)}', ${pick(values)})`,
      `JSON_REPLACE(${column}, '${pick(paths)}', ${pick(values)})`,
      `JSON_REMOVE(${column}, '${pick(paths)}')`,
    ]);
    await sql.query(`UPDATE j SET ${column} = ${change}, n = n + 1`);
    const [rows] = await sql.query('SELECT CAST(a AS CHAR) AS a, CAST(b AS CHAR) AS b FROM j');
    documents.push(JSON.stringify(rows));
  }
  await harness.pollUntil(150);
  const partial = harness.batches.length;
  assert.ok(partial > 0);
  // Compared as the server's own text is read: numbers keep their digits in both.
  const compact = (text: unknown): string =>
    String(text).replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, quoted) => quoted ?? '');
  for (const [i, { after }] of eventsOf(harness, 'j').entries()) {
    const [row] = JSON.parse(documents[i]!) as { a: string; b: string }[];
    assert.deepEqual(
      [doubles(String(after!.a)), doubles(String(after!.b))],
      [doubles(compact(row!.a)), doubles(compact(row!.b))],
      `change ${i}`,
    );
  }
});

/** Doubles are written as Debezium does (1000.0), not as MySQL (1e3). */
const doubles = (text: string): string =>
  text.replace(
    /("(?:[^"\\]|\\.)*")|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g,
    (number, quoted) => quoted ?? String(Number(number)),
  );
