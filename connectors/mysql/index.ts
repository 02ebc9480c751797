/** MySQL and MariaDB: the change data sources and the sink. */
import type { Plugin } from '../../runtime/api/index.ts';
import { sinkPlugin } from './sink/index.ts';
import { mariadbSourcePlugin, mysqlSourcePlugin } from './source/connector.ts';

export const plugins: readonly Plugin[] = [mysqlSourcePlugin, mariadbSourcePlugin, sinkPlugin];
