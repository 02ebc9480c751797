import { collisionContract } from '../../../contract/collisionContract.ts';
import { openOrders } from './orders.ts';

collisionContract('PostgreSQL', openOrders);
