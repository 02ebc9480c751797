/** Incremental snapshots on a real server: under changes, over restarts, for odd keys, and what signals can do to them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { PG18_URL, SourceHarness } from './sourceHarness.ts';

const SIGNALS = 'CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));';

const options = {
  'snapshot.mode': 'no_data',
  'signal.data.collection': 'public.signals',
  'table.include.list': 'public\\.(item|late|text_key)',
  'incremental.snapshot.chunk.size': '100',
};

const plainOf = (value: unknown): Record<string, unknown> =>
  Object.fromEntries((value as Struct).schema.fields.map((field, i) => [field.name, (value as Struct).values[i]]));
const opOf = (record: ConnectRecord): unknown => (record.value === null ? null : plainOf(record.value).op);
const reads = (harness: SourceHarness): ConnectRecord[] => harness.records.filter(record => opOf(record) === 'r');
const keyOf = (record: ConnectRecord): string =>
  JSON.stringify((record.key as Struct).values, (_, value) => (typeof value === 'bigint' ? String(value) : value));

let signalCount = 0;
async function signal(harness: SourceHarness, type: string, data: unknown = null): Promise<void> {
  const text = data === null || typeof data === 'string' ? data : JSON.stringify(data);
  await harness.sql.query('INSERT INTO signals VALUES ($1, $2, $3)', [`s${++signalCount}`, type, text]);
}

const execute = (harness: SourceHarness, ...tables: string[]): Promise<void> =>
  signal(harness, 'execute-snapshot', { 'data-collections': tables, type: 'incremental' });

const isComplete = (harness: SourceHarness): boolean =>
  harness.infos.some(text => /^the incremental snapshot (is complete|has ended)/.test(text));
const untilComplete = (harness: SourceHarness): Promise<void> => harness.pollWhile(async () => !isComplete(harness));

/** Rows as the events lead to them. */
function fold(harness: SourceHarness, table: string): Map<string, Record<string, unknown>> {
  const rows = new Map<string, Record<string, unknown>>();
  for (const record of harness.records) {
    if (record.topic !== `${harness.name}.public.${table}` || record.value === null) continue;
    const { after } = plainOf(record.value);
    if (after === null) rows.delete(keyOf(record));
    else rows.set(keyOf(record), plainOf(after));
  }
  return rows;
}

async function opened(t: Parameters<typeof SourceHarness.open>[0], sql: string): Promise<SourceHarness> {
  const harness = await SourceHarness.open(t);
  await harness.script(SIGNALS + sql);
  return harness;
}

/** Random changes of rows 1 to `rows`, on a connection of its own, until `isDone`. */
async function change(harness: SourceHarness, rows: number, isDone: () => boolean): Promise<number> {
  const sql = new pg.Client(`${PG18_URL}/${harness.name}`);
  await sql.connect();
  let count = 0;
  try {
    for (; !isDone(); count++) {
      const id = 1 + Math.floor(Math.random() * rows);
      const statement = [
        `UPDATE item SET v = v + 1 WHERE id = ${id}`,
        `DELETE FROM item WHERE id = ${id}`,
        `INSERT INTO item VALUES (${id}, -1) ON CONFLICT (id) DO UPDATE SET v = excluded.v - 1`,
        `UPDATE item SET id = ${rows * 2} + id WHERE id = ${id} AND NOT EXISTS (SELECT 1 FROM item WHERE id = ${rows * 2} + ${id})`,
      ];
      await sql.query(statement[count % statement.length]!);
    }
  } finally {
    await sql.end();
  }
  return count;
}

for (const form of ['binary', 'text']) {
  test(`rows and changes at the same time give the table as it is (${form}), over restarts`, {
    timeout: 60_000,
  }, async t => {
    const rows = 3000;
    // A range column turns the stream to text, while chunks are read in binary.
    const extra = form === 'text' ? ', r int4range' : '';
    const harness = await opened(
      t,
      `CREATE TABLE item (id bigint PRIMARY KEY, v integer${extra}); INSERT INTO item (id, v) SELECT i, 0 FROM generate_series(1, ${rows}) i;`,
    );
    await harness.start(options);
    await harness.pollUntilStreaming();
    let isDone = false;
    const work = change(harness, rows, () => isDone);
    await execute(harness, 'public.item');
    const deadline = Date.now() + 40_000;
    for (let n = 1, restarts = 0; !isComplete(harness); n++) {
      assert.ok(Date.now() < deadline, 'the snapshot did not complete');
      await harness.poll();
      if (n % 40 === 0 && restarts++ < 5) {
        await harness.commit();
        await harness.stop();
        await harness.start(options);
      }
    }
    isDone = true;
    assert.ok((await work) > 20);
    await harness.sql.query('INSERT INTO item VALUES (1000000, 7)');
    await harness.pollWhile(async () => !harness.records.some(record => keyOf(record) === '["1000000"]'));
    const { rows: expected } = await harness.sql.query('SELECT id::text, v FROM item ORDER BY item.id');
    const actual = [...fold(harness, 'item').values()]
      .sort((a, b) => Number((a.id as bigint) - (b.id as bigint)))
      .map(row => ({ id: String(row.id), v: row.v }));
    assert.deepEqual(actual, expected);
    // A restart reads no more than the chunk at hand again.
    assert.ok(reads(harness).length <= rows * 2 + 600, String(reads(harness).length));
    assert.ok(reads(harness).length > rows / 4);
  });
}

test('keys of texts and several columns, filters, and tables made later', { timeout: 60_000 }, async t => {
  const harness = await opened(
    t,
    `CREATE TABLE text_key (a text COLLATE "en-x-icu", b varchar(5), n numeric, v integer, PRIMARY KEY (a, b, n));
     INSERT INTO text_key SELECT chr(64 + i % 50) || 'é''\\', 'b' || i % 7, i / 3.0, i FROM generate_series(1, 500) i;`,
  );
  const filtered = { ...options, 'publication.autocreate.mode': 'filtered', 'incremental.snapshot.chunk.size': '7' };
  await harness.start(filtered);
  await harness.pollUntilStreaming();
  await execute(harness, 'public.text_.*');
  await untilComplete(harness);
  assert.equal(fold(harness, 'text_key').size, 500);
  assert.equal(reads(harness).length, 500);

  harness.infos.length = 0;
  harness.records.length = 0;
  await harness.script(
    'CREATE TABLE late (id integer, v integer PRIMARY KEY); INSERT INTO late SELECT i, -i FROM generate_series(1, 50) i;',
  );
  await signal(harness, 'execute-snapshot', {
    'data-collections': ['public.late'],
    'additional-conditions': [{ 'data-collection': 'public.late', filter: 'id % 2 = 0' }],
  });
  await untilComplete(harness);
  assert.deepEqual(
    reads(harness).map(record => plainOf(plainOf(record.value).after).id),
    Array.from({ length: 25 }, (_, i) => 50 - 2 * i),
  );
  await harness.sql.query('UPDATE late SET id = 0 WHERE v = -1');
  await harness.pollWhile(async () => !harness.records.some(record => opOf(record) === 'u'));
});

test('a snapshot is paused, resumed and stopped; what is wrong with a signal is told and stops nothing', {
  timeout: 60_000,
}, async t => {
  const harness = await opened(
    t,
    `CREATE TABLE item (id integer PRIMARY KEY, v integer); INSERT INTO item SELECT i, 0 FROM generate_series(1, 1000) i;
     CREATE TABLE late (v integer); INSERT INTO late VALUES (1);`,
  );
  await harness.start(options);
  await harness.pollUntilStreaming();
  harness.warnings.length = 0;
  await signal(harness, 'execute-snapshot', '{');
  await signal(harness, 'execute-snapshot', { 'data-collections': ['public.item'], type: 'partial' });
  await signal(harness, 'execute-snapshot', { 'data-collections': ['public.absent'] });
  await signal(harness, 'of-another', 'x');
  await signal(harness, 'log', { message: 'hello from {}' });
  await harness.pollWhile(async () => !harness.infos.some(info => /^hello from/.test(info)));
  assert.equal(harness.warnings.length, 4);

  // A table without key is left out, and so is one whose filter is malformed.
  await signal(harness, 'execute-snapshot', { 'data-collections': ['public.late'] });
  await untilComplete(harness);
  harness.infos.length = 0;
  await signal(harness, 'execute-snapshot', {
    'data-collections': ['public.item'],
    'additional-conditions': [{ 'data-collection': 'public.item', filter: 'nothing = 1' }],
  });
  await untilComplete(harness);
  assert.equal(harness.warnings.length, 6);
  assert.deepEqual(
    harness.infos.filter(text => /complete/.test(text)),
    [],
  );
  assert.equal(reads(harness).length, 0);

  harness.infos.length = 0;
  await execute(harness, 'public.item');
  await harness.pollWhile(async () => reads(harness).length === 0);
  await signal(harness, 'pause-snapshot', { type: 'incremental' });
  await harness.pollWhile(async () => !harness.infos.some(info => /pause-snapshot/.test(info)));
  await harness.poll();
  const paused = reads(harness).length;
  assert.ok(paused < 1000);
  await harness.commit();
  await harness.stop();
  await harness.start(options);
  for (let i = 0; i < 5; i++) await harness.poll();
  assert.equal(reads(harness).length, paused);
  await signal(harness, 'resume-snapshot', { type: 'incremental' });
  await harness.pollWhile(async () => reads(harness).length === paused);
  await signal(harness, 'stop-snapshot', { 'data-collections': ['public.item'], type: 'incremental' });
  await harness.pollWhile(async () => !harness.infos.some(info => /not read on/.test(info)));
  const stopped = reads(harness).length;
  for (let i = 0; i < 5; i++) await harness.poll();
  assert.equal(reads(harness).length, stopped);
  assert.equal(
    harness.records.some(record => record.topic.endsWith('.signals')),
    false,
  );
});

test('a key of events that does not tell rows apart is refused; a surrogate key is read by', {
  timeout: 60_000,
}, async t => {
  const harness = await opened(
    t,
    `CREATE TABLE item (id integer PRIMARY KEY, v integer NOT NULL, w integer); INSERT INTO item SELECT i, -i, i % 3 FROM generate_series(1, 250) i;`,
  );
  await harness.start({ ...options, 'message.key.columns': 'public.item:w' });
  await harness.pollUntilStreaming();
  harness.warnings.length = 0;
  await execute(harness, 'public.item');
  await untilComplete(harness);
  assert.match(harness.warnings.join(), /message\.key\.columns/);
  // The next event carries an offset behind the signal: else that would be followed again after the restart.
  await harness.script('UPDATE item SET w = w WHERE id = 1');
  await harness.pollUntil(1);
  await harness.commit();
  await harness.stop();
  harness.infos.length = 0;
  await harness.start({ ...options, 'message.key.columns': 'public.item:w,id' });
  harness.warnings.length = 0;
  // Rows without a value would never be read.
  await signal(harness, 'execute-snapshot', { 'data-collections': ['public.item'], 'surrogate-key': 'w' });
  await untilComplete(harness);
  assert.match(harness.warnings.join(), /cannot be read/);
  harness.infos.length = 0;
  await signal(harness, 'execute-snapshot', { 'data-collections': ['public.item'], 'surrogate-key': 'v' });
  await untilComplete(harness);
  const ids = reads(harness).map(record => plainOf(plainOf(record.value).after).id);
  assert.deepEqual(
    ids,
    Array.from({ length: 250 }, (_, i) => 250 - i),
  );
});
