/** MySQL and MariaDB: the change data sources. */
import type { Plugin } from '../../runtime/api/index.ts';
import { mariadbSourcePlugin, mysqlSourcePlugin } from './source/connector.ts';

export const plugins: readonly Plugin[] = [mysqlSourcePlugin, mariadbSourcePlugin];
