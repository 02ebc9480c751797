/** The source task against a real server: resume at every poll, lost connections, other servers, large rows and transactions. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { events, failsWith } from './mysqlEvents.ts';
import { MARIADB_URL, MYSQL_URL, MysqlHarness, plain } from './mysqlHarness.ts';

async function dumpIds(harness: MysqlHarness): Promise<string[]> {
  const [rows] = await harness.sql.query(
    "SELECT id AS id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'",
  );
  return (rows as { id: string | number }[]).map(({ id }) => String(id));
}

for (const url of [undefined, MARIADB_URL]) {
  const server = url === undefined ? 'MySQL' : 'MariaDB';

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

test('MariaDB: tables that keep old versions have the same columns and key from snapshot and stream', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  const { sql } = harness;
  const period = 's TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END';
  await sql.query('CREATE TABLE hidden (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING');
  await sql.query(
    `CREATE TABLE named (id INT PRIMARY KEY, n INT, ${period}, PERIOD FOR SYSTEM_TIME(s, e)) WITH SYSTEM VERSIONING`,
  );
  const tables = ['hidden', 'named'];
  for (const table of tables) await sql.query(`INSERT INTO ${table} (id, n) VALUES (1, 1)`);
  await harness.start();
  await harness.pollUntilStreaming();
  for (const table of tables) await sql.query(`UPDATE ${table} SET n = 2`);
  const seen = (): string[] => events(harness).map(({ op, after, source }) => `${source.table} ${op} ${after?.n}`);
  await harness.pollWhile(() => seen().length < 6);
  // An update leaves the old version as a row of its own.
  assert.deepEqual(
    tables.map(table => seen().filter(text => text.startsWith(table))),
    tables.map(table => [`${table} r 1`, `${table} u 2`, `${table} c 1`]),
  );
  for (const table of tables) {
    const of = harness.records.filter(({ topic }) => topic.endsWith(table));
    const shapes = of.map(({ key, value }) => {
      const { after } = plain(value) as { after: object };
      return JSON.stringify([plain(key) as object, after].map(part => Object.keys(part)));
    });
    assert.equal(new Set(shapes).size, 1, shapes.join(' '));
  }
});

test('MariaDB: sequences are no tables, also when they are gone', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  const { sql } = harness;
  await sql.query('CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (0)');
  await sql.query('CREATE SEQUENCE s; CREATE SEQUENCE gone');
  await harness.start();
  await harness.pollUntil(1);
  await harness.pollUntilStreaming();
  harness.commit();
  await harness.stop();
  await sql.query('SELECT nextval(s); SELECT nextval(gone); DROP SEQUENCE gone; INSERT INTO t VALUES (1)');
  await harness.start();
  await harness.pollUntil(2);
  assert.deepEqual(
    events(harness).map(({ source, op, after }) => [source.table, op, after?.id]),
    [
      ['t', 'r', 0],
      ['t', 'c', 1],
    ],
  );
});

test('MariaDB: a LOAD DATA that was logged as a statement stops the source only if its table is captured', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  const { sql, name } = harness;
  await sql.query('CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE other (id INT PRIMARY KEY)');
  const config = { 'table.include.list': `${name}.t` };
  await harness.start(config);
  await harness.pollUntilStreaming();
  const load = (table: string) =>
    sql.query({
      sql: `LOAD DATA LOCAL INFILE 'ids' INTO TABLE ${table}`,
      infileStreamFactory: () => Readable.from([Buffer.from('1\n2\n')]),
    });
  await sql.query("SET SESSION binlog_format = 'STATEMENT'");
  await load('other');
  await sql.query("SET SESSION binlog_format = 'ROW'; INSERT INTO t VALUES (7)");
  await harness.pollUntil(1);
  assert.equal(events(harness)[0]!.after!.id, 7);
  await sql.query("SET SESSION binlog_format = 'STATEMENT'");
  await load('t');
  await assert.rejects(
    harness.pollWhile(() => true),
    failsWith('MYSQL_EVENT_UNSUPPORTED'),
  );
});

test('MariaDB: what was rolled back is not published, although the log has it', async t => {
  const harness = await MysqlHarness.open(t, { url: MARIADB_URL });
  const { sql } = harness;
  await sql.query('CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE my (id INT PRIMARY KEY) ENGINE = MyISAM');
  await harness.start({ 'snapshot.mode': 'no_data', 'provide.transaction.metadata': 'true' });
  await harness.pollUntilStreaming();
  const transactions = [
    // Many more than the rows that are kept of a batch.
    ...Array.from({ length: 50 }, () => ['CREATE TEMPORARY TABLE y (id INT)', 'DROP TEMPORARY TABLE y'])
      .flat()
      .flatMap((statement, i) => [
        ['INSERT INTO t VALUES (0)', statement, 'ROLLBACK'],
        ...(i % 20 === 19 ? [[`INSERT INTO t VALUES (${1000 + i})`, 'COMMIT']] : []),
      ]),
    ['INSERT INTO t VALUES (1)', 'CREATE TEMPORARY TABLE x (id INT)', 'ROLLBACK'],
    ['INSERT INTO t VALUES (2)', 'INSERT INTO my VALUES (2)', 'INSERT INTO t VALUES (3)', 'ROLLBACK'],
    ['INSERT INTO t VALUES (4)', 'SAVEPOINT s', 'INSERT INTO t VALUES (5)', 'DROP TEMPORARY TABLE x'],
    ['ROLLBACK TO s', 'INSERT INTO t VALUES (6)', 'COMMIT'],
    ['INSERT INTO t VALUES (7)', 'INSERT INTO my VALUES (7)', 'DELETE FROM t WHERE id = 4', 'ROLLBACK'],
    ['INSERT INTO t VALUES (99)', 'COMMIT'],
  ];
  for (const statements of transactions) {
    if (statements[0] !== 'ROLLBACK TO s') await sql.query('BEGIN');
    for (const statement of statements) await sql.query(statement);
  }
  const seen = (): string[] =>
    events(harness)
      .filter(({ source }) => source !== undefined)
      .map(({ op, after, source }) => `${source.table} ${op} ${after?.id}`);
  const ends = (): string[] =>
    harness.records
      .map(({ value }) => plain(value) as { status?: string; event_count?: unknown } | null)
      .filter(value => value?.status === 'END')
      .map(value => String(value!.event_count));
  await harness.pollWhile(() => !seen().includes('t c 99'));
  const times = events(harness).filter(({ source }) => Number(source?.ts_ms) > 0);
  assert.equal(times.length, seen().length, 'each with the time of its event');
  const between = [1019, 1039, 1059, 1079, 1099].map(id => `t c ${id}`);
  assert.deepEqual(seen().sort(), ['my c 2', 'my c 7', ...between, 't c 4', 't c 6', 't c 99']);
  await harness.pollWhile(() => ends().length < 9);
  assert.deepEqual(ends(), ['1', '1', '1', '1', '1', '1', '2', '1', '1']);
  const [rows] = await sql.query('SELECT id FROM t');
  assert.deepEqual(
    (rows as { id: number }[]).map(({ id }) => id),
    [4, 6, 99, 1019, 1039, 1059, 1079, 1099],
  );
});

test('MariaDB: readers that take the id from each other do not go on so for ever', async t => {
  const harnesses = [
    await MysqlHarness.open(t, { url: MARIADB_URL }),
    await MysqlHarness.open(t, { url: MARIADB_URL }),
  ];
  const id = String(910_000_000 + Math.floor(Math.random() * 1e6));
  const config = { 'snapshot.mode': 'no_data', 'database.server.id': id, 'connect.max.retries': '2' };
  for (const harness of harnesses) {
    await harness.start(config);
    await harness.pollUntilStreaming();
  }
  await assert.rejects(
    Promise.all(harnesses.map(harness => harness.pollWhile(() => true))),
    failsWith('MYSQL_SERVER_ID_TAKEN'),
  );
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
