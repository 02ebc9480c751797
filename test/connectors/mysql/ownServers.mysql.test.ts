/**
 * What needs servers of its own: failover by GTID to a replica with another log, history that is gone, the end of a bounded run, and logs
 * that do not name columns.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '../../../runtime/api/index.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { MysqlHarness, plain } from './mysqlHarness.ts';
import { OwnMysql } from './ownMysql.ts';

interface Event {
  readonly op: string;
  readonly after: Record<string, unknown> | null;
}

const eventsOf = (harness: MysqlHarness, table: string): Event[] =>
  harness.records
    .filter(({ topic, value }) => topic.endsWith(`.${table}`) && value !== null)
    .map(({ value }) => plain(value) as Event);
const idsOf = (harness: MysqlHarness, table: string): unknown[] =>
  eventsOf(harness, table).map(({ after }) => after!.id);

const failsWith =
  (code: string, text = /./) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ConnectError, String((error as Error).stack));
    assert.equal(error.code, code, error.describe());
    assert.match(error.message, text);
    return true;
  };

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('a server of its own', { timeout: 180_000 }, async t => {
  const first = await OwnMysql.start(t);

  await t.test('the stream ends where stop.at says, and counts what it gave', async t => {
    const harness = await MysqlHarness.open(t, { url: first.url });
    const { sql } = harness;
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    const insert = async (id: number): Promise<void> => {
      await sql.query('INSERT INTO t VALUES (?)', [id]);
    };
    await harness.start({ 'snapshot.mode': 'no_data' });
    await harness.pollUntilStreaming();
    for (const id of numbers(1, 3)) await insert(id);
    await harness.pollUntil(3);
    harness.commit();
    await harness.stop();
    await insert(4);
    const [gtids] = await sql.query('SELECT @@global.gtid_executed AS gtids');
    const [status] = await sql.query('SHOW BINARY LOG STATUS');
    await insert(5);
    const { File: file, Position: position } = (status as { File: string; Position: string }[])[0]!;
    const stops = [(gtids as { gtids: string }[])[0]!.gtids.replace(/\s/g, ''), `${file}:${position}`];
    for (const stop of stops) {
      harness.records.length = 0;
      harness.metrics.clear();
      await harness.start({ 'stop.at': stop });
      await harness.pollWhile(() => harness.metrics.get('stop_reached') !== 1);
      for (let i = 0; i < 3; i++) await harness.poll();
      assert.deepEqual(idsOf(harness, 't'), [4]);
      await harness.stop();
    }
    const topic = `${harness.name}.${harness.name}.t`;
    const names = ['total_number_of_create_events_seen', `table_create_events_seen ${topic}`, 'connected'];
    assert.deepEqual(
      names.map(name => harness.metrics.get(name)),
      [1, 1, 1],
    );
  });

  await t.test('columns that the log does not name are those of their moment, through restarts', async t => {
    const harness = await MysqlHarness.open(t, { url: first.url });
    const { sql } = harness;
    await sql.query("SET GLOBAL binlog_row_metadata = 'MINIMAL'");
    harness.cleanup.push("SET GLOBAL binlog_row_metadata = 'FULL'");
    await sql.query("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b\\'') CHARACTER SET latin1, x INT UNSIGNED)");
    await sql.query('INSERT INTO t VALUES (1, 2, 4294967295)');
    await assert.rejects(harness.start(), failsWith('MYSQL_SETTING_INVALID', /binlog_row_metadata=FULL/));
    await harness.stop();
    const config = { 'schema.history.internal.kafka.topic': `${harness.name}-history` };
    await harness.start(config);
    assert.equal(harness.topics.get(`${harness.name}-history`)?.['retention.ms'], '-1');
    await harness.pollUntil(2);
    await harness.pollUntilStreaming();
    harness.commit();
    await harness.stop();
    const statements = [
      "INSERT INTO t VALUES (2, 'a', 1)",
      "ALTER TABLE t ADD COLUMN f VARCHAR(9) NOT NULL DEFAULT 'd' FIRST, DROP COLUMN x",
      "INSERT INTO t VALUES ('f3', 3, 'a')",
      'CREATE TABLE n LIKE t',
      'RENAME TABLE t TO o, n TO t',
      'ALTER TABLE t CHANGE e g SET("p","q") AFTER id, MODIFY f TINYTEXT',
      "INSERT INTO t VALUES ('f4', 4, 'p,q')",
      "INSERT INTO o VALUES ('f5', 5, 'a')",
      'DROP TABLE o',
    ];
    for (const statement of statements) await sql.query(statement);
    const isDone = (): boolean => eventsOf(harness, 'o').length > 0;
    // Stopped after every poll: each start has the history up to its offset.
    while (!isDone()) {
      await harness.start({ ...config, 'max.batch.size': '1' });
      const before = harness.offset;
      await harness.pollWhile(() => harness.offset === before && !isDone());
      harness.commit();
      await harness.stop();
    }
    assert.deepEqual(
      ['t', 'o'].flatMap(table => eventsOf(harness, table).map(({ after }) => after)),
      [
        { id: 1, e: "b'", x: 4294967295n },
        { id: 2, e: 'a', x: 1n },
        { f: 'f3', id: 3, e: 'a' },
        { f: 'f4', id: 4, g: 'p,q' },
        { f: 'f5', id: 5, e: 'a' },
      ],
    );
    const history = harness.records.filter(({ topic }) => topic === `${harness.name}-history`);
    const kept = harness.batches.filter(({ topic }) => topic === `${harness.name}-history`);
    assert.ok(
      kept.every(({ isOwn }) => isOwn === true),
      'transforms leave it alone',
    );
    harness.records.length = 0;
    await assert.rejects(harness.start(config), failsWith('MYSQL_SCHEMA_HISTORY', /has no history/));
    await harness.stop();
    harness.records.push(...history);
    await harness.start(config);
    await harness.pollUntilStreaming();
    await sql.query('CREATE TABLE late (id INT PRIMARY KEY, v YEAR); INSERT INTO late VALUES (1, 2020)');
    await harness.pollWhile(() => eventsOf(harness, 'late').length < 1);
    assert.deepEqual(eventsOf(harness, 'late')[0]!.after, { id: 1, v: 2020 });
  });

  await t.test('without GTIDs a snapshot needs a lock, and the stream goes by file and position', async t => {
    const harness = await MysqlHarness.open(t, { url: first.url });
    const { sql } = harness;
    const steps = ['ON_PERMISSIVE', 'OFF_PERMISSIVE', 'OFF'];
    for (const mode of steps) await sql.query(`SET GLOBAL gtid_mode = ${mode}`);
    for (const mode of [...steps.toReversed().slice(1), 'ON']) harness.cleanup.push(`SET GLOBAL gtid_mode = ${mode}`);
    await sql.query('SET GLOBAL binlog_expire_logs_seconds = 600');
    harness.cleanup.push('SET GLOBAL binlog_expire_logs_seconds = DEFAULT');
    await sql.query(`CREATE USER reader@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON *.* TO reader@'%'`);
    await sql.query(`GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader@'%'`);
    // A replica could not read by GTIDs what has none.
    harness.cleanup.push(`DROP USER reader@'%'`, 'RESET BINARY LOGS AND GTIDS');
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)');
    const config = { 'database.user': 'reader', 'database.password': 'secret' };
    await assert.rejects(harness.start(config), failsWith('MYSQL_RIGHTS_MISSING', /GRANT RELOAD/));
    await harness.stop();
    // Nothing is locked where no row is read.
    await harness.start({ ...config, 'snapshot.mode': 'no_data' });
    await harness.stop();
    await sql.query(`GRANT RELOAD ON *.* TO reader@'%'`);
    await harness.start(config);
    await harness.pollUntilStreaming();
    await sql.query('INSERT INTO t VALUES (2)');
    await harness.pollWhile(() => idsOf(harness, 't').length < 2);
    harness.commit();
    await harness.stop();
    await sql.query('INSERT INTO t VALUES (3); FLUSH BINARY LOGS; INSERT INTO t VALUES (4)');
    await sql.query(`REVOKE RELOAD ON *.* FROM reader@'%'`);
    await harness.start(config);
    await harness.pollWhile(() => idsOf(harness, 't').length < 4);
    assert.deepEqual(
      eventsOf(harness, 't').map(({ op, after }) => `${op} ${after!.id}`),
      ['r 1', 'c 2', 'c 3', 'c 4'],
    );
    assert.equal(harness.offset!.gtids, undefined);
    for (const part of ['gtid_mode is not ON', 'keeps its log for 600 s']) {
      assert.ok(
        harness.warnings.some(warning => warning.includes(part)),
        part,
      );
    }
  });

  await t.test('the stream follows a failover to a replica with another log', async t => {
    const second = await OwnMysql.start(t);
    const replica = await MysqlHarness.open(t, { url: second.url, name: 'unused' });
    replica.isLost = true;
    await replica.sql.query('RESET BINARY LOGS AND GTIDS');
    await replica.sql.query(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${first.port}, SOURCE_USER = 'root', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1; START REPLICA`,
    );
    const harness = await MysqlHarness.open(t, { url: first.url });
    const { sql, name } = harness;
    harness.isLost = true;
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY, v INT)');
    const proxy = await TcpProxy.open(first.port);
    t.after(() => proxy.close());
    const config = {
      'database.port': String(proxy.port),
      'snapshot.mode': 'no_data',
      'connect.max.retries': '100',
      'connect.retry.delay.max.ms': '200',
    };
    await harness.start(config);
    await harness.pollUntilStreaming();
    const write = async (connection: typeof sql, ids: readonly number[]): Promise<void> => {
      for (const id of ids) {
        await connection.query('BEGIN');
        await connection.query(`INSERT INTO ${name}.t VALUES (?, 0)`, [id]);
        await connection.query(`UPDATE ${name}.t SET v = 1 WHERE id = ?`, [id]);
        await connection.query('COMMIT');
        if (id % 10 === 0) await replica.sql.query('FLUSH BINARY LOGS');
      }
    };
    await write(sql, numbers(1, 30));
    await harness.pollWhile(() => idsOf(harness, 't').length < 31);
    const [gtids] = await sql.query('SELECT @@global.gtid_executed AS gtids');
    const executed = (gtids as { gtids: string }[])[0]!.gtids;
    await replica.sql.query('SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 60)', [executed]);
    proxy.cut();
    await first.kill();
    await replica.sql.query('STOP REPLICA');
    proxy.targetPort = second.port;
    proxy.restore();
    await write(replica.sql, numbers(31, 60));
    await harness.pollWhile(() => idsOf(harness, 't').length < 120);
    assert.deepEqual(
      eventsOf(harness, 't').map(({ op, after }) => `${op} ${after!.id}`),
      numbers(1, 60).flatMap(id => [`c ${id}`, `u ${id}`]),
    );
    // What the log had before it was reset is gone, for a reader that runs and for one that starts.
    harness.commit();
    await replica.sql.query('RESET BINARY LOGS AND GTIDS; INSERT INTO unused.x SELECT 1').catch(() => {});
    await harness.stop();
    await assert.rejects(harness.start(config), failsWith('MYSQL_LOG_PURGED'));
    await harness.stop();
  });
});
