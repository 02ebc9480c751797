/** delivery.guarantee=exactly-once: rows without a key show every repeat. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { flat, flatBatch, topic } from '../../../contract/flatRecords.ts';
import { servers } from './mysqlTarget.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

for (const [name, server] of servers) {
  describe(`exactly once: ${name}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(server);
    });
    after(() => orders[Symbol.asyncDispose]());

    const create = () => orders.create('id bigint, note text');
    const config = (table: string, extra: Config = {}): Config => ({
      'table.name.format': table,
      'delivery.guarantee': 'exactly-once',
      'exactly.once.offsets.table': `offsets_of_${table}`,
      'retry.backoff.ms': '5',
      ...extra,
    });
    const records = (from: number, to: number) =>
      flatBatch(
        Array.from({ length: to - from }, (_, i) => flat(BigInt(from + i), 'x')),
        from,
      );
    const ids = async (table: string): Promise<number[]> =>
      (await orders.rows(table, 'id, note')).map(r => Number(r.id));
    const upTo = (end: number): number[] => Array.from({ length: end }, (_, i) => i);

    it('writes each record once, though its connections are killed at any moment and tasks end hard', async () => {
      const table = await create();
      const kill = async (): Promise<void> => {
        const others = await orders.target.rows(
          'select id from information_schema.processlist where db = database() and id <> connection_id()',
        );
        for (const { id } of others)
          await orders.target.client.query(`kill ${Number(id)}`).catch((error: { errno?: number }) => {
            if (error.errno !== 1094) throw error; // it has ended by itself
          });
      };
      let isDone = false;
      const killing = (async () => {
        for (let i = 0; !isDone; i++) {
          await kill();
          await orders.target.rows('select sleep(?)', [0.01 * (2 + (i % 8))]);
        }
      })();
      try {
        let retries = 0;
        // On until a kill met a write.
        for (let round = 0; round < 4 || (retries === 0 && round < 200); round++) {
          await using run = await orders.start(config(table, { 'batch.size': '60' }));
          // Whatever was delivered before is delivered again.
          for (let from = 0; from < 200 * Math.min(round + 1, 4); from += 200)
            await run.task.put([await records(from, from + 200)]);
          if (round % 2 === 1) await run.task.preCommit!(new Map());
          retries += run.counts.get('retries') ?? 0;
          await run.abort();
        }
        await using last = await orders.start(config(table));
        await last.deliver(await records(0, 800));
        assert.ok(retries > 0);
      } finally {
        isDone = true;
        await killing;
      }
      assert.deepEqual(await ids(table), upTo(800));
    });

    it('fences off a task whose partition another one took', async () => {
      const table = await create();
      await using first = await orders.start(config(table));
      await first.deliver(await records(0, 10));
      await using second = await orders.start(config(table));
      await second.deliver(await records(0, 20));
      await assert.rejects(first.deliver(await records(10, 20)), { code: 'SINK_FENCED', message: /orders-0/ });
      await second.deliver(await records(20, 30));
      assert.deepEqual(await ids(table), upTo(30));
    });

    it('keeps the offset behind records that give no rows, and takes the one that REST sets', async () => {
      const table = await create();
      const store = `offsets_of_${table}`;
      const offset = async () =>
        (await orders.target.rows(`select next_offset as o from ${store} where topic = ?`, [topic])).map(r => r.o);
      await using run = await orders.start(config(table));
      await run.deliver(await records(0, 5));
      await run.task.preCommit!(new Map([[{ topic, partition: 0 }, 9]]));
      assert.deepEqual(await offset(), ['9']);
      await run.abort();
      const connector = sinkPlugin.createConnector();
      const alter = { ...orders.target.connection, ...config(table), name: 'sink-under-test' };
      assert.equal(await connector.alterOffsets!(alter, [{ topic, partition: 0, offset: 3 }]), true);
      assert.deepEqual(await offset(), ['3']);
      await using again = await orders.start(config(table));
      await again.deliver(await records(0, 5));
      assert.deepEqual(await ids(table), [0, 1, 2, 3, 3, 4, 4]);
      await again.abort();
      await connector.alterOffsets!(alter, [{ topic, partition: 0, offset: null }]);
      await using anew = await orders.start(config(table));
      await anew.deliver(await records(0, 2));
      assert.deepEqual(await ids(table), [0, 0, 1, 1, 2, 3, 3, 4, 4]);
    });
  });
}
