/** Over several connections, in every SQL sink: the rows are those of one after the other, whatever constraints the tables have, and a slow target is used by all of them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Config, SinkTask } from '../../runtime/api/index.ts';
import { type ParallelRow, parallelBatch, parallelEvent } from './parallelRecords.ts';
import type { TestRecord } from './sinkBatches.ts';
import { settled, startSink } from './sinkHarness.ts';
import type { SqlTarget } from './sqlTarget.ts';

export interface ParallelSubject {
  readonly target: SqlTarget;
  createTask(): SinkTask;
  /** Has writes to the table take a while, so that one connection is not enough. */
  makeSlow(table: string): Promise<unknown>;
  /** Whether a table with further unique indexes is spread over connections too. */
  readonly spreadsUniqueValues: boolean;
  /** Of the sink that runs. */
  connections(): Promise<number>;
}

export const parallelConfig: Config = {
  'insert.mode': 'upsert',
  'pk.mode': 'record_key',
  'delete.enabled': 'true',
  'table.name.format': '${source.table}',
  'batch.size': '200',
};

const tables = {
  plain: 'v text, parent bigint',
  uniq: 'v varchar(20) unique, parent bigint',
  mother: 'v text, parent bigint',
  child: 'v text, parent bigint, foreign key (parent) references mother (id)',
} as const;
type Table = keyof typeof tables;

export function parallelContract(name: string, open: () => Promise<ParallelSubject>): void {
  describe(`parallel apply: ${name}`, () => {
    let subject: ParallelSubject;
    before(async () => {
      subject = await open();
    });
    after(() => subject.target[Symbol.asyncDispose]());
    const start = (extra: Config = {}) =>
      startSink(subject.createTask(), { ...subject.target.connection, ...parallelConfig, ...extra });

    it('comes to the same rows as one after the other, with unique values and foreign keys among them', async () => {
      for (const [table, columns] of Object.entries(tables)) {
        await subject.target.execute(`create table ${table} (id bigint primary key, ${columns})`);
        await subject.makeSlow(table);
      }
      const { records, expected } = randomChanges(5000);
      await using run = await start();
      let most = 0;
      for (let from = 0; from < records.length; from += 400) {
        await run.task.put([await parallelBatch(records.slice(from, from + 400), from)]);
        most = Math.max(most, await subject.connections());
      }
      await settled(run, { topic: 'parallel', partition: 0 }, records.length);
      for (const [table, rows] of expected) {
        const found = await subject.target.rows(`select id, v, parent from ${table} order by id`);
        assert.deepEqual(
          found.map(r => [Number(r.id), r.v, Number(r.parent)]),
          [...rows.values()].sort((a, b) => a[0] - b[0]),
          table,
        );
      }
      assert.deepEqual(run.errants, []);
      assert.equal(most, 4);
    });

    it('comes to the same rows where the values of a unique index go from one row to another', async () => {
      await subject.target.execute('create table swap (id bigint primary key, v varchar(20) unique, parent bigint)');
      await subject.makeSlow('swap');
      await using run = await start();
      // Each value belongs to a row from before, of which the sink knows nothing, and goes on to the next row, in each pass once more.
      const count = 1000;
      const rows = Array.from({ length: count }, (_, id) => `(${id}, 'v${id}', 0)`);
      await subject.target.execute(`insert into swap values ${rows.join(', ')}`);
      const deadline = Date.now() + 20_000;
      let [most, offset, pass] = [0, 0, 0];
      do {
        pass++;
        for (let from = 0; from < count; from += 200) {
          const records = Array.from({ length: 200 }, (_, i) => from + i).flatMap(id => [
            parallelEvent('swap', 'u', [id, null, pass]),
            ...(id < pass ? [] : [parallelEvent('swap', 'u', [id, `v${id - pass}`, pass])]),
          ]);
          await run.task.put([await parallelBatch(records, offset)]);
          offset += records.length;
          most = Math.max(most, await subject.connections());
        }
      } while (subject.spreadsUniqueValues && most < 4 && Date.now() < deadline);
      const moved = async (): Promise<number> => {
        await run.task.put([]);
        await run.task.preCommit!(new Map());
        const found = await subject.target.rows('select id, v from swap');
        return found.filter(({ id, v }) => v === `v${Number(id) - pass}`).length;
      };
      while ((await moved()) < count - pass) assert.ok(Date.now() < deadline, 'not all values came to the next row');
      assert.deepEqual(run.errants, []);
      if (subject.spreadsUniqueValues) assert.equal(most, 4);
    });

    it('takes one connection, and one transaction at a time, with commit.order=source', async () => {
      await subject.target.execute('create table ordered (id bigint primary key, v text, parent bigint)');
      await subject.makeSlow('ordered');
      await using run = await start({ 'commit.order': 'source' });
      for (let round = 0; round < 25; round++) {
        const rows = Array.from({ length: 400 }, (_, i) => parallelEvent('ordered', 'c', [round * 400 + i, 'x', 0]));
        await run.task.put([await parallelBatch(rows, round * 400)]);
        // Readers see the records up to one of them, and none behind it.
        const [seen] = await subject.target.rows('select count(*) as n, coalesce(max(id), -1) as top from ordered');
        assert.equal(Number(seen!.n), Number(seen!.top) + 1);
        assert.equal(await subject.connections(), 1);
      }
      await run.task.preCommit!(new Map());
    });
  });
}

/** Events of all tables in an order that a source could have, and the rows they lead to. */
function randomChanges(count: number): { records: TestRecord[]; expected: Map<string, Map<number, ParallelRow>> } {
  const expected = new Map<Table, Map<number, ParallelRow>>(
    (Object.keys(tables) as Table[]).map(table => [table, new Map()]),
  );
  const records: TestRecord[] = [];
  const write = (table: Table, row: ParallelRow): void => {
    const rows = expected.get(table)!;
    records.push(parallelEvent(table, rows.has(row[0]) ? 'u' : 'c', row));
    rows.set(row[0], row);
  };
  const remove = (table: Table, id: number): void => {
    const row = expected.get(table)!.get(id);
    if (row === undefined) return;
    records.push(parallelEvent(table, 'd', row));
    expected.get(table)!.delete(id);
  };
  const below = (n: number): number => Math.floor(Math.random() * n);
  for (let i = 0; i < count; i++) {
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
      if (below(4) === 0) {
        const children = [...expected.get('child')!.values()].filter(row => row[2] === mother);
        for (const child of children) remove('child', child[0]);
        remove('mother', mother);
      } else {
        write('mother', [mother, `m${i}`, i]);
        write('child', [id, `c${i}`, mother]);
      }
    }
  }
  return { records, expected };
}
