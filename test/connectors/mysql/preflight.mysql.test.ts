/** What the source refuses, and how it says so: servers, tables, TLS, and what it cannot read. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { mysqlSourcePlugin } from '../../../connectors/mysql/source/connector.ts';
import type { ConnectError, SourceOffset } from '../../../runtime/api/index.ts';
import { events, failsWith } from './mysqlEvents.ts';
import { MysqlHarness } from './mysqlHarness.ts';

test('history that the server does not have is an error of its own, or a reason for a new snapshot', async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
  await harness.sql.query('INSERT INTO t VALUES (1)');
  const gtids = '11111111-2222-3333-4444-555555555555:1-9';
  const place = { file: 'gone.000001', pos: 4 };
  for (const offset of [{ ...place, gtids }, place] as SourceOffset[]) {
    harness.stored = offset;
    await assert.rejects(harness.start(), failsWith('MYSQL_LOG_PURGED'));
    await harness.stop();
  }
  await harness.start({ 'snapshot.mode': 'when_needed' });
  await harness.pollUntil(1);
  assert.equal(events(harness)[0]!.op, 'r');
});

test('what cannot be read stops the task, with its position', async t => {
  const cases = [
    { setting: 'binlog_row_image = MINIMAL', change: 'UPDATE t SET v = 2', code: 'MYSQL_ROW_IMAGE' },
    { setting: "binlog_format = 'STATEMENT'", change: 'UPDATE t SET v = 3', code: 'MYSQL_EVENT_UNSUPPORTED' },
  ];
  for (const { setting, change, code } of cases) {
    const harness = await MysqlHarness.open(t);
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v INT, j JSON); CREATE TABLE o (id INT PRIMARY KEY)');
    await harness.sql.query(`INSERT INTO t VALUES (1, 1, '{"a": 1, "text": "long enough to be worth a difference"}')`);
    await harness.start({ 'snapshot.mode': 'no_data' });
    await harness.pollUntilStreaming();
    await harness.sql.query('INSERT INTO o VALUES (1)');
    await harness.sql.query(`SET SESSION ${setting}`);
    await harness.sql.query(change);
    await assert.rejects(
      harness.pollWhile(() => true),
      (error: unknown) => failsWith(code)(error) && /binlog\.\d+:\d+/.test((error as ConnectError).describe()),
    );
    assert.deepEqual(
      ['number_of_erroneous_events', 'connected'].map(metric => harness.metrics.get(metric)),
      [1, 0],
    );
    // What came before it was handed out.
    assert.deepEqual(
      events(harness).map(({ source }) => source.table),
      ['o'],
    );
    await harness.stop();
  }
});

test('a table of signals that is not there is told before signals are written in vain', async t => {
  const harness = await MysqlHarness.open(t);
  const config = { 'signal.data.collection': 'signals' };
  await assert.rejects(harness.start(config), failsWith('MYSQL_SIGNAL_TABLE_MISSING'));
  await harness.stop();
  await harness.sql.query('CREATE TABLE signals (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))');
  await harness.start({ 'signal.data.collection': `${harness.name}.signals` });
  await harness.pollUntilStreaming();
});

test('pre-flight names what has to be changed', async t => {
  const harness = await MysqlHarness.open(t);
  const user = `u${Math.random().toString(36).slice(2, 10)}`;
  await harness.sql.query(`CREATE USER ${user}@'%' IDENTIFIED BY 'secret'`);
  harness.cleanup.push(`DROP USER ${user}@'%'`);
  const login = { 'database.user': user, 'database.password': 'secret' };
  await assert.rejects(harness.start(login), failsWith('MYSQL_RIGHTS_MISSING'));
  await assert.rejects(harness.start({ ...login, 'database.password': 'x' }), failsWith('MYSQL_LOGIN_REFUSED'));
  await harness.sql.query(`GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO ${user}@'%'`);
  await harness.sql.query('CREATE TABLE secret (id INT PRIMARY KEY)');
  const named = { 'table.include.list': `${harness.name}\\.secret` };
  await assert.rejects(harness.start({ ...login, ...named }), failsWith('MYSQL_RIGHTS_MISSING'));
  await harness.sql.query(`GRANT SELECT ON *.* TO ${user}@'%'`);
  // caching_sha2_password without TLS needs the server's key, with TLS nothing. A new password is not in the server's cache.
  for (const mode of ['required', 'disabled']) {
    await harness.sql.query(`ALTER USER ${user}@'%' IDENTIFIED WITH caching_sha2_password BY '${mode}'`);
    await harness.start({ ...login, 'database.password': mode, 'database.ssl.mode': mode });
    await harness.pollUntilStreaming();
    await harness.stop();
  }
  await assert.rejects(harness.start({ 'database.port': '1' }), failsWith('MYSQL_UNREACHABLE'));
});

test('pre-flight tells in one go which tables cannot be read, and which have no key', async t => {
  const harness = await MysqlHarness.open(t);
  const { sql, name } = harness;
  await sql.query('CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET swe7)');
  await sql.query('CREATE TABLE b (id INT PRIMARY KEY); CREATE TABLE c (v INT); CREATE TABLE d (v INT)');
  const config = { 'message.key.columns': `${name}.b:id,gone`, 'column.mask.with.3.chars': `${name}.d.v` };
  await assert.rejects(harness.start(config), (error: unknown) => {
    failsWith('MYSQL_COLUMN_UNSUPPORTED')(error);
    const { message } = error as ConnectError;
    for (const code of ['COLUMN_UNSUPPORTED', 'KEY_INVALID', 'MASK_INVALID']) assert.match(message, new RegExp(code));
    assert.match(message, new RegExp(`Column v of ${name}.a has the character set swe7`));
    return true;
  });
  await harness.stop();
  const errors = await mysqlSourcePlugin.validate!(harness.config(config));
  assert.deepEqual(
    errors.map(({ key }) => key),
    ['column.exclude.list', 'message.key.columns', 'column.exclude.list'],
  );
  await harness.start({ 'column.exclude.list': `${name}.a.v` });
  assert.deepEqual(harness.warnings, [
    `these tables have no key, so that the order of their changes is lost between partitions: ${name}.c, ${name}.d; message.key.columns gives them one`,
  ]);
});

test('TLS: a server is checked where that is asked for, and what is wrong says so', async t => {
  const harness = await MysqlHarness.open(t);
  const [rows] = await harness.sql.query('SELECT @@datadir AS folder');
  const { folder } = (rows as { folder: string }[])[0]!;
  const ca = { 'database.ssl.ca': join(folder, 'ca.pem') };
  const tlsFails = (key: string) => (error: unknown) =>
    failsWith('MYSQL_TLS_FAILED')(error) && (error as ConnectError).message.includes(key);
  const wrong = [
    [{ 'database.ssl.mode': 'verify_ca' }, 'database.ssl.ca'],
    [{ 'database.ssl.mode': 'verify_identity', ...ca }, 'database.ssl.mode'],
    [{ 'database.ssl.mode': 'verify_ca', ...ca, 'database.ssl.key': '/nowhere/key.pem' }, 'database.ssl.key'],
  ] as const;
  for (const [config, key] of wrong) {
    await assert.rejects(harness.start(config), tlsFails(key));
    await harness.stop();
  }
  const user = `u${Math.random().toString(36).slice(2, 10)}`;
  await harness.sql.query(`CREATE USER ${user}@'%' IDENTIFIED BY 'secret' REQUIRE X509`);
  harness.cleanup.push(`DROP USER ${user}@'%'`);
  await harness.sql.query(`GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO ${user}@'%'`);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)');
  const own = {
    'database.ssl.cert': join(folder, 'client-cert.pem'),
    'database.ssl.key': join(folder, 'client-key.pem'),
  };
  const login = { 'database.user': user, 'database.password': 'secret', 'database.ssl.mode': 'verify_ca', ...ca };
  await assert.rejects(harness.start(login), failsWith('MYSQL_LOGIN_REFUSED'));
  await harness.stop();
  await harness.start({ ...login, ...own });
  await harness.pollUntilStreaming();
  await harness.sql.query('INSERT INTO t VALUES (2)');
  await harness.pollUntil(2);
});
