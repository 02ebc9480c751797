/** Rows that another row stands in the way of, in every SQL sink: held back until rows to come have cleared it, while no offset passes them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TopicPartition } from '../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, Struct, struct } from '../../schemas/data/index.ts';
import { flat, flatSchema, keySchema, type Orders, topic, upsert } from './flatRecords.ts';
import { plainSinkBatch, type TestRecord } from './sinkBatches.ts';
import { type SinkRun, settled } from './sinkHarness.ts';

export function collisionContract(name: string, open: () => Promise<Orders>): void {
  describe(`collisions: ${name}`, () => {
    let orders: Orders;
    before(async () => {
      orders = await open();
    });
    after(() => orders[Symbol.asyncDispose]());

    /** Topics have other names than those that were read, as transforms give them; offsets are about these. */
    const put = (
      run: SinkRun,
      records: readonly TestRecord[],
      firstOffset: number,
      of = topic,
      schema = flatSchema,
    ) => {
      const names = { topic: of, originalTopic: `read.${of}` };
      return run.task.put([plainSinkBatch({ ...names, firstOffset, keySchema, valueSchema: schema }, records)]);
    };
    const partition: TopicPartition = { topic: `read.${topic}`, partition: 0 };
    /** What may be committed of `orders`, where `position` is the next offset. */
    const safe = async (run: SinkRun, position: number): Promise<number> => {
      return (await run.task.preCommit!(new Map([[partition, position]]))).get(partition)!;
    };
    const remove = (id: bigint): TestRecord => ({ key: new Struct(keySchema, [id]), value: null });
    const notes = async (table: string): Promise<string[]> =>
      (await orders.rows(table, 'id, note')).map(r => `${r.id} ${r.note}`);

    it('comes to the same rows over any replay, although unique values have moved on', async () => {
      const table = await orders.create('id bigint primary key, note varchar(20) unique');
      const rows = new Map<bigint, string | null>();
      const records: TestRecord[] = [];
      const write = (id: bigint, note: string | null): void => {
        rows.set(id, note);
        records.push(flat(id, note));
      };
      const below = (n: number): number => Math.floor(Math.random() * n);
      while (records.length < 1000) {
        const id = BigInt(below(40));
        const note = `v${below(20)}`;
        const owner = [...rows].find(([, value]) => value === note)?.[0];
        if (below(10) === 0 && rows.delete(id)) records.push(remove(id));
        else {
          if (owner !== undefined && owner !== id) write(owner, below(2) === 0 ? null : `own${owner}`);
          write(id, note);
        }
      }
      let held = 0;
      // Once more from the start where chance brought no collision: the rows are those of the end then.
      for (let pass = 0; held === 0 && pass < 5; pass++) {
        let committed = 0;
        for (let offset = 0; offset < records.length; ) {
          await using run = await orders.start({ ...upsert(table), 'batch.size': '20' });
          // The task ends some time after its last commit.
          const end = Math.min(records.length, committed + 100 + below(400));
          for (offset = committed; offset < end; ) {
            const to = Math.min(end, offset + 1 + below(30));
            await put(run, records.slice(offset, to), offset);
            offset = to;
            if (below(6) === 0) committed = await safe(run, offset);
          }
          held += run.counts.get('rows_held_back') ?? 0;
          if (offset === records.length) await settled(run, partition, offset);
          assert.deepEqual(run.errants, []);
        }
      }
      assert.ok(held > 0, 'no replay met a value that had moved on');
      const sorted = [...rows].sort(([a], [b]) => Number(a - b));
      assert.deepEqual(
        await notes(table),
        sorted.map(([id, note]) => `${id} ${note}`),
      );
    });

    it('holds a child until its parent comes in another topic, and no offset passes it', async () => {
      const parent = await orders.create('id bigint primary key, note text');
      const child = await orders.create(
        `id bigint primary key, note text, parent bigint, foreign key (parent) references ${parent} (id)`,
      );
      const childSchema = struct(
        [
          ['id', INT64],
          ['note', OPTIONAL_STRING],
          ['parent', INT64],
        ],
        { name: 'orders.Child' },
      );
      const childOf = (id: bigint, note: string, mother: bigint): TestRecord => ({
        key: new Struct(keySchema, [id]),
        value: new Struct(childSchema, [id, note, mother]),
      });
      await using run = await orders.start({
        ...upsert('${topic}'),
        'topics.to.tables.mapping': `${topic}:${child},parents:${parent}`,
      });
      const children = [childOf(1n, 'a', 7n), childOf(2n, 'b', 8n), childOf(1n, 'c', 7n)];
      await put(run, children, 0, topic, childSchema);
      assert.equal(await safe(run, 3), 0);
      await put(run, [flat(8n, 'p')], 0, 'parents');
      assert.equal(await safe(run, 3), 0);
      assert.deepEqual(await notes(child), ['2 b']);
      await put(run, [flat(7n, 'p')], 1, 'parents');
      assert.equal(await safe(run, 3), 3);
      assert.deepEqual(await notes(child), ['1 c', '2 b']);
      // The parent goes first: it waits for its children to go.
      await put(run, [remove(7n)], 2, 'parents');
      await put(run, [remove(1n)], 3, topic, childSchema);
      assert.equal(await safe(run, 4), 4);
      assert.deepEqual(await notes(parent), ['8 p']);
      assert.deepEqual(run.errants, []);
    });

    it('reports a row that nothing makes room for, after refused.hold.ms; later rows of its key follow', async () => {
      const table = await orders.create('id bigint primary key, note varchar(20) unique');
      await orders.target.execute(`insert into ${table} values (99, 'taken')`);
      await using run = await orders.start({ ...upsert(table), 'refused.hold.ms': '300' }, { tolerate: true });
      await put(run, [flat(1n, 'first'), flat(2n, 'taken')], 0);
      assert.equal(await safe(run, 2), 1);
      assert.equal(run.errants.length, 0);
      const deadline = Date.now() + 10_000;
      while (run.errants.length === 0) {
        assert.ok(Date.now() < deadline, 'the row was not reported');
        await run.task.put([]);
        await new Promise(resolve => setTimeout(resolve, 20));
      }
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code]),
        [[1, 'SINK_RECORD_REJECTED']],
      );
      await put(run, [flat(2n, 'free')], 2);
      assert.equal(await safe(run, 3), 3);
      assert.deepEqual(await notes(table), ['1 first', '2 free', '99 taken']);
    });
  });
}
