/** Connections that die, deadlocks, replays: nothing is lost and nothing is written twice; and what the sink holds meanwhile is bounded. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../../../schemas/data/index.ts';
import { avroSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

const keySchema = struct([['id', INT64]], { name: 'faults.Key' });
const rowSchema = struct(
  [
    ['id', INT64],
    ['v', OPTIONAL_STRING],
  ],
  { name: 'faults.Row', optional: true },
);
const envelopeSchema = struct(
  [
    ['before', rowSchema],
    ['after', rowSchema],
    ['source', struct([['table', STRING]], { name: 'faults.Source' })],
    ['op', STRING],
  ],
  { name: 'faults.Envelope' },
);
const source = new Struct(envelopeSchema.fields[2]!.schema as typeof rowSchema, ['t']);
const event = (op: string, id: number, v: string): TestRecord => ({
  key: new Struct(keySchema, [BigInt(id)]),
  value: new Struct(envelopeSchema, [null, new Struct(rowSchema, [BigInt(id), v]), source, op]),
});
const batchOf = (records: readonly TestRecord[], firstOffset = 0) =>
  avroSinkBatch({ topic: 'faults', firstOffset, keySchema, valueSchema: envelopeSchema }, records);

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await sleep(10);
  }
}

describe('faults', () => {
  let target: PgTarget;
  before(async () => {
    target = await openPgTarget(servers[0]![1]);
  });
  after(() => target[Symbol.asyncDispose]());

  const config = (table: string, application: string, extra: Config = {}): Config => ({
    'connection.url': `${target.url}?ApplicationName=${application}`,
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'table.name.format': table,
    'retry.backoff.ms': '10',
    ...extra,
  });
  const create = async (): Promise<string> => {
    const table = target.uniqueName();
    await target.client.query(`create table ${table} (id bigint primary key, v text)`);
    return table;
  };
  const kill = (application: string): Promise<unknown> =>
    target.client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
      application,
    ]);
  const waiting = async (application: string): Promise<boolean> => {
    const { rowCount } = await target.client.query(
      "select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'",
      [application],
    );
    return rowCount! > 0;
  };

  it('goes on after its connection was ended, again and again, in the middle of writes', async () => {
    const table = await create();
    await using run = await startSink(sinkPlugin.createTask(), config(table, 'killed_sink', { 'batch.size': '500' }));
    const expected = new Map<string, string>();
    for (let round = 0; round < 40; round++) {
      const records = Array.from({ length: 700 }, (_, i) => {
        const id = (round * 311 + i) % 5000;
        expected.set(String(id), `${round}.${i}`);
        return event(round % 2 === 0 ? 'c' : 'u', id, `${round}.${i}`);
      });
      await run.task.put([await batchOf(records, round * 700)]);
      if (round % 4 === 3) await kill('killed_sink');
    }
    await run.task.preCommit!(new Map());
    const { rows } = await target.client.query(`select id::text, v from ${table}`);
    assert.deepEqual(new Map(rows.map(r => [r.id, r.v])), expected);
    assert.ok(run.counts.get('retries')! > 0);
    assert.deepEqual(run.errants, []);
  });

  it('tries again after a deadlock', async () => {
    const table = await create();
    await target.client.query(`insert into ${table} values (1, 'a'), (2, 'a')`);
    await using run = await startSink(sinkPlugin.createTask(), config(table, 'deadlock_sink'));
    const other = new Client(target.url);
    await other.connect();
    try {
      // The other one is not the one that finds it, so the sink is the victim.
      await other.query("set deadlock_timeout = '1min'");
      await other.query(`begin; update ${table} set v = 'other' where id = 2`);
      const delivered = run.deliver(await batchOf([event('u', 1, 'sink'), event('u', 2, 'sink')]));
      await until('the sink waits for row 2', () => waiting('deadlock_sink'));
      await other.query(`update ${table} set v = 'other' where id = 1; commit`);
      await delivered;
    } finally {
      await other.end();
    }
    const { rows } = await target.client.query(`select v from ${table}`);
    assert.deepEqual(rows, [{ v: 'sink' }, { v: 'sink' }]);
    assert.equal(run.counts.get('retries'), 1);
  });

  it('holds back puts while the target is blocked, instead of collecting without end', async () => {
    const table = await create();
    await using run = await startSink(sinkPlugin.createTask(), config(table, 'blocked_sink', { 'batch.size': '100' }));
    const other = new Client(target.url);
    await other.connect();
    let puts = 0;
    const putAll = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) {
        const records = Array.from({ length: 100 }, (_, j) => event('c', i * 100 + j, 'x'));
        await run.task.put([await batchOf(records, i * 100)]);
        puts++;
      }
    };
    let putting = Promise.resolve();
    try {
      await run.deliver(await batchOf([event('c', 99_999, 'x')], 10_000));
      await other.query(`begin; lock table ${table}`);
      putting = putAll();
      await until('the sink waits for the table', () => waiting('blocked_sink'));
      await sleep(100);
      // Two connections, each with a full flush under way and another that is collected.
      assert.ok(puts <= 5, `${puts} puts went on`);
    } finally {
      await other.query('rollback');
      await other.end();
    }
    await putting;
    await run.task.preCommit!(new Map());
    const { rows } = await target.client.query(`select count(*)::int as n from ${table}`);
    assert.equal(rows[0].n, 5001);
  });

  it('copies new rows, and falls back for a while when they turn out to be a replay', async () => {
    const table = await create();
    await using run = await startSink(sinkPlugin.createTask(), config(table, 'replay_sink'));
    const batch = await batchOf(Array.from({ length: 300 }, (_, i) => event('r', i, 'x')));
    await run.deliver(batch);
    assert.equal(run.counts.get('copy_fallbacks'), undefined);
    await run.deliver(batch);
    await run.deliver(batch);
    assert.equal(run.counts.get('copy_fallbacks'), 1);
    const { rows } = await target.client.query(`select count(*)::int as n from ${table}`);
    assert.equal(rows[0].n, 300);
  });

  it('gives up with SINK_UNAVAILABLE when max.retries is used up', async () => {
    const unreachable = config('x', 'none', {
      'connection.url': 'postgres://postgres@127.0.0.1:1/postgres',
      'max.retries': '2',
    });
    await assert.rejects(startSink(sinkPlugin.createTask(), unreachable), { code: 'SINK_UNAVAILABLE' });
  });

  it('stops at once while the target is blocked', async () => {
    const table = await create();
    const run = await startSink(sinkPlugin.createTask(), config(table, 'stopped_sink'));
    const other = new Client(target.url);
    await other.connect();
    try {
      await run.deliver(await batchOf([event('c', 1, 'x')]));
      await other.query(`begin; lock table ${table}`);
      await run.task.put([await batchOf([event('c', 2, 'x')], 1)]);
      await until('the sink waits for the table', () => waiting('stopped_sink'));
      await run.abort();
      // What was under way must not come about later, beside the writes of whoever has the partitions then.
      await until('the server has given up the write', async () => !(await waiting('stopped_sink')));
    } finally {
      await other.query('rollback');
      await other.end();
    }
  });
});
