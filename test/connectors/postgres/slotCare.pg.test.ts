/** What keeps the slot moving and small, and loops from forming. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Struct } from '../../../schemas/data/index.ts';
import { SourceHarness } from './sourceHarness.ts';

test('heartbeats move the slot of a database in which nothing changes, without a table and without an event of theirs', {
  timeout: 60_000,
}, async t => {
  const harness = await SourceHarness.open(t);
  await harness.script('CREATE TABLE item (id integer PRIMARY KEY);');
  await harness.start({ 'heartbeat.interval.ms': '100' });
  await harness.pollUntilStreaming();
  const { rows } = await harness.sql.query('SELECT pg_current_wal_lsn() AS lsn');
  await harness.pollWhile(async () => {
    await harness.commit();
    const { rows: moved } = await harness.sql.query('SELECT $1::pg_lsn < $2::pg_lsn AS moved', [
      rows[0].lsn,
      (await harness.slot())!.confirmed_flush_lsn,
    ]);
    return !moved[0].moved;
  });
  assert.deepEqual([...new Set(harness.records.map(record => record.topic))], [`__debezium-heartbeat.${harness.name}`]);
  assert.equal(harness.gauges.has('slot_wal_kept_bytes'), true);
});

test('publish.origin=none leaves out what came by replication', { timeout: 60_000 }, async t => {
  const harness = await SourceHarness.open(t);
  await harness.script('CREATE TABLE item (id integer PRIMARY KEY);');
  const origin = `origin_${harness.name}`;
  await harness.sql.query('SELECT pg_replication_origin_create($1)', [origin]);
  try {
    await harness.start({ 'publish.origin': 'none' });
    await harness.pollUntilStreaming();
    await harness.sql.query('SELECT pg_replication_origin_session_setup($1)', [origin]);
    await harness.sql.query('INSERT INTO item VALUES (1)');
    await harness.sql.query('SELECT pg_replication_origin_session_reset()');
    await harness.sql.query('INSERT INTO item VALUES (2)');
    await harness.pollUntil(1);
  } finally {
    await harness.sql.query('SELECT pg_replication_origin_drop($1)', [origin]);
  }
  assert.deepEqual(
    harness.records.map(record => (record.key as Struct).values[0]),
    [2],
  );
  assert.ok(harness.records[0]!.value instanceof Struct);
});
