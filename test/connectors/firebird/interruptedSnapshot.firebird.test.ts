/** A snapshot that is broken off and taken again: what was deleted in between is told by the journal since the first one began. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { FirebirdHarness } from './sourceHarness.ts';

const ROWS = 300;

const deleted = ({ changes }: FirebirdHarness): unknown[] =>
  changes.filter(({ op }) => op === 'd').map(({ before }) => before?.ID);

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  test(`Firebird ${version}: rows that a broken off snapshot published are deleted, through DDL too`, async t => {
    const database = await TestFirebird.create(t, version);
    await database.run('create table T (ID integer not null primary key)');
    await database.run(
      `execute block as declare i integer = 0; begin while (i < ${ROWS}) do begin insert into T values (:i); i = i + 1; end end`,
    );
    const source = new FirebirdHarness(t, database);
    const options = { 'snapshot.fetch.size': '100' };
    for (const id of [1, 2, 3]) {
      await source.start(options);
      const before = source.changes.length;
      await source.pollUntil('rows', changes => changes.length > before);
      assert.equal(source.offset?.snapshot_completed, false, 'it was not broken off');
      // The first is cut off before the worker stores the offset of its rows.
      if (id > 1) await source.commit();
      await source.stop();
      await database.run(`delete from T where ID = ${id}`);
      if (id === 2) await database.run('alter table T add V varchar(10)', "update T set V = 'x' where ID = 10");
    }
    await source.start(options);
    await source.pollUntil('the journal', () => source.isStreaming);
    await source.commit();
    await source.stop();
    // Ends between the snapshot and the first of those changes.
    await source.start(options);
    await source.pollUntil('what was deleted', () => deleted(source).length === 3);
    await database.run("insert into T values (1000, 'after')", 'delete from T where ID = 4');
    await source.pollUntil('what is deleted later', () => deleted(source).length === 4);
    assert.deepEqual(deleted(source), [1, 2, 3, 4]);
    const last = source.changes.findLast(({ after }) => after?.ID === 1000);
    assert.deepEqual(last?.after, { ID: 1000, V: 'after' });
  });
}

test('what changes behind a start without snapshot is not lost, however soon the task ends', async t => {
  const database = await TestFirebird.create(t, 5);
  await database.run('create table T (ID integer not null primary key)');
  const source = new FirebirdHarness(t, database);
  const options = { 'snapshot.mode': 'no_data' };
  await source.start(options);
  await source.pollUntil('an offset', () => source.stored !== null);
  await source.stop();
  await database.run('insert into T values (1)');
  await source.start(options);
  await source.pollUntil('the row', changes => changes.some(({ after }) => after?.ID === 1));
});
