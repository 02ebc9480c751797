/** A server of its own that is misconfigured, loses WAL or crashes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourcePlugin } from '../../../connectors/postgres/source/connector.ts';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { LocalPostgres } from '../../services/localPostgres.ts';
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
