/** Over several connections: the rows are those of one after the other, whatever constraints the tables have, and a slow target is used by all of them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../../../schemas/data/index.ts';
import { avroSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { type MysqlTarget, openMysqlTarget, servers } from './mysqlTarget.ts';

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
    ['after', rowSchema],
    ['source', sourceSchema],
    ['op', STRING],
  ],
  { name: 'parallel.Envelope' },
);

type Row = readonly [id: number, v: string | null, parent: number];
const event = (table: string, op: string, [id, v, parent]: Row): TestRecord => ({
  key: new Struct(keySchema, [BigInt(id)]),
  value: new Struct(envelopeSchema, [
    op === 'd' ? null : new Struct(rowSchema, [BigInt(id), v, BigInt(parent)]),
    new Struct(sourceSchema, [table]),
    op,
  ]),
});
const batchOf = (records: readonly TestRecord[], firstOffset: number) =>
  avroSinkBatch({ topic: 'parallel', firstOffset, keySchema, valueSchema: envelopeSchema }, records);

for (const [name, server] of servers) {
  describe(`parallel apply: ${name}`, () => {
    let target: MysqlTarget;
    before(async () => {
      target = await openMysqlTarget(server);
    });
    after(() => target[Symbol.asyncDispose]());

    const config = (extra: Config = {}): Config => ({
      'connection.url': target.url,
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      'table.name.format': '${source.table}',
      'batch.size': '200',
      'retry.backoff.ms': '10',
      ...extra,
    });
    const makeSlow = (table: string): Promise<unknown> =>
      target.client.query(
        ['insert', 'update']
          .map(what => `create trigger slow_${table}_${what} after ${what} on ${table} for each row do sleep(0.0002)`)
          .join(';'),
      );
    const connections = async (): Promise<number> => {
      const rows = await target.rows(
        'select id from information_schema.processlist where db = database() and id <> connection_id()',
      );
      return rows.length;
    };

    it('comes to the same rows as one after the other, with unique values and foreign keys among them', async () => {
      const tables = ['plain', 'uniq', 'mother', 'child'];
      await target.client.query(`
        create table plain (id bigint primary key, v text, parent bigint);
        create table uniq (id bigint primary key, v varchar(20) unique, parent bigint);
        create table mother (id bigint primary key, v text, parent bigint);
        create table child (id bigint primary key, v text, parent bigint, foreign key (parent) references mother (id))`);
      for (const table of tables) await makeSlow(table);
      const expected = new Map<string, Map<number, Row>>(tables.map(table => [table, new Map()]));
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
      for (let i = 0; i < 4000; i++) {
        const id = below(300);
        const pick = below(10);
        if (pick < 7) {
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
      await using run = await startSink(sinkPlugin.createTask(), config());
      let most = 0;
      for (let from = 0; from < records.length; from += 400) {
        await run.task.put([await batchOf(records.slice(from, from + 400), from)]);
        most = Math.max(most, await connections());
      }
      await run.task.preCommit!(new Map());
      for (const [table, rows] of expected) {
        const found = await target.rows(`select id, v, parent from ${table} order by id`);
        assert.deepEqual(
          found.map(r => [Number(r.id), r.v, Number(r.parent)]),
          [...rows.values()].sort((a, b) => a[0] - b[0]),
          table,
        );
      }
      assert.deepEqual(run.errants, []);
      assert.equal(most, 4);
    });

    it('takes one connection, and one transaction at a time, with commit.order=source', async () => {
      await target.client.query('create table ordered (id bigint primary key, v text, parent bigint)');
      await makeSlow('ordered');
      await using run = await startSink(sinkPlugin.createTask(), config({ 'commit.order': 'source' }));
      for (let round = 0; round < 12; round++) {
        const rows = Array.from({ length: 400 }, (_, i) => event('ordered', 'c', [round * 400 + i, 'x', 0]));
        await run.task.put([await batchOf(rows, round * 400)]);
        // Readers see the records up to one of them, and none behind it.
        const [seen] = await target.rows('select count(*) as n, coalesce(max(id), -1) as top from ordered');
        assert.equal(Number(seen!.n), Number(seen!.top) + 1);
        assert.equal(await connections(), 1);
      }
    });
  });
}
