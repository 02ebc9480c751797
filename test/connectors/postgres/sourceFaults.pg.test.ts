/** A server of its own that is misconfigured, loses WAL or crashes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { sourcePlugin } from '../../../connectors/postgres/source/connector.ts';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { LocalPostgres } from '../../services/localPostgres.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { SourceHarness } from './sourceHarness.ts';

const hasCode = (code: string) => (error: unknown) => error instanceof ConnectError && error.code === code;
const keys = (harness: SourceHarness): number[] => harness.records.map(r => Number((r.key as Struct).values[0]));
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

async function serverWithTable(
  t: Parameters<typeof SourceHarness.open>[0],
  settings: Readonly<Record<string, string>>,
): Promise<{ server: LocalPostgres; harness: SourceHarness }> {
  const server = await LocalPostgres.start(settings);
  // Cleaned up in reverse: the harness needs the server.
  const cleanups: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup().catch(() => {});
    await server.stop();
  });
  const harness = await SourceHarness.open({ after: f => cleanups.push(f) }, server.url('').replace(/\/$/, ''));
  await harness.sql.query('CREATE TABLE item (id integer PRIMARY KEY, v text)');
  return { server, harness };
}

test('wal_level=replica is refused with what to set', { timeout: 120_000 }, async t => {
  const { harness } = await serverWithTable(t, { wal_level: 'replica' });
  const errors = await sourcePlugin.validate!(harness.config());
  assert.deepEqual(
    errors.map(e => /^\[(\w+)\]/.exec(e.message)?.[1]),
    ['PG_WAL_LEVEL'],
  );
  await assert.rejects(harness.start(), hasCode('PG_WAL_LEVEL'));
  assert.equal(await harness.slot(), null);
});

test('a slot whose WAL the server removed is not read past: an error, or all rows again if wanted', {
  timeout: 120_000,
}, async t => {
  const { harness } = await serverWithTable(t, {
    max_slot_wal_keep_size: '1MB',
    max_wal_size: '32MB',
    min_wal_size: '32MB',
  });
  await harness.sql.query('INSERT INTO item VALUES (1)');
  await harness.start();
  await harness.pollUntil(1);
  await harness.pollUntilStreaming();
  await harness.commit();
  await harness.stop();
  for (let i = 0; i < 4; i++)
    await harness.sql.query('SELECT pg_switch_wal(), pg_logical_emit_message(true, $1, $2)', ['x', 'y']);
  await harness.sql.query('CHECKPOINT');
  await harness.sql.query('INSERT INTO item VALUES (2)');
  await assert.rejects(async () => {
    await harness.start();
    await harness.pollUntil(2);
  }, hasCode('PG_SLOT_LOST'));
  await harness.stop();
  harness.records.length = 0;
  await harness.start({ 'snapshot.mode': 'when_needed' });
  await harness.pollUntil(2);
  assert.deepEqual(keys(harness), [1, 2]);
});

test('a crash of the server loses and repeats nothing', { timeout: 120_000 }, async t => {
  const { server, harness } = await serverWithTable(t, {});
  await harness.start({ 'slot.retry.delay.ms': '500', 'slot.max.retries': '40' });
  await harness.pollUntilStreaming();
  await harness.sql.query('INSERT INTO item SELECT i FROM generate_series(1, 100) i');
  await harness.poll();
  await server.kill();
  const restarted = server.restart();
  while (harness.records.length < 100) await harness.poll();
  await restarted;
  assert.deepEqual(keys(harness), upTo(100));
});

test('values of a row whose transaction waits for a standby are read when others can see it', {
  timeout: 120_000,
}, async t => {
  const { server, harness } = await serverWithTable(t, {});
  const writer = new pg.Client(server.url(harness.name));
  await writer.connect();
  const release = (): Promise<void> =>
    harness.script('ALTER SYSTEM RESET synchronous_standby_names;\nSELECT pg_reload_conf();\n');
  try {
    await harness.script(
      "ALTER TABLE item ALTER v SET STORAGE EXTERNAL;\nINSERT INTO item VALUES (1, repeat('x', 5000));\n",
    );
    await harness.start({ 'snapshot.mode': 'no_data' });
    await harness.pollUntilStreaming();
    await harness.sql.query('SET synchronous_commit = local');
    await harness.script("ALTER SYSTEM SET synchronous_standby_names = 'nobody';\nSELECT pg_reload_conf();\n");
    await waitUntil('the setting is there', 10_000, async () => {
      return (await writer.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names === 'nobody';
    });
    // the checkpointer tells commits to wait: having made a checkpoint, it has taken in the setting
    await harness.sql.query('CHECKPOINT');
    const update = writer.query('UPDATE item SET id = 2');
    const polled = harness.pollUntil(3);
    const count = async (condition: string): Promise<number> =>
      (await harness.sql.query(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${condition}`)).rows[0].n;
    await waitUntil('the stream is ahead of what can be seen', 10_000, async () => {
      const isAsking = "application_name LIKE 'millrace catalog%' AND query LIKE '%pg_snapshot_xmax%'";
      return (await count(isAsking)) === 1 && (await count("wait_event = 'SyncRep'")) === 1;
    });
    assert.equal((await harness.sql.query('SELECT id FROM item')).rows[0].id, 1);
    await release();
    await Promise.all([update, polled]);
    const created = harness.records.at(-1)!;
    assert.equal(((created.value as Struct).get('after') as Struct).get('v'), 'x'.repeat(5000));
  } finally {
    await release();
    await writer.end();
  }
});
