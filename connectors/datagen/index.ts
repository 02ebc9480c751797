/** DatagenSource: generated rows, for demos and load tests. */
import type { Plugin } from '../../runtime/api/index.ts';
import { datagenConfig } from './config.ts';
import { DatagenSourceConnector, DatagenSourceTask } from './datagenSource.ts';

export const plugins: readonly Plugin[] = [
  {
    kind: 'source',
    className: 'millrace.DatagenSource',
    aliases: [],
    version: '0.1.0',
    configDef: datagenConfig,
    createConnector: () => new DatagenSourceConnector(),
    createTask: () => new DatagenSourceTask(),
  },
];
