/** MySQL and MariaDB: the sink. */
import type { Plugin } from '../../runtime/api/index.ts';
import { sinkPlugin } from './sink/index.ts';

export const plugins: readonly Plugin[] = [sinkPlugin];
