/** The orders of the shared tests in a MySQL or MariaDB database. */
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import { type Orders, ordersOn } from '../../../contract/flatRecords.ts';
import { type MysqlTarget, openMysqlTarget } from './mysqlTarget.ts';

export type OrdersTarget = Orders<MysqlTarget>;

export async function openOrders(server: string): Promise<OrdersTarget> {
  return ordersOn(await openMysqlTarget(server), () => sinkPlugin.createTask());
}
