/** Firebird: the replication journal as a source. */
import type { Plugin } from '../../runtime/api/index.ts';
import { sourcePlugin } from './source/connector.ts';

export const plugins: readonly Plugin[] = [sourcePlugin];
