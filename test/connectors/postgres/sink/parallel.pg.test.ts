import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import { parallelConfig, parallelContract } from '../../../contract/parallelContract.ts';
import { parallelBatch, parallelEvent } from '../../../contract/parallelRecords.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, servers } from './pgTarget.ts';

const server = servers[0]![1];

parallelContract('PostgreSQL', async () => {
  const target = await openPgTarget(server);
  await target.execute(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.002); return null; end $$`);
  return {
    target: { ...target, connection: { 'connection.url': `${target.url}?ApplicationName=parallel_sink` } },
    createTask: () => sinkPlugin.createTask(),
    spreadsUniqueValues: true,
    makeSlow: table =>
      target.execute(
        `create trigger slow after insert or update or delete on ${table} for each statement execute function slow()`,
      ),
    connections: async () => {
      const rows = await target.rows(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'parallel_sink'",
      );
      return rows.length;
    },
  };
});

it('goes on after deadlocks among its own connections', async () => {
  await using target = await openPgTarget(server);
  // Each row also counts in one of two others, which the connections take in different order.
  await target.execute(`
    create table busy (id bigint primary key, v text, parent bigint);
    create table tally (id bigint primary key, n bigint not null);
    insert into tally values (0, 0), (1, 0);
    create function count_it() returns trigger language plpgsql as $$ begin
      update tally set n = n + 1 where id = new.id % 2; perform pg_sleep(0.0005); return null; end $$;
    create trigger count_it after insert or update on busy for each row execute function count_it()`);
  const options = encodeURIComponent('-c deadlock_timeout=10ms');
  const config = { ...parallelConfig, 'connection.url': `${target.url}?options=${options}`, 'batch.size': '20' };
  await using run = await startSink(sinkPlugin.createTask(), config);
  let offset = 0;
  const deadline = Date.now() + 30_000;
  const rows = new Map<number, string>();
  while ((run.counts.get('retries') ?? 0) === 0) {
    assert.ok(Date.now() < deadline, 'no deadlock came about');
    const records = Array.from({ length: 400 }, () => {
      const id = Math.floor(Math.random() * 1000);
      rows.set(id, `v${offset}`);
      return parallelEvent('busy', 'u', [id, `v${offset++}`, 0]);
    });
    await run.task.put([await parallelBatch(records, offset - records.length)]);
  }
  await run.task.preCommit!(new Map());
  const found = await target.rows('select id::int, v from busy');
  assert.deepEqual(new Map(found.map(r => [r.id, r.v])), rows);
});
