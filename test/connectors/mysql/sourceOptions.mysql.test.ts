/** Options of the source against a real server: what is left out, heartbeats, statements, and what metrics tell. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events, failsWith } from './mysqlEvents.ts';
import { MARIADB_URL, MysqlHarness } from './mysqlHarness.ts';

for (const url of [undefined, MARIADB_URL]) {
  const server = url === undefined ? 'MySQL' : 'MariaDB';

  test(`${server}: operations of single tables are left out`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE log (id INT PRIMARY KEY)');
    await harness.start({
      'skipped.operations': 'd',
      'table.skipped.operations': `${harness.name}\\.log:c,u,t; ${harness.name}\\.none:none`,
      'tombstones.on.delete': 'false',
    });
    await harness.pollUntilStreaming();
    for (const table of ['log', 't']) {
      await harness.sql.query(`INSERT INTO ${table} VALUES (1), (2)`);
      await harness.sql.query(`UPDATE ${table} SET id = 3 WHERE id = 2`);
      await harness.sql.query(`DELETE FROM ${table} WHERE id = 1`);
      await harness.sql.query(`TRUNCATE ${table}`);
    }
    const seen = (): string[] => events(harness).map(({ op, source }) => `${source.table} ${op}`);
    await harness.pollWhile(() => !seen().includes('t t'));
    assert.deepEqual(seen(), ['log d', 't c', 't c', 't d', 't c', 't t']);
    await harness.stop();
    const wrong = { 'table.skipped.operations': 'shop.log:c,x' };
    await assert.rejects(harness.start(wrong), failsWith('CONFIG_INVALID'));
  });

  test(`${server}: updates that change no published column are left out where it is asked for`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), seen INT)');
    await harness.start({
      'skip.messages.without.change': 'true',
      'column.exclude.list': `${harness.name}\\.t\\.seen`,
    });
    await harness.pollUntilStreaming();
    await harness.sql.query("INSERT INTO t VALUES (1, 'a', 0), (2, NULL, 0)");
    await harness.sql.query('UPDATE t SET seen = seen + 1');
    await harness.sql.query("UPDATE t SET v = 'b' WHERE id = 2");
    await harness.sql.query('UPDATE t SET id = 3, seen = 9 WHERE id = 1');
    const seen = (): string[] => events(harness).map(({ op, after }) => `${op} ${after?.id} ${after?.v}`);
    await harness.pollWhile(() => !seen().includes('c 3 a'));
    assert.deepEqual(seen(), ['c 1 a', 'c 2 null', 'u 2 b', 'd undefined undefined', 'c 3 a']);
  });
}

test('heartbeats run their statement and carry the offset on', async t => {
  const harness = await MysqlHarness.open(t);
  const { sql, name } = harness;
  await sql.query('CREATE TABLE beats (n INT); INSERT INTO beats VALUES (0); CREATE TABLE other (id INT PRIMARY KEY)');
  await harness.start({
    'snapshot.mode': 'no_data',
    'table.include.list': `${name}\\.t`,
    'heartbeat.interval.ms': '20',
    'heartbeat.action.query': `UPDATE ${name}.beats SET n = n + 1`,
  });
  await harness.pollUntilStreaming();
  await sql.query('INSERT INTO other VALUES (1)');
  const [rows] = await sql.query('SELECT @@global.gtid_executed AS gtids');
  const executed = (rows as { gtids: string }[])[0]!.gtids;
  const isCarried = async (): Promise<boolean> => {
    const [answer] = await sql.query('SELECT GTID_SUBSET(?, ?) AS has', [executed, harness.offset?.gtids ?? '']);
    return Number((answer as { has: string }[])[0]!.has) === 1;
  };
  await harness.pollWhile(async () => !(await isCarried()));
  const [beats] = await sql.query('SELECT n FROM beats');
  assert.ok((beats as { n: number }[])[0]!.n > 0);
  assert.deepEqual([...new Set(harness.records.map(({ topic }) => topic))], [`__debezium-heartbeat.${name}`]);
});

test('metrics tell how a snapshot goes', async t => {
  const harness = await MysqlHarness.open(t);
  const { sql, name } = harness;
  await sql.query(
    'CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a; CREATE TABLE d LIKE a',
  );
  await sql.query('INSERT INTO a VALUES (1), (2); INSERT INTO c VALUES (3), (4), (5)');
  const metrics = (): unknown =>
    ['total_table_count', 'remaining_table_count', 'rows_scanned'].map(metric => harness.metrics.get(metric));
  const states = (): unknown =>
    ['running', 'completed', 'aborted'].map(state => harness.metrics.get(`snapshot_${state}`));
  const config = { 'snapshot.include.collection.list': `${name}\\.[abc]`, 'snapshot.fetch.size': '2' };
  await harness.start({ ...config, 'snapshot.mode': 'initial_only' });
  assert.deepEqual(
    [metrics(), states()],
    [
      [3, 3, undefined],
      [1, 0, 0],
    ],
  );
  await harness.pollWhile(() => harness.metrics.get('snapshot_running') === 1);
  assert.deepEqual(
    [metrics(), states()],
    [
      [3, 0, 5],
      [0, 1, 0],
    ],
  );
  await harness.stop();

  await harness.start({
    ...config,
    'snapshot.select.statement.overrides': `${name}.b`,
    [`snapshot.select.statement.overrides.${name}.b`]: 'SELECT wrong',
  });
  await assert.rejects(
    harness.pollWhile(() => true),
    failsWith('MYSQL_SNAPSHOT_FAILED'),
  );
  assert.deepEqual(states(), [0, 0, 1]);
});

test('events carry their statement where it is logged and asked for', async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
  await harness.start({ 'snapshot.mode': 'no_data', 'include.query': 'true' });
  await harness.pollUntilStreaming();
  await harness.sql.query('SET SESSION binlog_rows_query_log_events = ON');
  await harness.sql.query('INSERT INTO t VALUES (1), (2)');
  await harness.sql.query('UPDATE t SET id = 3 WHERE id = 1');
  await harness.sql.query('SET SESSION binlog_rows_query_log_events = OFF');
  await harness.sql.query('INSERT INTO t VALUES (9)');
  await harness.pollWhile(() => events(harness).length < 5);
  assert.deepEqual(
    events(harness).map(({ source }) => source.query),
    [
      'INSERT INTO t VALUES (1), (2)',
      'INSERT INTO t VALUES (1), (2)',
      'UPDATE t SET id = 3 WHERE id = 1',
      'UPDATE t SET id = 3 WHERE id = 1',
      null,
    ],
  );
});
