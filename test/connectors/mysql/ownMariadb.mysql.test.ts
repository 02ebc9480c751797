/** What needs MariaDB servers of a test's own: GTIDs from the first transaction on, failover by them, history that is gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '../../../runtime/api/index.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { MysqlHarness, plain } from './mysqlHarness.ts';
import { OwnMysql } from './ownMysql.ts';

const changes = (harness: MysqlHarness): string[] =>
  harness.records
    .filter(({ topic, value }) => topic.endsWith('.t') && value !== null)
    .map(({ value }) => plain(value) as { op: string; after: { id: number } })
    .map(({ op, after }) => `${op} ${after.id}`);

const isPurged = (error: unknown): boolean => {
  assert.ok(error instanceof ConnectError, String(error));
  assert.equal(error.code, 'MYSQL_LOG_PURGED', error.describe());
  return true;
};

test('a MariaDB server of its own', { timeout: 120_000 }, async t => {
  const first = await OwnMysql.start(t, 'mariadb');

  await t.test('a stream that began before the first transaction follows a failover', async t => {
    // Closed before the servers go.
    const proxy = await TcpProxy.open(first.port);
    t.after(() => proxy.close());
    const second = await OwnMysql.start(t, 'mariadb');
    const replica = await MysqlHarness.open(t, { url: second.url, isMariaDb: true, name: 'unused' });
    replica.isLost = true;
    await replica.sql.query("RESET MASTER; SET GLOBAL gtid_slave_pos = ''");
    const harness = await MysqlHarness.open(t, { url: first.url, isMariaDb: true });
    const { sql, name } = harness;
    // What the harness made is no part of the history.
    await sql.query('RESET MASTER');
    const config = {
      'database.port': String(proxy.port),
      'snapshot.mode': 'no_data',
      'connect.max.retries': '100',
      'connect.retry.delay.max.ms': '200',
      'heartbeat.interval.ms': '20',
    };
    await harness.start(config);
    await harness.pollWhile(() => harness.offset === null);
    harness.commit();
    await harness.stop();

    await replica.sql.query(`DROP DATABASE IF EXISTS ${name}; CREATE DATABASE ${name}; RESET MASTER`);
    await replica.sql.query(
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${first.port}, MASTER_USER = 'app', MASTER_PASSWORD = 'app', MASTER_USE_GTID = slave_pos; START SLAVE`,
    );
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    await harness.start(config);
    await harness.pollUntilStreaming();
    await sql.query('INSERT INTO t VALUES (1); SET gtid_domain_id = 7; INSERT INTO t VALUES (2)');
    await harness.pollWhile(() => changes(harness).length < 2);
    const [rows] = await sql.query('SELECT @@gtid_binlog_pos AS gtids');
    await replica.sql.query('SELECT MASTER_GTID_WAIT(?, 30)', [(rows as { gtids: string }[])[0]!.gtids]);
    await replica.sql.query('STOP SLAVE; FLUSH BINARY LOGS');
    proxy.cut();
    proxy.targetPort = second.port;
    proxy.restore();
    await replica.sql.query(`INSERT INTO ${name}.t VALUES (3)`);
    await harness.pollWhile(() => changes(harness).length < 3);
    assert.deepEqual(changes(harness), ['c 1', 'c 2', 'c 3']);
    assert.match(String(harness.offset!.gtids), new RegExp(`^0-${second.port}-\\d+,7-${first.port}-1$`));
  });

  await t.test('history that is gone is an error of its own, or a reason for a new snapshot', async t => {
    const harness = await MysqlHarness.open(t, { url: first.url, isMariaDb: true });
    const { sql } = harness;
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)');
    await harness.start();
    await harness.pollUntilStreaming();
    await harness.stop();
    harness.commit();
    await sql.query('INSERT INTO t VALUES (2); FLUSH BINARY LOGS');
    const [logs] = await sql.query('SHOW BINARY LOGS');
    const last = (logs as { Log_name: string }[]).at(-1)!.Log_name;
    // The server keeps a log until the engine has no more use for it.
    await waitUntil('the old log is gone', 30_000, async () => {
      await sql.query('PURGE BINARY LOGS TO ?', [last]);
      const [left] = await sql.query('SHOW BINARY LOGS');
      return (left as unknown[]).length === 1;
    });
    await assert.rejects(harness.start(), isPurged);
    await harness.stop();
    await harness.start({ 'snapshot.mode': 'when_needed' });
    await harness.pollUntilStreaming();
    assert.deepEqual(changes(harness), ['r 1', 'r 1', 'r 2']);

    // A server that has less than what was published is another one, or was set back.
    await harness.stop();
    harness.stored = { ...harness.offset, gtids: `0-${first.port}-999999` };
    await assert.rejects(harness.start(), isPurged);
  });
});
