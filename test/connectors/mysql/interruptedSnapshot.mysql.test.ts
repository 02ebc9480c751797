/** A snapshot that is broken off and taken again: what was deleted in between is told by the log since the first one began. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Struct } from '../../../schemas/data/index.ts';
import { MARIADB_URL, MysqlHarness } from './mysqlHarness.ts';

const ROWS = 500;
const FETCH_SIZE = '100';

const deleted = (harness: MysqlHarness): unknown[] =>
  harness.records.flatMap(({ key, value }) =>
    (value as Struct | null)?.get('op') === 'd' ? [(key as Struct).get('id')] : [],
  );

for (const url of [undefined, MARIADB_URL]) {
  const server = url === undefined ? 'MySQL' : 'MariaDB';

  test(`${server}: rows that a broken off snapshot published are deleted, however often it is broken off`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    const { sql } = harness;
    await sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    await sql.query('INSERT INTO t VALUES ?', [Array.from({ length: ROWS }, (_, i) => [i])]);
    const options = { 'snapshot.fetch.size': FETCH_SIZE };
    for (const id of [1, 2, 3]) {
      await harness.start(options);
      const before = harness.records.length;
      await harness.pollWhile(() => harness.records.length === before);
      assert.equal(harness.offset?.snapshot_completed, false, 'it was not broken off');
      // The first is cut off before the worker stores the offset of its rows.
      if (id > 1) harness.commit();
      await harness.stop();
      await sql.query('DELETE FROM t WHERE id = ?', [id]);
    }
    await harness.start(options);
    await harness.pollWhile(() => harness.offset?.snapshot_completed !== true);
    harness.commit();
    await harness.stop();
    // Ends between the snapshot and the first of those changes.
    await harness.start(options);
    await harness.pollWhile(() => deleted(harness).length < 3);
    await sql.query('DELETE FROM t WHERE id = 4');
    await harness.pollWhile(() => deleted(harness).length < 4);
    assert.deepEqual(deleted(harness), [1, 2, 3, 4]);
  });

  test(`${server}: where the log is gone by then, the new snapshot says what may be missing`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)');
    harness.stored = { file: 'gone.000001', pos: 4, snapshot: 'INITIAL', snapshot_completed: false };
    await harness.start();
    await harness.pollUntilStreaming();
    assert.ok(harness.warnings.some(text => text.includes('are not published as deleted')));
    await harness.sql.query('INSERT INTO t VALUES (2)');
    await harness.pollWhile(() => harness.records.length < 2);
  });

  test(`${server}: what changes behind a start without snapshot is not lost, however soon the task ends`, async t => {
    const harness = await MysqlHarness.open(t, { ...(url && { url }) });
    await harness.sql.query('CREATE TABLE t (id INT PRIMARY KEY)');
    const options = { 'snapshot.mode': 'no_data' };
    await harness.start(options);
    await harness.pollWhile(() => harness.stored === null);
    await harness.stop();
    await harness.sql.query('INSERT INTO t VALUES (1)');
    await harness.start(options);
    await harness.pollWhile(() => harness.records.length < 1);
  });
}
