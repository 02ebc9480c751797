/**
 * A server that sends every transaction while it is open, and random concurrent transactions: what comes out is, record by record and position by position,
 * what the same server gives a reader of protocol version 1, which is sent committed changes only; and it leads to the rows of the tables.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import { Struct } from '../../../schemas/data/index.ts';
import { LocalPostgres } from '../../services/localPostgres.ts';
import { SourceHarness } from './sourceHarness.ts';

const CLIENTS = 5;
const TRANSACTIONS = 50;

type Kind = 'calm' | 'prepared' | 'wild';

const kinds: readonly Kind[] = ['calm', 'prepared', 'wild'];

for (const kind of kinds) {
  test(
    `open transactions (${kind}): the events are exactly the committed changes in commit order`,
    {
      timeout: 120_000,
    },
    t => compareReaders(t, kind),
  );
}

/** wild: with what makes the source ask for transactions after their commit instead. prepared: many, which the slot sends when they are prepared. */
async function compareReaders(t: TestContext, kind: Kind): Promise<void> {
  const isWild = kind === 'wild';
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  t.diagnostic(`SEED=${seed}`);
  const server = await LocalPostgres.start({
    debug_logical_replication_streaming: 'immediate',
    max_prepared_transactions: '20',
    fsync: 'off',
  });
  const cleanups: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup().catch(() => {});
    await server.stop();
  });
  const later = { after: (f: () => Promise<void>) => cleanups.push(f) };
  const url = server.url('').replace(/\/$/, '');
  const streamed = await SourceHarness.open(later, url);
  const plain = await SourceHarness.open(later, url);
  const shared = {
    'database.dbname': streamed.name,
    'topic.prefix': streamed.name,
    'publication.name': streamed.name,
    // Numbers in a transaction begin again where a task starts in the middle of it.
    'provide.transaction.metadata': String(isWild),
    'skipped.operations': 'none',
    'snapshot.mode': 'no_data',
  };
  // So small a memory that most of what is open is in files.
  const options = {
    ...shared,
    'streaming.buffer.bytes': '1048576',
    'max.batch.size': '100',
    'slot.two.phase': String(kind === 'prepared'),
  };
  const plainOptions = { ...shared, 'streaming.mode': 'off' };
  await createTables(streamed);
  await streamed.start(options);
  await streamed.pollUntilStreaming();
  await plain.start(plainOptions);
  await plain.pollUntilStreaming();

  const random = randomOf(seed);
  let isDone = false;
  const work = Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => runClient(server.url(streamed.name), i, randomOf(random(1e9)), kind)),
  ).finally(() => {
    isDone = true;
  });
  let restarts = 0;
  let polls = 0;
  while (!isDone) {
    const batches = await streamed.poll();
    // Restarts in the middle of transactions: what was handed out counts as published.
    const hasRecords = batches.some(batch => batch.count > 0);
    if (kind === 'calm' && hasRecords && ++polls % 2 === 0 && restarts < 25) {
      restarts++;
      await streamed.commit();
      await streamed.stop();
      await streamed.start(options);
    }
  }
  await work;
  await streamed.sql.query('INSERT INTO last VALUES (1)');
  const hasLast = (records: readonly ConnectRecord[]): boolean => records.some(r => r.topic.endsWith('.last'));
  await streamed.pollWhile(async () => !hasLast(streamed.records));
  await plain.pollWhile(async () => !hasLast(plain.records));
  assert.deepEqual(streamed.warnings, []);
  assert.equal(streamed.infos.filter(info => /after their commit/.test(info)).length > 0, isWild);
  t.diagnostic(`${plain.records.length} records, ${restarts} restarts`);

  const expected = byTopic(plain.records);
  const actual = byTopic(streamed.records);
  assert.deepEqual([...actual.keys()].sort(), [...expected.keys()].sort());
  for (const [topic, records] of expected) assert.deepEqual(actual.get(topic), records, topic);
  assert.deepEqual(streamed.offset, plain.offset);
  assert.ok(plain.records.length > 1000 && restarts > 0 === (kind === 'calm'));
  for (const table of ['plain', 'full_rows']) {
    const { rows } = await streamed.sql.query(`SELECT id, v FROM ${table} ORDER BY id`);
    assert.deepEqual(fold(streamed.records, `${streamed.name}.public.${table}`), rows, table);
  }
}

test('rolled back transactions leave nothing and are passed in few polls, origins are told, and incremental snapshots go on', {
  timeout: 120_000,
}, async t => {
  const server = await LocalPostgres.start({ debug_logical_replication_streaming: 'immediate' });
  const cleanups: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup().catch(() => {});
    await server.stop();
  });
  const harness = await SourceHarness.open(
    { after: (f: () => Promise<void>) => cleanups.push(f) },
    server.url('').replace(/\/$/, ''),
  );
  await harness.script('CREATE TABLE item (id integer PRIMARY KEY, v text)');
  await harness.script('CREATE TABLE signals (id text PRIMARY KEY, type text, data text)');
  await harness.start({
    'snapshot.mode': 'no_data',
    'table.include.list': 'public.item',
    'signal.data.collection': 'public.signals',
    'incremental.snapshot.chunk.size': '2',
  });
  await harness.pollUntilStreaming();
  const big = "INSERT INTO item SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i";
  await harness.script(`BEGIN;\n${big};\nROLLBACK;\nBEGIN;\nSAVEPOINT a;\n${big};\nROLLBACK TO a;\nCOMMIT;`);
  await harness.script("SELECT pg_replication_origin_create('elsewhere')");
  await harness.script("SELECT pg_replication_origin_session_setup('elsewhere')");
  await harness.script("INSERT INTO item VALUES (0, 'kept'), (1, 'kept'), (2, 'kept');");
  await harness.script('SELECT pg_replication_origin_session_reset()');
  // The worker rests after a poll without records: 40 MB of them must not be as many polls as reads, of which there are 160 at least.
  let polls = 0;
  for (; harness.records.length < 3; polls++) await harness.poll();
  assert.ok(polls < 100, `${polls} polls`);
  const keys = (): unknown[] => harness.records.map(record => (record.key as Struct).values[0]);
  assert.deepEqual(keys(), [0, 1, 2]);
  for (const record of harness.records) {
    const { source } = plainOf(record.value) as { source: { origin: string } };
    assert.equal(source.origin, 'elsewhere');
  }
  await harness.script(
    `INSERT INTO signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["public.item"], "type": "incremental"}')`,
  );
  await harness.pollUntil(6);
  assert.deepEqual(keys(), [0, 1, 2, 0, 1, 2]);
});

async function createTables(harness: SourceHarness): Promise<void> {
  const own = Array.from(
    { length: CLIENTS },
    (_, i) => `CREATE TABLE own_${i} (id integer PRIMARY KEY, v integer);\n`,
  ).join('');
  await harness.script(`
    CREATE TABLE plain (id integer PRIMARY KEY, v integer, big text);
    ALTER TABLE plain ALTER big SET STORAGE EXTERNAL;
    CREATE TABLE full_rows (id integer PRIMARY KEY, v integer, big text);
    ALTER TABLE full_rows REPLICA IDENTITY FULL;
    CREATE TABLE last (id integer PRIMARY KEY);
    ${own}`);
}

type Random = (below: number) => number;

/** Multiply-with-carry: the same numbers for the same seed. */
function randomOf(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Keys of a client are its own, so that clients do not wait for each other. */
async function runClient(url: string, client: number, random: Random, kind: Kind): Promise<void> {
  const sql = new pg.Client(url);
  await sql.connect();
  await sql.query('SET lock_timeout = 5000');
  try {
    for (let n = 0; n < TRANSACTIONS; n++) await runTransaction(sql, `${client}_${n}`, client, random, kind);
  } finally {
    await sql.end();
  }
}

async function runTransaction(sql: pg.Client, name: string, client: number, random: Random, kind: Kind): Promise<void> {
  const isWild = kind === 'wild';
  await sql.query('BEGIN');
  const savepoints: string[] = [];
  const steps = 1 + random(12);
  const end = random(10);
  // Calm: what is rolled back has no new file of a table (TRUNCATE), and no logical message.
  const hasMessages = isWild || random(3) === 0;
  if (end >= 4 && random(4) === 0) await sql.query(`TRUNCATE own_${client}`);
  for (let step = 0; step < steps; step++) {
    const what = random(12);
    if (isWild && what === 4) {
      await sql.query(`TRUNCATE own_${client}`);
    } else if (hasMessages && what === 5) {
      await sql.query(`SELECT pg_logical_emit_message(true, 'message', 'of ${client}')`);
    } else if (what === 0 && (isWild || !hasMessages)) {
      const savepoint = `s${step}`;
      savepoints.push(savepoint);
      await sql.query(`SAVEPOINT ${savepoint}`);
    } else if (what <= 2 && savepoints.length > 0) {
      const at = random(savepoints.length);
      const savepoint = savepoints[at]!;
      savepoints.length = at + 1;
      await sql.query(`ROLLBACK TO ${savepoint}`);
    } else if (what === 3 && savepoints.length > 0) {
      await sql.query(`RELEASE ${savepoints.pop()}`);
    } else {
      await sql.query(statement(client, step, random));
    }
  }
  if (end < 2) {
    await sql.query('ROLLBACK');
  } else if (end < (kind === 'prepared' ? 7 : 4)) {
    await sql.query(`PREPARE TRANSACTION 'p${name}'`);
    for (let n = random(4); n > 0; n--) await sql.query(statement(client + CLIENTS, n, () => 9));
    await sql.query(`${random(3) === 0 ? 'ROLLBACK' : 'COMMIT'} PREPARED 'p${name}'`);
  } else {
    await sql.query('COMMIT');
  }
}

function statement(client: number, step: number, random: Random): string {
  const table = random(3) === 0 ? 'full_rows' : 'plain';
  const id = (n: number): number => client * 1_000_000 + n;
  const key = random(60);
  switch (random(10)) {
    case 0:
      return `ALTER TABLE own_${client % CLIENTS} ADD COLUMN IF NOT EXISTS c${random(4)} text`;
    case 1:
      return `ALTER TABLE own_${client % CLIENTS} DROP COLUMN IF EXISTS c${random(4)}`;
    case 2:
    case 3:
      return `INSERT INTO own_${client % CLIENTS} (id, v) VALUES (${key}, ${step}) ON CONFLICT (id) DO UPDATE SET v = ${step}`;
    case 4:
      return `DELETE FROM ${table} WHERE id BETWEEN ${id(key)} AND ${id(key + 5)}`;
    case 5:
      return `UPDATE ${table} SET v = v + 1 WHERE id BETWEEN ${id(0)} AND ${id(60)}`;
    case 6:
      return `UPDATE plain SET id = id + 500 WHERE id = ${id(key)} AND NOT EXISTS (SELECT 1 FROM plain WHERE id = ${id(key + 500)}) AND length(big) < 2000`;
    case 7:
    case 8:
      return `INSERT INTO ${table} SELECT (SELECT coalesce(max(id), ${id(10_000)}) FROM ${table} WHERE id BETWEEN ${id(10_000)} AND ${id(900_000)}) + g, 0, 'bulk' FROM generate_series(1, ${1 + random(300)}) g`;
    default:
      return `INSERT INTO ${table} VALUES (${id(key)}, ${step}, repeat(md5('${key}'), ${random(2) === 0 ? 1 : 300})) ON CONFLICT (id) DO UPDATE SET v = excluded.v, big = excluded.big`;
  }
}

const PROCESSING_TIMES = new Set(['ts_ms', 'ts_us', 'ts_ns']);

function byTopic(records: readonly ConnectRecord[]): Map<string, unknown[]> {
  const topics = new Map<string, unknown[]>();
  for (const { topic, key, value, headers } of records) {
    const shown = plainOf(value);
    const isEvent = typeof shown === 'object' && shown !== null && 'op' in shown;
    // The times of processing differ; a message outside tables has its own.
    if (isEvent) for (const name of PROCESSING_TIMES) delete (shown as Record<string, unknown>)[name];
    const own = headers.filter(h => !h.name.startsWith('__debezium.context')).map(h => [h.name, plainOf(h.value)]);
    const list = topics.get(topic) ?? [];
    list.push([plainOf(key), shown, own]);
    topics.set(topic, list);
  }
  return topics;
}

function plainOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainOf);
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  if (!(value instanceof Struct)) return value;
  return Object.fromEntries(value.schema.fields.map((field, i) => [field.name, plainOf(value.values[i])]));
}

/** The rows that the events lead to. */
function fold(records: readonly ConnectRecord[], topic: string): { readonly id: number; readonly v: number }[] {
  const rows = new Map<number, { readonly id: number; readonly v: number }>();
  for (const record of records) {
    if (record.topic !== topic || record.value === null) continue;
    const { after } = plainOf(record.value) as { after: { readonly id: number; readonly v: number } | null };
    const { id } = plainOf(record.key) as { readonly id: number };
    if (after === null) rows.delete(id);
    else rows.set(id, { id, v: after.v });
  }
  return [...rows.values()].sort((a, b) => a.id - b.id);
}
