/** Incremental and blocking snapshots by signals while tables change: no row is missing, none goes back to an older state, and nothing is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { MARIADB_URL, MysqlHarness, plain } from './mysqlHarness.ts';

const DEADLINE_MS = 20_000;
/** Rows of the table that is read in chunks, and the first of those that nothing changes: a chunk gives them whatever else it finds changed. */
const ROWS = 60;
const STILL_FROM = 40;

interface Event {
  readonly op: string;
  readonly after: Record<string, unknown> | null;
  readonly before: Record<string, unknown> | null;
  readonly source: Record<string, unknown>;
}

const eventsOf = (harness: MysqlHarness, table: string): Event[] =>
  harness.records
    .filter(({ topic, value }) => topic.endsWith(`.${table}`) && value !== null)
    .map(({ value }) => plain(value) as Event);

async function openSignalled(t: Parameters<typeof MysqlHarness.open>[0], url: string | undefined) {
  const harness = await MysqlHarness.open(t, { ...(url && { url }) });
  await harness.sql.query(
    'CREATE TABLE sig (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data VARCHAR(2048) NULL)',
  );
  const config = {
    'database.user': 'cdc',
    'database.password': 'cdc',
    'snapshot.mode': 'no_data',
    'table.exclude.list': `${harness.name}.sig`,
    'signal.data.collection': `${harness.name}.sig`,
    'incremental.snapshot.chunk.size': '7',
    'poll.interval.ms': '20',
  };
  let signals = 0;
  const signal = async (type: string, data: object | null): Promise<void> => {
    const text = data === null ? null : JSON.stringify(data);
    await harness.sql.query('INSERT INTO sig VALUES (?, ?, ?)', [`s${++signals}`, type, text]);
  };
  const isRunning = (): boolean =>
    (harness.task as unknown as { incremental: { isRunning: boolean } }).incremental.isRunning;
  return { harness, config, signal, isRunning };
}

for (const url of [undefined, MARIADB_URL]) {
  const server = url === undefined ? 'MySQL' : 'MariaDB';

  test(`${server}: chunks join the stream while rows change, through a restart after every chunk`, async t => {
    const { harness, config, signal, isRunning } = await openSignalled(t, url);
    const { sql } = harness;
    await sql.query(
      'CREATE TABLE t (a VARCHAR(5), e ENUM("z","y","x"), n INT UNSIGNED, ver INT, PRIMARY KEY (e, a, n))',
    );
    const names = ['a', 'b', 'Ä', 'é', "'", '\\', ''];
    const rows = Array.from({ length: ROWS }, (_, i) => [names[i % names.length], 1 + (i % 3), i, 0]);
    await sql.query('INSERT INTO t VALUES ?', [rows]);
    await harness.start(config);
    await harness.pollUntilStreaming();
    await signal('execute-snapshot', { 'data-collections': [`${harness.name}.t`] });
    let version = 0;
    let isLoading = true;
    const other = await harness.connect();
    t.after(async () => {
      isLoading = false;
      await load.catch(() => {});
      other.destroy();
    });
    const load = (async () => {
      for (; isLoading; version++) {
        const n = version % (STILL_FROM - 1);
        if (version % 5 === 4) await other.query('DELETE FROM t WHERE n = ?', [n]);
        else if (version % 5 === 3) await other.query('REPLACE INTO t VALUES ("new", 1, ?, ?)', [n + 100, version]);
        else await other.query('UPDATE t SET ver = ? WHERE n IN (?, ?)', [version, n, n + 1]);
      }
    })();
    let restarts = 0;
    await harness.pollWhile(() => !isRunning());
    let last = '';
    const deadline = Date.now() + DEADLINE_MS;
    while (isRunning()) {
      assert.ok(Date.now() < deadline, `not done after ${restarts} restarts; the last key is ${last}`);
      await harness.poll();
      harness.commit();
      const key = String(harness.offset?.incremental_snapshot_primary_key ?? '');
      if (key === last) continue;
      last = key;
      restarts++;
      await harness.stop();
      await harness.start(config);
      await harness.pollUntilStreaming();
    }
    isLoading = false;
    await load;
    await other.query('INSERT INTO t VALUES ("end", 1, 9999, 0)');
    await harness.pollWhile(() => !eventsOf(harness, 't').some(({ after }) => after?.n === 9999n));

    const state = new Map<string, unknown>();
    const keyOf = (row: Record<string, unknown>): string => `${row.e} ${row.a} ${row.n}`;
    const versions = new Map<string, number>();
    for (const { op, before, after } of eventsOf(harness, 't')) {
      if (op === 'd') {
        state.delete(keyOf(before!));
        continue;
      }
      const key = keyOf(after!);
      assert.ok(Number(after!.ver) >= (versions.get(key) ?? 0), `${op} ${key} went back to ${after!.ver}`);
      versions.set(key, Number(after!.ver));
      state.set(key, Number(after!.ver));
    }
    const [now] = await sql.query('SELECT e, a, n, ver FROM t');
    const expected = new Map((now as Record<string, unknown>[]).map(row => [keyOf(row), row.ver]));
    const lines = (of: ReadonlyMap<string, unknown>): string[] =>
      Array.from(of, ([key, ver]) => `${key}: ${ver}`).sort();
    assert.deepEqual(lines(state), lines(expected));
    assert.ok(restarts >= 5, `${restarts} restarts`);
    const reads = eventsOf(harness, 't').filter(({ op }) => op === 'r');
    const still = reads.map(({ after }) => Number(after!.n)).filter(n => n >= STILL_FROM && n < ROWS);
    assert.deepEqual(
      still.sort((a, b) => a - b),
      Array.from({ length: ROWS - STILL_FROM }, (_, i) => STILL_FROM + i),
    );
    assert.deepEqual([...new Set(reads.map(({ source }) => source.snapshot))], ['incremental']);
    assert.equal(eventsOf(harness, 'sig').length, 0);
  });

  test(`${server}: a signal waits for a server that takes nobody for a moment`, async t => {
    const { harness, config, signal, isRunning } = await openSignalled(t, url);
    const { sql, name } = harness;
    const proxy = await TcpProxy.open(Number(harness.url.port));
    t.after(() => proxy.close());
    await sql.query('CREATE TABLE w (id INT PRIMARY KEY); INSERT INTO w VALUES (1), (2)');
    await harness.start({ ...config, 'database.port': String(proxy.port) });
    await harness.pollUntilStreaming();
    // The tables are known by then; only those of the signal are still to be looked up.
    await signal('pause-snapshot', null);
    await sql.query('INSERT INTO w VALUES (3)');
    await harness.pollWhile(() => eventsOf(harness, 'w').length === 0);
    proxy.refuse();
    await signal('execute-snapshot', { 'data-collections': [`${name}.w`] });
    const retried = (): boolean => harness.warnings.some(text => text.includes('cannot be followed yet'));
    const polled = harness.pollWhile(() => !isRunning());
    await waitUntil('it is tried again', DEADLINE_MS, retried);
    proxy.restore();
    await polled;
    await harness.pollWhile(() => isRunning());
    assert.deepEqual(
      eventsOf(harness, 'w').map(({ op, after }) => `${op} ${after!.id}`),
      ['c 3', 'r 1', 'r 2', 'r 3'],
    );
  });

  test(`${server}: chunks are read at once over connections of their own, if they are small, and published in the order of their keys`, async t => {
    const { harness, config, signal, isRunning } = await openSignalled(t, url);
    const { sql, name } = harness;
    const ids = Array.from({ length: ROWS }, (_, i) => i + 1);
    await sql.query('CREATE TABLE small (id INT PRIMARY KEY); CREATE TABLE large (id INT PRIMARY KEY, v LONGBLOB)');
    await sql.query('INSERT INTO small VALUES ?', [ids.map(id => [id])]);
    const largeIds = ids.slice(0, 20);
    for (const id of largeIds) await sql.query('INSERT INTO large VALUES (?, REPEAT("x", 3000000))', [id]);
    const connections = async (table: string, maxThreads: number, expected: readonly number[]): Promise<number> => {
      await harness.start({ ...config, 'incremental.snapshot.max.threads': String(maxThreads) });
      await harness.pollUntilStreaming();
      const before = eventsOf(harness, table).length;
      await signal('execute-snapshot', { 'data-collections': [`${name}.${table}`] });
      const { incremental } = harness.task as unknown as { incremental: { open: Set<unknown> } };
      let most = 0;
      const isReading = (): boolean => {
        most = Math.max(most, incremental.open.size);
        return isRunning();
      };
      await harness.pollWhile(() => !isReading());
      await harness.pollWhile(isReading);
      const read = eventsOf(harness, table).slice(before);
      assert.deepEqual(
        read.map(({ op, after }) => `${op} ${after!.id}`),
        expected.map(id => `r ${id}`),
      );
      assert.equal(incremental.open.size, 0);
      harness.commit();
      await harness.stop();
      return most;
    };
    assert.equal(await connections('small', 1, ids), 1);
    const several = await connections('small', 3, ids);
    assert.ok(several >= 3 && several <= 4, `${several} connections`);
    assert.equal(await connections('large', 3, largeIds), 1);
  });

  test(`${server}: keys that are numbers in floating point are read to their last digit`, async t => {
    const { harness, config, signal, isRunning } = await openSignalled(t, url);
    const { sql, name } = harness;
    // The driver's own reading of the largest is one too small in the last place.
    const keys = [-1e300, -0.1, 7e-300, 1 / 3, 123456.789, 999154.2857142856, 999154.2857142857];
    await sql.query('CREATE TABLE d (id DOUBLE PRIMARY KEY); CREATE TABLE f (id FLOAT PRIMARY KEY)');
    await sql.query('INSERT INTO d VALUES ?', [keys.map(key => [String(key)])]);
    await sql.query('INSERT INTO f VALUES (-0.1), (0.3), (1e-30), (16777217), (3e38)');
    await harness.start({ ...config, 'incremental.snapshot.chunk.size': '2' });
    await harness.pollUntilStreaming();
    await signal('execute-snapshot', { 'data-collections': [`${name}.d`, `${name}.f`] });
    await harness.pollWhile(() => !isRunning());
    await harness.pollWhile(() => isRunning());
    const read = (table: string): unknown[] => eventsOf(harness, table).map(({ after }) => after!.id);
    assert.deepEqual(read('d'), keys);
    assert.deepEqual(read('f'), [-0.1, 1e-30, 0.3, 16777217, 3e38].map(Math.fround));
  });

  test(`${server}: a table made at run time, conditions, pause, stop, and what cannot be read`, async t => {
    const { harness, config, signal, isRunning } = await openSignalled(t, url);
    const { sql, name } = harness;
    await harness.start(config);
    await harness.pollUntilStreaming();
    await sql.query('CREATE TABLE late (id BIGINT UNSIGNED PRIMARY KEY, v TEXT); CREATE TABLE bare (v INT)');
    await sql.query('INSERT INTO late VALUES (1, "a"), (18446744073709551615, "b"), (9007199254740993, "c")');
    await sql.query('INSERT INTO bare VALUES (1)');
    const streamed = (): number => eventsOf(harness, 'late').length + eventsOf(harness, 'bare').length;
    await harness.pollWhile(() => streamed() < 4);
    const condition = { 'data-collection': `${name}.late`, filter: "v <> 'a'" };
    await signal('execute-snapshot', { 'data-collections': [`${name}.late`], 'additional-conditions': [condition] });
    const reads = (table: string): Event[] => eventsOf(harness, table).filter(({ op }) => op === 'r');
    await harness.pollWhile(() => reads('late').length < 2 || isRunning());
    assert.deepEqual(
      reads('late').map(({ after }) => after!.v),
      ['c', 'b'],
    );

    await signal('execute-snapshot', { 'data-collections': [`${name}.bare`, `${name}.nothing`] });
    await harness.pollWhile(() => !harness.warnings.some(text => text.includes('it has no primary key')));
    assert.equal(reads('bare').length, 0);
    await signal('execute-snapshots', { 'data-collections': [`${name}.late`] });
    await harness.pollWhile(() => !harness.warnings.includes('a signal is not followed'));

    const again = JSON.stringify({ 'data-collections': [`${name}.late`] });
    await sql.query("INSERT INTO sig VALUES ('p1', 'execute-snapshot', ?), ('p2', 'pause-snapshot', NULL)", [again]);
    await harness.pollWhile(() => !isRunning());
    for (let i = 0; i < 5; i++) await harness.poll();
    assert.equal(reads('late').length, 2);
    await signal('resume-snapshot', null);
    await harness.pollWhile(() => isRunning());
    assert.equal(reads('late').length, 5);
  });

  test(`${server}: a blocking snapshot reads its tables while the stream waits`, async t => {
    const { harness, config, signal } = await openSignalled(t, url);
    const { sql, name } = harness;
    await sql.query('CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (1), (2)');
    await harness.start(config);
    await harness.pollUntilStreaming();
    await signal('execute-snapshot', { 'data-collections': [`${name}.b`], type: 'blocking' });
    await harness.pollWhile(() => eventsOf(harness, 'b').length < 2);
    await sql.query('INSERT INTO b VALUES (3)');
    await harness.pollWhile(() => eventsOf(harness, 'b').length < 3);
    assert.deepEqual(
      eventsOf(harness, 'b').map(({ op, after }) => `${op} ${after!.id}`),
      ['r 1', 'r 2', 'c 3'],
    );
  });

  test(`${server}: signals of a topic are followed once, without a table for them, and notifications tell it`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    const { sql, name } = harness;
    await sql.query('CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1), (2), (3)');
    const config = {
      'snapshot.mode': 'no_data',
      'signal.enabled.channels': 'kafka',
      'signal.kafka.topic': 'signals',
      'notification.enabled.channels': 'sink',
      'notification.sink.topic.name': 'told',
      'incremental.snapshot.chunk.size': '2',
    };
    const request = { type: 'execute-snapshot', data: { 'data-collections': [`${name}.a`] } };
    // From before the connector, and for another one.
    harness.send('signals', name, request);
    await harness.start(config);
    await harness.pollUntilStreaming();
    harness.send('signals', 'other', request);
    harness.send('signals', name, request);
    const told = (): string[] =>
      harness.records
        .filter(({ topic }) => topic === 'told')
        .map(({ value }) => plain(value) as { aggregate_type: string; type: string })
        .map(({ aggregate_type, type }) => `${aggregate_type} ${type}`);
    await harness.pollWhile(() => !told().includes('Incremental Snapshot COMPLETED'));
    harness.commit();
    await harness.stop();
    await harness.start(config);
    await harness.pollUntilStreaming();
    await sql.query('INSERT INTO a VALUES (4)');
    await harness.pollWhile(() => eventsOf(harness, 'a').at(-1)?.after?.id !== 4);
    assert.deepEqual(
      eventsOf(harness, 'a').map(({ op, after }) => `${op} ${after!.id}`),
      ['r 1', 'r 2', 'r 3', 'c 4'],
    );
    assert.deepEqual(
      told().filter(text => text.startsWith('Incremental')),
      ['STARTED', 'IN_PROGRESS', 'TABLE_SCAN_COMPLETED', 'COMPLETED'].map(type => `Incremental Snapshot ${type}`),
    );
  });
}
