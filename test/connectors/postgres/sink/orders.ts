/** The orders of the shared tests in a PostgreSQL database. */
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import { type Orders, ordersOn } from '../../../contract/flatRecords.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

export type OrdersTarget = Orders<PgTarget>;

export async function openOrders(server = servers[0]![1]): Promise<OrdersTarget> {
  return ordersOn(await openPgTarget(server), () => sinkPlugin.createTask(), 'id::int as id, note');
}
