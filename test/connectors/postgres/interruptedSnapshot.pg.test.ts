/** A snapshot that is broken off and taken again: what was deleted in between is told by the changes since the slot was made, whenever the task ends after that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Struct } from '../../../schemas/data/index.ts';
import { SourceHarness } from './sourceHarness.ts';

const ROWS = 20_000;

test('rows that a broken off snapshot published are deleted, although the task ends amid the changes since its slot', {
  timeout: 60_000,
}, async t => {
  const harness = await SourceHarness.open(t);
  await harness.script(
    `CREATE TABLE item (id integer PRIMARY KEY, v text);\nINSERT INTO item SELECT n, repeat('x', 200) FROM generate_series(1, ${ROWS}) n;\n`,
  );
  const options = { 'max.batch.size': '1' };
  await harness.start(options);
  await harness.pollUntil(10);
  assert.equal(harness.offset?.snapshot_completed, false, 'it was not broken off');
  await harness.commit();
  await harness.stop();
  await harness.script('DELETE FROM item WHERE id = 1;\nDELETE FROM item WHERE id = 2;\n');

  const deleted = (): unknown[] =>
    harness.records.flatMap(({ key, value }) =>
      (value as Struct | null)?.get('op') === 'd' ? [(key as Struct).get('id')] : [],
    );
  // A task that ends between the snapshot and the first of those changes begins with the offset of the snapshot.
  await harness.start(options);
  await harness.pollWhile(async () => harness.offset?.snapshot_completed !== true);
  await harness.commit();
  await harness.stop();
  await harness.start(options);
  await harness.pollWhile(async () => deleted().length === 0);
  assert.deepEqual(deleted(), [1]);
  await harness.commit();
  await harness.stop();

  await harness.start(options);
  await harness.script(`DELETE FROM item WHERE id = ${ROWS}`);
  await harness.pollWhile(async () => !deleted().includes(ROWS));
  assert.deepEqual(deleted(), [1, 2, ROWS]);
});
