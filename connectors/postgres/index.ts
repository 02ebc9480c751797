/** PostgreSQL: the change data source and the sink. */
import type { Plugin } from '../../runtime/api/index.ts';
import { sinkPlugin } from './sink/index.ts';
import { sourcePlugin } from './source/connector.ts';

export const plugins: readonly Plugin[] = [sourcePlugin, sinkPlugin];
