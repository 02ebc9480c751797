/** The source task against a real server: resume at every poll, lost connections, large rows and transactions, and what it refuses. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { mysqlSourcePlugin } from '../../../connectors/mysql/source/connector.ts';
import { ConnectError, type SourceOffset } from '../../../runtime/api/index.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { MARIADB_URL, MYSQL_URL, MysqlHarness, plain } from './mysqlHarness.ts';

interface Event {
  readonly op: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly source: Record<string, unknown>;
  readonly transaction: Record<string, unknown> | null;
}

const events = (harness: MysqlHarness): Event[] =>
  harness.records.flatMap(record => {
    const value = plain(record.value) as Event | null;
    return value === null || value.op === undefined ? [] : [value];
  });

async function dumpIds(harness: MysqlHarness): Promise<string[]> {
  const [rows] = await harness.sql.query(
    "SELECT id AS id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'",
  );
  return (rows as { id: string | number }[]).map(({ id }) => String(id));
}

const failsWith =
  (code: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ConnectError, String((error as Error).stack));
    assert.equal(error.code, code, error.describe());
    return true;
  };

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

  test(`${server}: stopped after every poll, it goes on inside of transactions without loss or repeat`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); CREATE TABLE o (id INT PRIMARY KEY)');
    await harness.sql.query("INSERT INTO t VALUES (0, 'old')");
    const options = { 'max.batch.size': '3' };
    await harness.start(options);
    await harness.pollUntilStreaming();
    const expected = ['r 0'];
    for (let transaction = 0; transaction < 6; transaction++) {
      await harness.sql.query('BEGIN');
      for (let i = 1; i <= 5; i++) {
        const id = transaction * 10 + i;
        await harness.sql.query(`INSERT INTO t VALUES (${id}, 'v'), (${id + 1000}, 'w')`);
        await harness.sql.query(`UPDATE t SET v = 'x' WHERE id = ${id}`);
        expected.push(`c ${id}`, `c ${id + 1000}`, `u ${id}`);
      }
      await harness.sql.query('COMMIT');
    }
    const done = (): string[] => events(harness).map(({ op, after }) => `${op} ${after?.id}`);
    while (done().length < expected.length) {
      await harness.pollWhile(() => harness.records.length === 0 || harness.offset === harness.stored);
      harness.commit();
      await harness.stop();
      await harness.start(options);
    }
    for (let i = 0; i < 3; i++) await harness.poll();
    assert.deepEqual(done(), expected);
  });

  test(`${server}: a lost connection is made again, and nothing is lost or repeated`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    const serverId = 900_000_000 + Math.floor(Math.random() * 1e6);
    // Those of others on the same server are left alone.
    const others = await dumpIds(harness);
    await harness.start({ 'snapshot.mode': 'no_data', 'database.server.id': String(serverId) });
    await harness.pollUntilStreaming();
    for (let round = 0; round < 3; round++) {
      await harness.sql.query(`INSERT INTO t VALUES (${round})`);
      await harness.pollUntil(round + 1);
      const ours = (await dumpIds(harness)).filter(id => !others.includes(id));
      // One may have ended by itself meanwhile.
      for (const id of ours) await harness.sql.query(`KILL ${id}`).catch(() => {});
    }
    await harness.sql.query('INSERT INTO t VALUES (99)');
    await harness.pollUntil(4);
    assert.deepEqual(
      events(harness).map(({ after }) => after?.id),
      [0, 1, 2, 99],
    );
    assert.ok(harness.warnings.some(warning => warning.includes('connecting again')));
  });

  test(`${server}: a reader is known as a replica, and leaves a server that is silent, not one that has nothing`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    const replicas = async (): Promise<string[]> => {
      const [rows] = await harness.sql.query(url === undefined ? 'SHOW REPLICAS' : 'SHOW SLAVE HOSTS');
      return (rows as Record<string, unknown>[])
        .filter(({ Host }) => Host === 'millrace')
        .map(({ Server_Id, Server_id }) => String(Server_Id ?? Server_id));
    };
    const others = await replicas();
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    const proxy = await TcpProxy.open(Number(new URL(url ?? MYSQL_URL).port));
    t.after(() => proxy.close());
    const silenceMs = 1000;
    await harness.start({
      'database.port': String(proxy.port),
      'snapshot.mode': 'no_data',
      'connect.keep.alive.interval.ms': String(silenceMs),
    });
    await harness.pollUntilStreaming();
    await harness.pollWhile(async () => (await replicas()).every(id => others.includes(id)));
    const until = performance.now() + 2 * silenceMs;
    await harness.pollWhile(() => performance.now() < until);
    assert.equal(harness.metrics.get('number_of_disconnects'), 0);
    proxy.hold();
    await harness.sql.query('INSERT INTO t VALUES (1)');
    await harness.pollUntil(1);
    assert.equal(harness.metrics.get('number_of_disconnects'), 1);
  });

  test(`${server}: rows of more than one packet come whole, in snapshot and stream`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)');
    const [rows] = await harness.sql.query('SELECT @@global.max_allowed_packet AS packet');
    const packet = Number((rows as { packet: string }[])[0]!.packet);
    await harness.sql.query('SET GLOBAL max_allowed_packet = 1073741824');
    harness.cleanup.push(`SET GLOBAL max_allowed_packet = ${packet}`);
    await harness.newSession();
    const size = 18 * 1024 * 1024;
    await harness.sql.query(`INSERT INTO t VALUES (1, REPEAT('a', ${size})), (2, 'small')`);
    await harness.start();
    await harness.pollUntilStreaming();
    await harness.sql.query(`INSERT INTO t VALUES (3, REPEAT('b', ${size})), (4, 'small')`);
    await harness.pollUntil(4);
    const values = events(harness).map(({ op, after }) => [
      op,
      after?.id,
      (after!.v as Buffer).length,
      (after!.v as Buffer).at(-1),
    ]);
    assert.deepEqual(values, [
      ['r', 1, size, 97],
      ['r', 2, 5, 108],
      ['c', 3, size, 98],
      ['c', 4, 5, 108],
    ]);
  });
}

test('a compressed transaction larger than a batch is read in pieces, and resumed inside', async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(60))');
  const options = { 'snapshot.mode': 'no_data', 'max.batch.size': '500' };
  await harness.start(options);
  await harness.pollUntilStreaming();
  await harness.poll();
  await harness.sql.query('SET SESSION binlog_transaction_compression = ON, cte_max_recursion_depth = 100000');
  const numbers = 'WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000)';
  await harness.sql.query(`INSERT INTO t ${numbers} SELECT i, CONCAT('row ', i, REPEAT('-', 40)) FROM n`);
  await harness.pollUntil(5000);
  harness.commit();
  assert.ok(Number(harness.stored!.event) > 1);
  await harness.stop();
  await harness.start(options);
  await harness.pollUntil(20_000);
  assert.deepEqual(
    events(harness).map(({ after }) => after?.id),
    Array.from({ length: 20_000 }, (_, i) => i + 1),
  );
});

test('an offset of Debezium without GTIDs is a file and a position', async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
  const [status] = await harness.sql.query('SHOW BINARY LOG STATUS');
  const { File: file, Position: position } = (status as { File: string; Position: string }[])[0]!;
  await harness.sql.query('INSERT INTO t VALUES (1), (2)');
  await harness.sql.query('INSERT INTO t VALUES (3)');
  // BEGIN, the table and none of the rows are done, of the event of rows one.
  harness.stored = { file, pos: Number(position), event: 2, row: 1, server_id: 1, ts_sec: 1 };
  await harness.start();
  await harness.pollUntil(2);
  assert.deepEqual(
    events(harness).map(({ after, source }) => [after?.id, source.row]),
    [
      [2, 1],
      [3, 0],
    ],
  );
});

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

test('a snapshot under a load of changes joins the log without a gap', { timeout: 60_000 }, async t => {
  for (const mode of ['none', 'minimal']) {
    const harness = await MysqlHarness.open(t);
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v INT)');
    const values = Array.from({ length: 2000 }, (_, i) => `(${i}, 0)`).join(', ');
    await harness.sql.query(`INSERT INTO t VALUES ${values}`);
    let isDone = false;
    const load = (async () => {
      for (let i = 0; i < 600; i++) {
        await harness.sql.query(`UPDATE t SET v = v + 1 WHERE id = ${(i * 37) % 2000}`);
        if (i % 7 === 0) await harness.sql.query(`DELETE FROM t WHERE id = ${(i * 11) % 2000}`);
      }
      isDone = true;
    })();
    await harness.start({
      'snapshot.locking.mode': mode,
      'database.ssl.mode': 'disabled',
      'snapshot.fetch.size': '100',
    });
    await harness.pollWhile(() => !isDone);
    await load;
    await harness.sql.query('INSERT INTO t VALUES (99999, 1)');
    await harness.pollWhile(() => events(harness).at(-1)?.after?.id !== 99999);
    const rows = new Map<unknown, unknown>();
    for (const { before, after } of events(harness)) {
      if (after === null) rows.delete(before!.id);
      else rows.set(after.id, after.v);
    }
    const [source] = await harness.sql.query('SELECT id, v FROM t');
    assert.deepEqual(
      [...rows].sort(([a], [b]) => Number(a) - Number(b)),
      (source as { id: number; v: number }[]).map(({ id, v }) => [id, v]).sort(([a], [b]) => a! - b!),
    );
    await harness.stop();
  }
});

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

test('two readers of one process do not end each other', async t => {
  const [a, b] = [await MysqlHarness.open(t), await MysqlHarness.open(t)];
  for (const harness of [a, b]) {
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    await harness.start({ 'snapshot.mode': 'no_data' });
    await harness.pollUntilStreaming();
  }
  for (let round = 1; round <= 3; round++) {
    for (const harness of [a, b]) {
      await harness.sql.query(`INSERT INTO t VALUES (${round})`);
      await harness.pollUntil(round);
    }
  }
  assert.deepEqual([...a.warnings, ...b.warnings], []);
});

test('MariaDB: compressed events, statements and transactions are published', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000))');
  await harness.start({ 'snapshot.mode': 'no_data', 'include.query': 'true', 'provide.transaction.metadata': 'true' });
  await harness.pollUntilStreaming();
  await harness.sql.query('SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10');
  harness.cleanup.push('SET GLOBAL log_bin_compress = DEFAULT, GLOBAL log_bin_compress_min_len = DEFAULT');
  await harness.newSession();
  await harness.sql.query('SET SESSION binlog_annotate_row_events = ON');
  await harness.sql.query('BEGIN');
  await harness.sql.query("INSERT INTO t VALUES (1, REPEAT('a', 2000)), (2, REPEAT('b', 2000))");
  await harness.sql.query("UPDATE t SET v = CONCAT(v, '') , id = id + 10");
  await harness.sql.query('DELETE FROM t WHERE id = 11');
  await harness.sql.query('COMMIT');
  await harness.pollWhile(() => events(harness).length < 7);
  const all = events(harness);
  assert.deepEqual(
    all.map(({ op, before, after }) => [op, before?.id, after?.id, String(after?.v ?? before?.v).length]),
    [
      ['c', undefined, 1, 2000],
      ['c', undefined, 2, 2000],
      ['d', 1, undefined, 2000],
      ['c', undefined, 11, 2000],
      ['d', 2, undefined, 2000],
      ['c', undefined, 12, 2000],
      ['d', 11, undefined, 2000],
    ],
  );
  assert.match(String(all[0]!.source.query), /^INSERT INTO t/);
  assert.match(String(all[6]!.source.query), /^DELETE FROM t/);
  assert.match(String(all[0]!.source.gtid), /^0-\d+-\d+$/);
  assert.deepEqual(
    all.map(({ transaction }) => transaction?.total_order),
    [1n, 2n, 3n, 4n, 5n, 6n, 7n],
  );
  const statuses = harness.records
    .filter(({ topic }) => topic.endsWith('.transaction'))
    .map(({ value }) => plain(value));
  assert.deepEqual(
    statuses.map(value => (value as { status: string; id: string }).status),
    ['BEGIN', 'END'],
  );
  assert.equal((statuses[0] as { id: string }).id, all[0]!.source.gtid);
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

test('another server of the topology is followed by GTIDs, whatever its files are called', async t => {
  const harness = await MysqlHarness.open(t);
  await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
  await harness.start({ 'snapshot.mode': 'no_data' });
  await harness.pollUntilStreaming();
  await harness.sql.query('INSERT INTO t VALUES (1)');
  await harness.pollUntil(1);
  await harness.stop();
  await harness.sql.query('INSERT INTO t VALUES (2)');
  harness.stored = { ...harness.offset, file: 'elsewhere.000007', pos: 12345 };
  await harness.start();
  await harness.pollUntil(2);
  assert.deepEqual(
    events(harness).map(({ op, after }) => [op, after?.id]),
    [
      ['c', 1],
      ['c', 2],
    ],
  );
  assert.match(String(harness.offset!.file), /^binlog\./);
});

test('MariaDB: a reader whose id another one takes is told so', async t => {
  const [one, two] = [
    await MysqlHarness.open(t, { url: MARIADB_URL }),
    await MysqlHarness.open(t, { url: MARIADB_URL }),
  ];
  const id = String(910_000_000 + Math.floor(Math.random() * 1e6));
  const config = { 'snapshot.mode': 'no_data', 'database.server.id': id, 'connect.max.retries': '0' };
  await one.start(config);
  await one.pollUntilStreaming();
  await two.start(config);
  await two.pollUntilStreaming();
  await assert.rejects(
    one.pollWhile(() => true),
    failsWith('MYSQL_SERVER_ID_TAKEN'),
  );
});
