/** The source against real Firebird 5.0 and 4.0: snapshot, stream, restart, DDL, blobs. */
import assert from 'node:assert/strict';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { disconnect } from '../../../connectors/firebird/connection.ts';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { FirebirdHarness } from './sourceHarness.ts';

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  test(`Firebird ${version}: rows that are there, then changes, each once`, async t => {
    const database = await TestFirebird.create(t, version);
    await database.run(
      'create table T (ID integer not null primary key, V varchar(20), N numeric(12,2), B blob sub_type text)',
    );
    await database.run("insert into T values (1, 'one', 1.5, 'text')", "insert into T values (2, 'два', null, null)");
    const open = await database.connect();
    const long = await open.transactionAsync();
    await long.queryAsync("insert into T values (3, 'open at the snapshot', 3, null)");
    const source = new FirebirdHarness(t, database);
    await source.start();
    await source.pollUntil('the snapshot', changes => changes.length === 2);
    assert.deepEqual(
      source.changes.map(({ op, after }) => [op, after]),
      [
        ['r', { ID: 1, V: 'one', N: '1.50', B: 'text' }],
        ['r', { ID: 2, V: 'два', N: null, B: null }],
      ],
    );
    await long.commitAsync();
    await disconnect(open);
    await database.run(
      "insert into T values (4, 'later', -0.01, null)",
      "update T set V = 'changed', B = 'new text' where ID = 1",
      'update T set ID = 20 where ID = 2',
      'delete from T where ID = 3',
    );
    await source.pollUntil('all changes', changes =>
      changes.some(change => change.op === null && change.before?.ID === 3),
    );
    assert.deepEqual(
      source.changes.slice(2).map(({ op, before, after }) => [op, before?.ID ?? null, after?.ID ?? null]),
      [
        ['c', null, 3],
        ['c', null, 4],
        ['u', 1, 1],
        ['d', 2, null],
        [null, 2, null],
        ['c', null, 20],
        ['d', 3, null],
        [null, 3, null],
      ],
    );
    const update = source.changes[4]!;
    assert.deepEqual(update.before, { ID: 1, V: 'one', N: '1.50', B: '__debezium_unavailable_value' });
    assert.deepEqual(update.after, { ID: 1, V: 'changed', N: '1.50', B: 'new text' });
    await source.poll();
    await source.commit();
    await source.stop();
    const segments = readdirSync(database.archive).filter(name => /\.journal-\d+$/.test(name));
    assert.ok(segments.length <= 2, `processed segments were deleted: ${segments.join(' ')}`);

    await database.run('alter table T add F double precision default 7 not null', 'insert into T (ID) values (5)');
    source.changes.length = 0;
    await source.start();
    await source.pollUntil('what came meanwhile', changes => changes.length >= 1);
    assert.deepEqual(
      source.changes.map(({ op, after }) => [op, after]),
      [['c', { ID: 5, V: null, N: null, B: null, F: 7 }]],
    );
  });
}

test('segments that are archived only while the snapshot is read are not missed', async t => {
  const database = await TestFirebird.create(t, 5, { JOURNAL_SEGMENT_SIZE: '16384', JOURNAL_BUFFER_SIZE: '4096' });
  await database.run('create table T (ID integer not null primary key, V varchar(200))');
  const open = await database.connect();
  const long = await open.transactionAsync();
  for (let id = 0; id < 300; id++) await long.queryAsync(`insert into T values (${id}, '${'long '.repeat(30)}')`);
  const segments = (): string[] => readdirSync(database.archive).filter(name => /\.journal-\d+$/.test(name));
  await waitUntil('segments of the transaction', 10_000, () => segments().length >= 3);
  // With a commit the server keeps the number of the segment that it is at.
  await database.run("insert into T values (-1, 'committed')");
  const late = segments();
  for (const name of late) renameSync(join(database.archive, name), join(database.archive, `${name}.late`));
  const source = new FirebirdHarness(t, database);
  await source.start();
  for (const name of late) renameSync(join(database.archive, `${name}.late`), join(database.archive, name));
  await source.pollUntil('the end of the snapshot', () => source.isStreaming);
  await long.commitAsync();
  await disconnect(open);
  await source.pollUntil('the transaction', changes => changes.length > 300);
  assert.deepEqual(
    source.changes.map(({ op, after }) => [op, after?.ID]),
    [['r', -1], ...Array.from({ length: 300 }, (_, id) => ['c', id])],
  );
});

test('text of other character sets is the same in the snapshot and in the journal, however long', async t => {
  const database = await TestFirebird.create(t, 5);
  await database.run(
    `create table T (ID integer not null primary key, A varchar(9000) character set win1252, B char(6) character set none,
       C char(4) character set gbk, D char(9000) character set win1251)`,
  );
  const insert = (id: number): string =>
    `insert into T values (${id}, rpad(_win1252 x'80', 9000, _win1252 x'E9'), '😀b', '中', _win1251 x'C6')`;
  await database.run(insert(1));
  const source = new FirebirdHarness(t, database);
  await source.start();
  await source.pollUntil('the row', changes => changes.length === 1);
  await database.run(insert(2));
  await source.pollUntil('the change', changes => changes.length === 2);
  for (const [i, { op, after }] of source.changes.entries()) {
    assert.equal(op, 'rc'[i]);
    const A = `€${'é'.repeat(8999)}`;
    assert.deepEqual(after, { ID: i + 1, A, B: '😀b ', C: '中   ', D: 'Ж'.padEnd(9000) });
  }
});

test('text of NONE that is no UTF-8 is told, with its column, and never published as something else', async t => {
  for (const type of ['varchar(10) character set none', 'blob sub_type text character set none']) {
    const database = await TestFirebird.create(t, 5);
    await database.run(
      `create table T (ID integer not null primary key, V ${type})`,
      "insert into T values (1, x'C6F3EA')",
    );
    const source = new FirebirdHarness(t, database);
    await source.start();
    await assert.rejects(
      source.pollUntil('an error', () => false),
      { code: 'FB_VALUE_INVALID', place: { table: 'T', column: 'V' } },
      type,
    );
    await source.stop();
  }
});

test('heartbeats carry the offset while nothing changes, and records tell their connector', async t => {
  const database = await TestFirebird.create(t, 5);
  await database.run('create table T (ID integer not null primary key)', 'insert into T values (1)');
  const source = new FirebirdHarness(t, database);
  await source.start({ 'heartbeat.interval.ms': '50', 'snapshot.mode': 'no_data' });
  await source.pollUntil('the change', changes => changes.some(change => change.op === 'c'));
  const { headers } = source.changes.find(change => change.op === 'c')!.record;
  assert.deepEqual(
    headers.map(header => header.name.replace('__debezium.context.', '')),
    ['connectorLogicalName', 'taskId', 'connectorName', 'runId'],
  );
  const { length } = source.changes;
  await source.pollUntil('two heartbeats', changes => changes.length >= length + 2);
  const topics = source.changes.slice(length).map(change => change.record.topic);
  assert.deepEqual([...new Set(topics)], [`__debezium-heartbeat.${database.name}`]);
  assert.notEqual(source.offset, null);
});

test('a wrong password is told at once', async t => {
  const database = await TestFirebird.create(t, 5);
  const source = new FirebirdHarness(t, database);
  const begun = performance.now();
  await assert.rejects(source.start({ 'database.password': 'wrong' }), { code: 'FB_LOGIN_FAILED' });
  assert.ok(performance.now() - begun < 5000, `${performance.now() - begun} ms`);
});

test('snapshot modes: again where a segment is gone, only the rows, only some tables', async t => {
  const database = await TestFirebird.create(t, 5);
  await database.run(
    'create table T (ID integer not null primary key)',
    'create table U (ID integer not null primary key)',
  );
  await database.run('insert into T values (1)', 'insert into U values (1)');
  const source = new FirebirdHarness(t, database);
  const seen = (): unknown[] => source.changes.map(({ op, table, after }) => [op, table, after?.ID]);
  await source.start({ 'snapshot.include.collection.list': 'T' });
  await source.pollUntil('the snapshot', changes => changes.length === 1);
  await database.run('insert into U values (2)');
  await source.pollUntil('the change', changes => changes.length === 2);
  assert.deepEqual(seen(), [
    ['r', 'T', 1],
    ['c', 'U', 2],
  ]);
  await source.poll();
  await source.commit();
  await source.stop();
  // Each closing of the database ends a segment.
  for (const id of [3, 4, 5]) await database.run(`insert into T values (${id})`);
  const next = Number(source.stored!.segment);
  const segments = (): string[] => readdirSync(database.archive).filter(name => /\.journal-\d+$/.test(name));
  await waitUntil('later segments', 10_000, () => segments().some(name => Number(name.slice(-9)) > next));
  for (const name of segments()) if (Number(name.slice(-9)) <= next) rmSync(join(database.archive, name));

  source.changes.length = 0;
  await source.start({ 'error.timeout.ms': '0' });
  await assert.rejects(
    source.pollUntil('nothing', () => false),
    { code: 'FB_SEGMENT_MISSING' },
  );
  await source.stop();
  await source.start({ 'snapshot.mode': 'when_needed' });
  await source.pollUntil('the snapshot', changes => changes.length === 6);
  assert.deepEqual(
    seen().sort(),
    [...[1, 3, 4, 5].map(id => ['r', 'T', id]), ...[1, 2].map(id => ['r', 'U', id])].sort(),
  );
  await source.stop();

  source.stored = null;
  source.changes.length = 0;
  await source.start({ 'snapshot.mode': 'initial_only' });
  await source.pollUntil('the snapshot', changes => changes.length === 6);
  await database.run('insert into T values (6)');
  for (let i = 0; i < 10; i++) await source.poll();
  assert.equal(source.changes.length, 6);
});
