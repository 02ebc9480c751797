/** delivery.guarantee=exactly-once: rows without a key show every repeat. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sinkPlugin } from '../../../../connectors/firebird/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { flat, flatBatch, topic } from '../../../contract/flatRecords.ts';
import type { FirebirdVersion } from '../../../services/localFirebird.ts';
import { type OrdersTarget, openOrders } from './ordersTarget.ts';

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  describe(`exactly once: Firebird ${version}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(version);
    });
    after(() => orders[Symbol.asyncDispose]());

    const create = (): Promise<string> => orders.create('ID bigint, NOTE varchar(20)');
    const config = (table: string, extra: Config = {}): Config => ({
      'table.name.format': table,
      'delivery.guarantee': 'exactly-once',
      'exactly.once.offsets.table': `OFFSETS_OF_${table}`,
      'retry.backoff.ms': '5',
      ...extra,
    });
    const records = (from: number, to: number) =>
      flatBatch(
        Array.from({ length: to - from }, (_, i) => flat(BigInt(from + i), 'x')),
        from,
      );
    const ids = async (table: string): Promise<number[]> =>
      (await orders.query(`select ID from ${table} order by 1`)).map(row => Number(row.ID));
    const upTo = (end: number): number[] => Array.from({ length: end }, (_, i) => i);

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

    it('writes each record once, though its connections are cut at any moment and tasks end hard', async () => {
      const table = await create();
      const began = performance.now();
      await using first = await orders.start(config(table));
      await first.deliver(await records(0, 100));
      const quietMs = performance.now() - began;
      let [retries, end, cuts] = [0, 100, 0];
      // On until a cut met a write. One for each delivery, so that it comes to an end however slow the machine is.
      for (let round = 0; round < 4 || (retries === 0 && round < 50); round++) {
        await using run = await orders.start(config(table, { 'batch.size': '60' }));
        // What was delivered before is delivered again.
        for (let from = end - 100; from <= end; from += 100) {
          const cutting = delay((quietMs * (cuts++ % 8)) / 8).then(() => orders.cut());
          await run.task.put([await records(from, from + 100)]);
          if (round % 2 === 1) await run.task.preCommit!(new Map());
          await cutting;
        }
        end += 100;
        retries += run.counts.get('retries') ?? 0;
        await run.abort();
      }
      await using last = await orders.start(config(table));
      await last.deliver(await records(0, end));
      assert.ok(retries > 0);
      assert.deepEqual(await ids(table), upTo(end));
    });

    it('keeps the offset behind records that give no rows, and takes the one that REST sets', async () => {
      const table = await create();
      const offset = async () =>
        (await orders.query(`select NEXT_OFFSET from OFFSETS_OF_${table}`)).map(row => String(row.NEXT_OFFSET));
      await using run = await orders.start(config(table));
      await run.deliver(await records(0, 5));
      await run.task.preCommit!(new Map([[{ topic, partition: 0 }, 9]]));
      assert.deepEqual(await offset(), ['9']);
      await run.abort();
      const connector = sinkPlugin.createConnector();
      const alter = { ...orders.connection, ...config(table), name: 'sink-under-test' };
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
