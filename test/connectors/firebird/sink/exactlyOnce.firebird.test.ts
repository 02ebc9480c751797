/** delivery.guarantee=exactly-once: rows without a key show every repeat. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../../../runtime/api/index.ts';
import { flat, flatBatch } from '../../../contract/flatRecords.ts';
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
  });
}
