/** What others do with the slot and the publication of a connector: nothing of it may lose changes in silence. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SourceHarness } from './sourceHarness.ts';

const hasCode =
  (code: string) =>
  (error: Error): boolean =>
    error.message.includes(code) || (error as { code?: string }).code === code;

async function streamed(t: { after(f: () => Promise<void>): void }): Promise<SourceHarness> {
  const harness = await SourceHarness.open(t);
  await harness.script('CREATE TABLE item (id integer PRIMARY KEY); CREATE TABLE other (id integer);');
  await harness.start({ 'table.include.list': 'public.item' });
  await harness.pollUntilStreaming();
  await harness.sql.query('INSERT INTO item VALUES (1)');
  await harness.pollUntil(1);
  await harness.commit();
  return harness;
}

async function makeSlotAgain(harness: SourceHarness): Promise<void> {
  await harness.sql.query('SELECT pg_drop_replication_slot($1)', [harness.name]);
  await harness.sql.query('INSERT INTO item VALUES (2)');
  await harness.sql.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [harness.name]);
}

test('a slot that was made again is refused: it does not have what came before', async t => {
  const harness = await streamed(t);
  await harness.stop();
  await makeSlotAgain(harness);
  await assert.rejects(harness.start(), hasCode('PG_SLOT_AHEAD'));
  await harness.stop();
  await harness.start({ 'snapshot.mode': 'when_needed', 'table.include.list': 'public.item' });
  await harness.pollUntil(3);
});

test('a slot that is made again while its connector runs is refused when the connection comes back', async t => {
  const harness = await streamed(t);
  await harness.sql.query('SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1', [
    harness.name,
  ]);
  await harness.sql.query(
    "DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '" +
      `${harness.name}' AND active) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`,
  );
  await makeSlotAgain(harness);
  await assert.rejects(
    harness.pollWhile(async () => true),
    hasCode('PG_SLOT_AHEAD'),
  );
});

test('a slot that moved on while nothing was to be published is no reason to stop', async t => {
  const harness = await streamed(t);
  const { rows } = await harness.sql.query('SELECT pg_current_wal_lsn() AS lsn');
  await harness.pollWhile(async () => {
    await harness.sql.query('INSERT INTO other VALUES (1)');
    await harness.commit();
    const { rows: moved } = await harness.sql.query('SELECT $1::pg_lsn < $2::pg_lsn AS moved', [
      rows[0].lsn,
      (await harness.slot())!.confirmed_flush_lsn,
    ]);
    return !moved[0].moved;
  });
  await harness.stop();
  await harness.sql.query('INSERT INTO item VALUES (2)');
  await harness.start({ 'table.include.list': 'public.item' });
  await harness.pollUntil(2);
  assert.equal(harness.warnings.length, 0);
});

test('a slot that another connector reads is refused before the snapshot is published', async t => {
  const harness = await streamed(t);
  const other = harness.stored;
  harness.stored = null;
  const { task } = harness;
  await assert.rejects(harness.start(), hasCode('PG_SLOT_ACTIVE'));
  await harness.stop();
  harness.task = task;
  harness.stored = other;
});

test('connectors that share a publication leave each other their tables', async t => {
  const harness = await SourceHarness.open(t);
  await harness.script('CREATE TABLE a (id integer PRIMARY KEY);\nCREATE TABLE b (id integer PRIMARY KEY);');
  const filtered = { 'publication.autocreate.mode': 'filtered' };
  await harness.start({ ...filtered, 'table.include.list': 'public.a' });
  await harness.pollUntilStreaming();
  const second = `${harness.name}_2`;
  const first = harness.task!;
  await harness.start({ ...filtered, 'table.include.list': 'public.b', 'slot.name': second, 'topic.prefix': second });
  const { rows } = await harness.sql.query(
    'SELECT tablename FROM pg_publication_tables WHERE pubname = $1 ORDER BY 1',
    [harness.name],
  );
  assert.deepEqual(
    rows.map(row => row.tablename),
    ['a', 'b'],
  );
  await harness.stop();
  await first.stop();
  await harness.sql.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1', [
    second,
  ]);
});
