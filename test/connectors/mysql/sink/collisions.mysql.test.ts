import { collisionContract } from '../../../contract/collisionContract.ts';
import { servers } from './mysqlTarget.ts';
import { openOrders } from './orders.ts';

for (const [name, server] of servers) collisionContract(name, () => openOrders(server));
