/** Over several connections: the rows are those of one after the other, whatever constraints the tables have, and a slow target is used by all of them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../../../schemas/data/index.ts';
import { avroSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

const keySchema = struct([['id', INT64]], { name: 'parallel.Key' });
const rowSchema = struct(
  [
    ['id', INT64],
    ['v', OPTIONAL_STRING],
    ['parent', INT64],
  ],
  { name: 'parallel.Row', optional: true },
);
const sourceSchema = struct([['table', STRING]], { name: 'parallel.Source' });
const envelopeSchema = struct(
  [
    ['before', rowSchema],
    ['after', rowSchema],
    ['source', sourceSchema],
    ['op', STRING],
  ],
  { name: 'parallel.Envelope' },
);

type Row = readonly [id: number, v: string | null, parent: number];
const imageOf = ([id, v, parent]: Row): Struct => new Struct(rowSchema, [BigInt(id), v, BigInt(parent)]);
const event = (table: string, op: string, row: Row): TestRecord => ({
  key: new Struct(keySchema, [BigInt(row[0])]),
  value: new Struct(envelopeSchema, [
    op === 'd' ? imageOf(row) : null,
    op === 'd' ? null : imageOf(row),
    new Struct(sourceSchema, [table]),
    op,
  ]),
});
const batchOf = (records: readonly TestRecord[], firstOffset: number) =>
  avroSinkBatch({ topic: 'parallel', firstOffset, keySchema, valueSchema: envelopeSchema }, records);

describe('parallel apply', () => {
  let target: PgTarget;
  before(async () => {
    target = await openPgTarget(servers[0]![1]);
    await target.client.query(`create function slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.002); return null; end $$`);
  });
  after(() => target[Symbol.asyncDispose]());

  const config = (application: string, extra: Config = {}): Config => ({
    'connection.url': `${target.url}?ApplicationName=${application}`,
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'table.name.format': '${source.table}',
    'batch.size': '200',
    ...extra,
  });
  const makeSlow = (table: string): Promise<unknown> =>
    target.client.query(
      `create trigger slow after insert or update or delete on ${table} for each statement execute function slow()`,
    );
  const connectionsOf = async (application: string): Promise<number> => {
    const { rowCount } = await target.client.query('select from pg_stat_activity where application_name = $1', [
      application,
    ]);
    return rowCount!;
  };

  it('comes to the same rows as one after the other, with unique values and foreign keys among them', async () => {
    await target.client.query(`
      create table plain (id bigint primary key, v text, parent bigint);
      create table uniq (id bigint primary key, v text unique, parent bigint);
      create table mother (id bigint primary key, v text, parent bigint);
      create table child (id bigint primary key, v text, parent bigint references mother)`);
    for (const table of ['plain', 'uniq', 'mother', 'child']) await makeSlow(table);
    const expected = new Map<string, Map<number, Row>>(
      ['plain', 'uniq', 'mother', 'child'].map(name => [name, new Map()]),
    );
    const records: TestRecord[] = [];
    const write = (table: string, row: Row): void => {
      const rows = expected.get(table)!;
      records.push(event(table, rows.has(row[0]) ? 'u' : 'c', row));
      rows.set(row[0], row);
    };
    const remove = (table: string, id: number): void => {
      const row = expected.get(table)!.get(id);
      if (row === undefined) return;
      records.push(event(table, 'd', row));
      expected.get(table)!.delete(id);
    };
    const below = (n: number): number => Math.floor(Math.random() * n);
    for (let i = 0; i < 6000; i++) {
      const id = below(300);
      const pick = below(10);
      if (pick < 6) {
        if (below(8) === 0) remove('plain', id);
        else write('plain', [id, `v${i}`, i]);
      } else if (pick < 8) {
        // A value moves from one row to another.
        const owner = [...expected.get('uniq')!.values()].find(row => row[1] === `u${id % 20}`);
        if (owner !== undefined) write('uniq', [owner[0], null, i]);
        write('uniq', [id, `u${id % 20}`, i]);
      } else {
        const mother = below(30);
        const children = [...expected.get('child')!.values()];
        if (below(4) === 0) {
          for (const child of children.filter(row => row[2] === mother)) remove('child', child[0]);
          remove('mother', mother);
        } else {
          write('mother', [mother, `m${i}`, i]);
          write('child', [id, `c${i}`, mother]);
        }
      }
    }
    await using run = await startSink(sinkPlugin.createTask(), config('parallel_sink'));
    let connections = 0;
    for (let from = 0; from < records.length; from += 400) {
      await run.task.put([await batchOf(records.slice(from, from + 400), from)]);
      connections = Math.max(connections, await connectionsOf('parallel_sink'));
    }
    await run.task.preCommit!(new Map());
    for (const [table, rows] of expected) {
      const found = await target.client.query(`select id::int, v, parent::int from ${table} order by id`);
      assert.deepEqual(
        found.rows.map(r => [r.id, r.v, r.parent]),
        [...rows.values()].sort((a, b) => a[0] - b[0]),
        table,
      );
    }
    assert.deepEqual(run.errants, []);
    assert.equal(connections, 4);
  });

  it('spreads a table with further unique indexes, and rows come to the same where values go from one to another', async () => {
    await target.client.query('create table swap (id bigint primary key, v text unique, parent bigint)');
    await makeSlow('swap');
    await using run = await startSink(sinkPlugin.createTask(), config('swap_sink'));
    // Each value belongs to a row from before, of which the sink knows nothing, and goes on to the next row.
    const count = 4000;
    await target.client.query(`insert into swap select i, 'v' || i, 0 from generate_series(0, ${count - 1}) i`);
    let connections = 0;
    let offset = 0;
    for (let from = 0; from < count; from += 200) {
      const records = Array.from({ length: 200 }, (_, i) => from + i).flatMap(id => [
        event('swap', 'u', [id, null, 1]),
        ...(id === 0 ? [] : [event('swap', 'u', [id, `v${id - 1}`, 2])]),
      ]);
      await run.task.put([await batchOf(records, offset)]);
      offset += records.length;
      connections = Math.max(connections, await connectionsOf('swap_sink'));
    }
    const next = async (): Promise<number> => {
      await run.task.put([]);
      await run.task.preCommit!(new Map());
      const { rows } = await target.client.query('select count(*)::int as n from swap where v = $1 || (id - 1)', ['v']);
      return rows[0].n;
    };
    const deadline = Date.now() + 20_000;
    while ((await next()) < count - 1) assert.ok(Date.now() < deadline, 'not all values came to the next row');
    assert.equal(connections, 4);
    assert.deepEqual(run.errants, []);
  });

  it('takes one connection, and one transaction at a time, with commit.order=source', async () => {
    await target.client.query('create table ordered (id bigint primary key, v text, parent bigint)');
    await makeSlow('ordered');
    await using run = await startSink(sinkPlugin.createTask(), config('ordered_sink', { 'commit.order': 'source' }));
    for (let round = 0; round < 60; round++) {
      const rows = Array.from({ length: 400 }, (_, i) => event('ordered', 'c', [round * 400 + i, 'x', 0]));
      await run.task.put([await batchOf(rows, round * 400)]);
      // Readers see the records up to one of them, and none behind it.
      const { rows: seen } = await target.client.query('select count(*)::int as n, max(id)::int as top from ordered');
      assert.equal(seen[0].n, (seen[0].top ?? -1) + 1);
    }
    await run.task.preCommit!(new Map());
    assert.equal(await connectionsOf('ordered_sink'), 1);
  });

  it('goes on after deadlocks among its own connections', async () => {
    // Each row also counts in one of two others, which the connections take in different order.
    await target.client.query(`
      create table busy (id bigint primary key, v text, parent bigint);
      create table tally (id bigint primary key, n bigint not null);
      insert into tally values (0, 0), (1, 0);
      create function count_it() returns trigger language plpgsql as $$ begin
        update tally set n = n + 1 where id = new.id % 2; perform pg_sleep(0.0005); return null; end $$;
      create trigger count_it after insert or update on busy for each row execute function count_it()`);
    const options = encodeURIComponent('-c deadlock_timeout=10ms');
    const url = `${target.url}?ApplicationName=busy_sink&options=${options}`;
    await using run = await startSink(
      sinkPlugin.createTask(),
      config('busy_sink', { 'connection.url': url, 'batch.size': '20' }),
    );
    let offset = 0;
    const deadline = Date.now() + 30_000;
    const rows = new Map<number, string>();
    while ((run.counts.get('retries') ?? 0) === 0) {
      assert.ok(Date.now() < deadline, 'no deadlock came about');
      const records = Array.from({ length: 400 }, () => {
        const id = Math.floor(Math.random() * 1000);
        rows.set(id, `v${offset}`);
        return event('busy', 'u', [id, `v${offset++}`, 0]);
      });
      await run.task.put([await batchOf(records, offset - records.length)]);
    }
    await run.task.preCommit!(new Map());
    const { rows: found } = await target.client.query('select id::int, v from busy');
    assert.deepEqual(new Map(found.map(r => [r.id, r.v])), rows);
  });
});
