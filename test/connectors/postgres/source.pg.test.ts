/** The life of a source: snapshot, stream, restart at any point, what the server is told, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { sourcePlugin } from '../../../connectors/postgres/source/connector.ts';
import { type Config, ConnectError, type ConnectRecord } from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { PG15_URL, PG18_URL, SourceHarness } from './sourceHarness.ts';

const key = (record: ConnectRecord): unknown => (record.key as Struct).values[0];
const op = (record: ConnectRecord): unknown =>
  record.value === null ? 'tombstone' : (record.value as Struct).get('op');
const changes = (records: readonly ConnectRecord[]): string[] => records.map(r => `${op(r)} ${key(r)}`);
const range = (name: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${name} ${from + i}`);
const hasCode = (code: string) => (error: unknown) => error instanceof ConnectError && error.code === code;

async function withTable(
  t: Parameters<typeof SourceHarness.open>[0],
  rows: number,
  url = PG18_URL,
): Promise<SourceHarness> {
  const harness = await SourceHarness.open(t, url);
  await harness.script(`CREATE TABLE item (id integer PRIMARY KEY, v text);
INSERT INTO item SELECT i, 'row ' || i FROM generate_series(1, ${rows}) i;
`);
  return harness;
}

for (const [server, url] of [
  ['PostgreSQL 18', PG18_URL],
  ['PostgreSQL 15', PG15_URL],
] as const) {
  test(`a snapshot and the stream after it join without gap or overlap: ${server}`, { timeout: 60_000 }, async t => {
    const harness = await withTable(t, 3000, url);
    const other = new pg.Client(`${url}/${harness.name}`);
    await other.connect();
    try {
      await harness.start({ 'snapshot.fetch.size': '100' });
      // A writer that goes on while rows are read: each of its rows is either in the snapshot or in the stream.
      const writing = (async () => {
        for (let i = 3001; i <= 3300; i++) await other.query('INSERT INTO item VALUES ($1)', [i]);
      })();
      await harness.pollUntil(3300);
      await writing;
      assert.deepEqual(
        harness.records.map(r => Number(key(r))).sort((a, b) => a - b),
        range('', 1, 3300).map(Number),
      );
    } finally {
      await other.end();
    }
  });
}

test('beside a slot that is there already, its changes follow the snapshot', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 5);
  await harness.sql.query(`CREATE PUBLICATION ${harness.name} FOR ALL TABLES`);
  await harness.sql.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [harness.name]);
  await harness.sql.query("INSERT INTO item VALUES (6, 'in slot and snapshot')");
  await harness.start();
  await harness.pollUntilStreaming();
  await harness.sql.query("INSERT INTO item VALUES (7, 'in the slot only')");
  await harness.pollUntil(8);
  assert.deepEqual(changes(harness.records), [...range('r', 1, 6), 'c 6', 'c 7']);
});

test('a restart inside a transaction repeats nothing that was committed, many changes at one LSN included', {
  timeout: 60_000,
}, async t => {
  const harness = await withTable(t, 0);
  // The first batch of a COPY is one WAL record with many rows: they all have its LSN.
  const config = { 'max.batch.size': '7', 'snapshot.mode': 'no_data' };
  await harness.start(config);
  await harness.pollUntilStreaming();
  await harness.sql.query("INSERT INTO item SELECT i, 'x' FROM generate_series(1, 20) i");
  await copyRows(harness, 21, 60);
  let mostAtOneLsn = 0;
  for (let restarts = 0; harness.records.length < 60; restarts++) {
    assert.ok(restarts < 50);
    const before = harness.records.length;
    while (harness.records.length === before) await harness.poll();
    mostAtOneLsn = Math.max(mostAtOneLsn, Number(harness.offset!.lsn_events_processed));
    await harness.commit();
    await harness.stop();
    await harness.start(config);
  }
  assert.deepEqual(changes(harness.records), range('c', 1, 60));
  assert.ok(mostAtOneLsn > 7, 'no restart fell between changes of one LSN');
});

/** COPY writes multi-insert WAL records. */
async function copyRows(harness: SourceHarness, from: number, to: number): Promise<void> {
  const { from: copyFrom } = await import('pg-copy-streams');
  const stream = harness.sql.query(copyFrom('COPY item (id) FROM STDIN'));
  for (let i = from; i <= to; i++) stream.write(`${i}\n`);
  stream.end();
  await new Promise<void>((resolve, reject) => stream.once('finish', resolve).once('error', reject));
}

test('the server is told of a position only when its offset is committed', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.start({ 'status.update.interval.ms': '50' });
  await harness.pollUntilStreaming();
  await harness.sql.query('INSERT INTO item VALUES (1)');
  await harness.pollUntil(1);
  const { rows } = await harness.sql.query('SELECT pg_current_wal_lsn()::text AS lsn');
  const isBehind = async (): Promise<boolean> => (await harness.slot())!.confirmed_flush_lsn < rows[0].lsn;
  for (let i = 0; i < 10; i++) await harness.poll();
  assert.ok(await isBehind());
  await harness.commit();
  await harness.pollWhile(isBehind);
});

test('what is committed just when the server goes to sleep does not wait for the next status update', {
  timeout: 120_000,
}, async t => {
  const harness = await withTable(t, 0);
  await harness.start({ 'status.update.interval.ms': '60000' });
  await harness.pollUntilStreaming();
  // A server that sleeps over a commit does so about once in 500 of these; it wakes when it has something else to do, after 15 s or more.
  for (let id = 1; id <= 3000; id += 2) {
    const startedMs = Date.now();
    const writing = harness.sql
      .query(`INSERT INTO item VALUES (${id})`)
      .then(() => harness.sql.query(`INSERT INTO item VALUES (${id + 1})`));
    while (harness.records.length <= id) {
      await harness.poll();
      assert.ok(Date.now() - startedMs < 5000, `row ${id} did not come`);
    }
    await writing;
  }
});

test('an idle stream lets the server forget what other databases wrote', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.start({ 'status.update.interval.ms': '50' });
  await harness.pollUntilStreaming();
  const { rows } = await harness.sql.query("SELECT pg_logical_emit_message(false, 'x', 'y', true)::text AS lsn");
  await harness.pollUntil(1);
  await harness.commit();
  await harness.pollWhile(async () => {
    await harness.commit();
    return (await harness.slot())!.confirmed_flush_lsn < rows[0].lsn;
  });
});

for (const end of ['stopped', 'killed', 'killed before its first commit']) {
  test(`a snapshot that was ${end} starts over; what was changed meanwhile follows, deletions too`, {
    timeout: 60_000,
  }, async t => {
    const harness = await withTable(t, 500);
    await harness.start({ 'snapshot.fetch.size': '100' });
    await harness.pollUntil(200);
    const first = harness.task!;
    if (end === 'stopped') await harness.stop();
    else {
      // The connections of a killed process end without a word.
      await harness.sql.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'millrace%'",
      );
    }
    assert.notEqual(await harness.slot(), null);
    if (end !== 'killed before its first commit') harness.stored = harness.offset;
    // Row 1 is in the topic, and in no later snapshot.
    await harness.sql.query('DELETE FROM item WHERE id = 1');
    await harness.sql.query("INSERT INTO item VALUES (501, 'meanwhile')");
    harness.records.length = 0;
    await harness.start();
    await harness.pollUntil(503);
    assert.deepEqual(changes(harness.records), [...range('r', 2, 501), 'd 1', 'tombstone 1', 'c 501']);
    if (end !== 'stopped') await first.stop().catch(() => {});
  });
}

test('a snapshot that gave no row leaves no slot behind', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 5);
  await harness.start({
    'snapshot.select.statement.overrides': 'public.item',
    'snapshot.select.statement.overrides.public.item': 'SELECT id, 1 / 0 AS v FROM item',
  });
  await assert.rejects(harness.pollUntil(1), { code: 'PG_SNAPSHOT_FAILED' });
  assert.notEqual(await harness.slot(), null);
  await harness.stop();
  assert.equal(await harness.slot(), null);
});

test('a lost connection is made again and nothing is lost or repeated', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.start();
  await harness.pollUntilStreaming();
  for (let round = 0; round < 3; round++) {
    await harness.sql.query(
      `INSERT INTO item SELECT i FROM generate_series(${round * 100 + 1}, ${round * 100 + 100}) i`,
    );
    if (round === 1) await harness.poll();
    await harness.sql.query('SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1', [
      harness.name,
    ]);
  }
  await harness.pollUntil(300);
  assert.deepEqual(changes(harness.records), range('c', 1, 300));
});

test('a slot that is gone is never made again silently', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 1);
  await harness.start();
  await harness.pollUntilStreaming();
  await harness.commit();
  await harness.stop();
  await waitUntil('the slot is free', 10_000, async () => !(await harness.slot())!.active);
  await harness.sql.query('SELECT pg_drop_replication_slot($1)', [harness.name]);
  await assert.rejects(harness.start(), hasCode('PG_SLOT_MISSING'));
  assert.equal(await harness.slot(), null);
  harness.records.length = 0;
  await harness.start({ 'snapshot.mode': 'when_needed' });
  await harness.pollUntil(1);
  assert.deepEqual(changes(harness.records), ['r 1']);
});

test('a slot in use is waited for, then named with its user', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.start();
  await harness.pollUntilStreaming();
  harness.stored = { lsn: 1n, lsn_proc: 1n, lsn_commit: 1n, txId: 1n, ts_usec: 1n, messageType: 'COMMIT' };
  const first = harness.task!;
  await harness.start({ 'slot.max.retries': '2', 'slot.retry.delay.ms': '20' });
  await assert.rejects(async () => {
    for (let i = 0; i < 20; i++) await harness.poll();
  }, hasCode('PG_SLOT_ACTIVE'));
  await first.stop();
});

test('unchanged TOASTed values come from the old row where the server sends it, else as the placeholder', {
  timeout: 60_000,
}, async t => {
  const harness = await SourceHarness.open(t);
  await harness.script(`CREATE TABLE f (id integer PRIMARY KEY, n integer, big text);
ALTER TABLE f ALTER big SET STORAGE EXTERNAL;
CREATE TABLE d (LIKE f INCLUDING ALL);
ALTER TABLE f REPLICA IDENTITY FULL;
INSERT INTO f VALUES (1, 1, repeat('a', 5000));
INSERT INTO d VALUES (1, 1, repeat('a', 5000));
`);
  await harness.start({ 'snapshot.mode': 'no_data', 'unavailable.value.placeholder': 'gone' });
  await harness.pollUntilStreaming();
  await harness.script('UPDATE f SET n = 2;\nUPDATE d SET n = 2;\nUPDATE f SET n = 3;\n');
  await harness.pollUntil(3);
  const big = new Map(
    harness.records.map(r => [r.topic.at(-1), ((r.value as Struct).get('after') as Struct).get('big')]),
  );
  assert.equal(big.get('f'), 'a'.repeat(5000));
  assert.equal(big.get('d'), 'gone');
});

test('updates that change no published column are left out where it is asked for, and where the old row is whole', {
  timeout: 60_000,
}, async t => {
  const harness = await SourceHarness.open(t, PG18_URL);
  const columns = '(id integer PRIMARY KEY, v text, seen integer, big text)';
  await harness.script(
    `CREATE TABLE whole ${columns}; CREATE TABLE plain ${columns}; ALTER TABLE whole REPLICA IDENTITY FULL; ALTER TABLE whole ALTER big SET STORAGE EXTERNAL`,
  );
  await harness.start({
    'snapshot.mode': 'no_data',
    'skip.messages.without.change': 'true',
    'column.exclude.list': 'public\\..*\\.seen',
  });
  await harness.pollUntilStreaming();
  for (const table of ['whole', 'plain']) {
    await harness.sql.query(`INSERT INTO ${table} VALUES (1, 'a', 0, repeat('x', 10000)), (2, NULL, 0, NULL)`);
    await harness.sql.query(`UPDATE ${table} SET seen = seen + 1`);
    await harness.sql.query(`UPDATE ${table} SET v = 'b' WHERE id = 2`);
    await harness.sql.query(`UPDATE ${table} SET id = 3, seen = 9 WHERE id = 1`);
  }
  const seen = (table: string): string[] => changes(harness.records.filter(({ topic }) => topic.endsWith(table)));
  await harness.pollWhile(async () => !seen('plain').includes('c 3'));
  const moved = ['d 1', 'tombstone 1', 'c 3'];
  assert.deepEqual(seen('whole'), ['c 1', 'c 2', 'u 2', ...moved]);
  assert.deepEqual(seen('plain'), ['c 1', 'c 2', 'u 1', 'u 2', 'u 2', ...moved]);
});

test('all problems are reported at once, each with its code', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 1);
  const role = `role_${harness.name}`;
  await harness.sql.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  t.after(async () => {
    const admin = new pg.Client(`${PG18_URL}/postgres`);
    await admin.connect();
    await admin.query(`DROP ROLE IF EXISTS ${role}`);
    await admin.end();
  });
  const config = harness.config({
    'database.user': role,
    'database.password': 'secret',
    'publication.autocreate.mode': 'disabled',
  });
  const errors = await sourcePlugin.validate!(config);
  const codes = errors.map(({ key, message }) => `${key} ${/^\[(\w+)\]/.exec(message)?.[1]}`);
  assert.deepEqual(codes.sort(), [
    'database.user PG_REPLICATION_DENIED',
    'database.user PG_TABLE_DENIED',
    'publication.name PG_PUBLICATION_MISSING',
  ]);
  const [refused] = await sourcePlugin.validate!({ ...config, 'database.password': 'wrong' });
  assert.match(refused!.message, /^\[PG_LOGIN_REFUSED\]/);
  assert.doesNotMatch(refused!.message, /wrong/);
  const [missing] = await sourcePlugin.validate!({
    ...config,
    'database.user': 'postgres',
    'database.password': 'postgres',
    'database.dbname': 'no_such_db',
  });
  assert.match(missing!.message, /^\[PG_DATABASE_MISSING\]/);
  const [unreachable] = await sourcePlugin.validate!({ ...config, 'database.port': '1' });
  assert.match(unreachable!.message, /^\[PG_UNREACHABLE\]/);
});

test('a slot of another plug-in and a publication without the tables are refused', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 1);
  await harness.sql.query("SELECT pg_create_logical_replication_slot($1, 'test_decoding')", [harness.name]);
  await harness.sql.query(`CREATE TABLE other (id integer PRIMARY KEY)`);
  await harness.sql.query(`CREATE PUBLICATION ${harness.name} FOR TABLE other`);
  const errors = await sourcePlugin.validate!(harness.config({ 'table.include.list': 'public.item' }));
  assert.deepEqual(
    errors.map(({ message }) => /^\[(\w+)\]/.exec(message)?.[1]),
    ['PG_SLOT_INVALID', 'PG_PUBLICATION_INCOMPLETE'],
  );
});

test('a filtered publication follows the captured tables', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.sql.query('CREATE TABLE other (id integer PRIMARY KEY)');
  await harness.start({ 'publication.autocreate.mode': 'filtered', 'table.include.list': 'public.item' });
  await harness.pollUntilStreaming();
  const { rows } = await harness.sql.query('SELECT tablename FROM pg_publication_tables WHERE pubname = $1', [
    harness.name,
  ]);
  assert.deepEqual(rows, [{ tablename: 'item' }]);
});

for (const [server, url, further] of [
  ['PostgreSQL 18, binary', PG18_URL, {}],
  // Ranges have no binary form.
  ['PostgreSQL 15, text', PG15_URL, { r: 'int4range' }],
] as const) {
  test(`a row under a new key carries its unchanged TOASTed values, read again from the table: ${server}`, {
    timeout: 60_000,
  }, async t => {
    const harness = await SourceHarness.open(t, url);
    // Of the keys, one is TOASTed itself, and one stays as it is.
    await harness.script(`CREATE TABLE moved (a integer, b text, big text NOT NULL, doc jsonb, raw bytea, list text[], c char(4000), hidden text, n integer, PRIMARY KEY (b, a));
ALTER TABLE moved ALTER b SET STORAGE EXTERNAL, ALTER big SET STORAGE EXTERNAL, ALTER doc SET STORAGE EXTERNAL, ALTER raw SET STORAGE EXTERNAL, ALTER list SET STORAGE EXTERNAL, ALTER c SET STORAGE EXTERNAL, ALTER hidden SET STORAGE EXTERNAL;
INSERT INTO moved SELECT i, repeat('k', 2100), repeat('é', 3000), jsonb_build_object('x', repeat('y', 5000)), decode(repeat('00ff', 3000), 'hex'), ARRAY[repeat('z', 5000), NULL], 'pad', repeat('h', 5000), i FROM generate_series(1, 4) i;
`);
    for (const [name, type] of Object.entries(further))
      await harness.sql.query(`ALTER TABLE moved ADD ${name} ${type}`);
    const rest = Object.fromEntries(Object.keys(further).map(name => [name, null]));
    await harness.start({ 'snapshot.mode': 'no_data', 'column.exclude.list': 'public.moved.hidden' });
    await harness.pollUntilStreaming();
    // By the time it is read: 11 is as it was, 12 has another text, 13 is gone, 14 went on to 15.
    await harness.script(`BEGIN;
UPDATE moved SET a = a + 10;
UPDATE moved SET big = 'later' WHERE a = 12;
DELETE FROM moved WHERE a = 13;
UPDATE moved SET a = 15 WHERE a = 14;
UPDATE moved SET n = 100 WHERE a = 15;
COMMIT;
`);
    await harness.pollUntil(4 * 3 + 1 + 2 + 3 + 1);
    const after = (index: number): Record<string, unknown> => {
      const row = (harness.records[index]!.value as Struct).get('after') as Struct;
      return Object.fromEntries(row.schema.fields.map(({ name }) => [name, row.get(name)]));
    };
    const created = harness.records.flatMap((r, i) => (op(r) === 'c' ? [after(i)] : []));
    const kept = {
      b: 'k'.repeat(2100),
      big: 'é'.repeat(3000),
      doc: JSON.stringify({ x: 'y'.repeat(5000) }).replace(':', ': '),
      raw: Buffer.from('00ff'.repeat(3000), 'hex'),
      list: ['z'.repeat(5000), null],
      c: 'pad'.padEnd(4000),
      ...rest,
    };
    const gone = { b: kept.b, big: '', doc: null, raw: null, list: null, c: null, ...rest };
    assert.deepEqual(created, [
      { a: 11, ...kept, n: 1 },
      { a: 12, ...kept, big: 'later', n: 2 },
      { a: 13, ...gone, n: 3 },
      { a: 14, ...gone, n: 4 },
      { a: 15, ...kept, n: 4 },
    ]);
    const keys = harness.records.map(r => (r.key as Struct).values);
    assert.ok(keys.every(([b]) => b === kept.b));
    // An update that leaves the key keeps the placeholder: consumers know that nothing changed.
    const last = after(harness.records.length - 1);
    assert.equal(last.n, 100);
    assert.equal(last.big, '__debezium_unavailable_value');
  });
}

test('logical messages have their place in the transaction', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.start({ 'snapshot.mode': 'no_data', 'provide.transaction.metadata': 'true' });
  await harness.pollUntilStreaming();
  const emit = "SELECT pg_logical_emit_message(true, 'of', 'mine')";
  await harness.sql.query(`BEGIN; ${emit}; INSERT INTO item VALUES (1); ${emit}; COMMIT`);
  await harness.sql.query(`BEGIN; ${emit}; COMMIT`);
  await harness.sql.query("SELECT pg_logical_emit_message(false, 'of', 'none', true)");
  await harness.pollUntil(9);
  const valuesOf = (topic: string): Struct[] =>
    harness.records.filter(r => r.topic === `${harness.name}.${topic}`).map(r => r.value as Struct);
  const orderOf = (value: Struct): unknown => (value.get('transaction') as Struct | null)?.values.slice(1) ?? null;
  assert.deepEqual(valuesOf('message').map(orderOf), [[1n, 1n], [3n, 2n], [1n, 1n], null]);
  assert.deepEqual(valuesOf('public.item').map(orderOf), [[2n, 1n]]);
  const ends = valuesOf('transaction').filter(value => value.get('status') === 'END');
  const counts = ends.map(end => (end.get('data_collections') as Struct[]).map(({ values }) => values));
  assert.deepEqual(counts, [
    [
      ['LOGICAL_DECODING_MESSAGE', 2n],
      ['public.item', 1n],
    ],
    [['LOGICAL_DECODING_MESSAGE', 1n]],
  ]);
});

test('where values of a moved row cannot be read at once, nothing is lost or repeated', {
  timeout: 60_000,
}, async t => {
  const harness = await withTable(t, 0);
  await harness.sql.query('ALTER TABLE item ALTER v SET STORAGE EXTERNAL');
  await harness.start({ 'snapshot.mode': 'no_data' });
  await harness.pollUntilStreaming();
  await harness.sql.query("INSERT INTO item VALUES (1, repeat('x', 5000))");
  await harness.pollUntil(1);
  const { rowCount } = await harness.sql.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'millrace catalog%'",
  );
  assert.equal(rowCount, 1);
  await harness.script(
    'BEGIN;\nINSERT INTO item VALUES (2);\nUPDATE item SET id = 3 WHERE id = 1;\nINSERT INTO item VALUES (4);\nCOMMIT;\n',
  );
  await harness.pollUntil(6);
  assert.deepEqual(changes(harness.records), ['c 1', 'c 2', 'd 1', 'tombstone 1', 'c 3', 'c 4']);
  const moved = (harness.records.find(r => op(r) === 'c' && key(r) === 3)!.value as Struct).get('after') as Struct;
  assert.equal(moved.get('v'), 'x'.repeat(5000));
});

test('filters that match no table are refused, with the tables there are', { timeout: 60_000 }, async t => {
  const harness = await withTable(t, 0);
  await harness.script(
    Array.from({ length: 20 }, (_, i) => `CREATE TABLE t${i + 10} (id integer PRIMARY KEY);\n`).join(''),
  );
  const validate = (config: Config) => sourcePlugin.validate!(harness.config(config));
  const [missing, ...further] = await validate({ 'table.include.list': 'public\\.itm,item' });
  assert.deepEqual(further, []);
  assert.equal(missing!.key, 'table.include.list');
  assert.match(missing!.message, /^\[PG_TABLES_MISSING\] No table matches table\.include\.list=public\\\.itm,item\. /);
  assert.match(missing!.message, / has public\.item, public\.t10, .*, public\.t28 and 1 more\./);
  const [excluded] = await validate({ 'schema.exclude.list': 'public' });
  assert.equal(excluded!.key, 'schema.exclude.list');
  assert.deepEqual(await validate({ 'table.include.list': 'public\\.(itm|item)' }), []);
  await harness.script('DROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n');
  assert.deepEqual(await validate({}), []);
  assert.match((await validate({ 'publication.autocreate.mode': 'filtered' }))[0]!.message, /has no tables/);
});
