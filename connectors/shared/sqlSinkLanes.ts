/** The configuration of sinks that can write over several connections at the same time. */
import type { ConfigKeys, ConfigValues } from '../../runtime/api/index.ts';

export const laneKeys = {
  connections: {
    type: 'INT',
    default: 4,
    min: 1,
    max: 100,
    importance: 'MEDIUM',
    documentation:
      'Over how many connections a task writes at the same time while the target holds it up; otherwise it takes one. Rows with one key take the same connection; tables with further unique indexes or foreign keys take one for all their rows.',
    group: 'Writes',
    orderInGroup: 7,
  },
  'commit.order': {
    type: 'STRING',
    default: 'key',
    oneOf: ['key', 'source'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'key: the changes of each key are committed in their order, and nothing is promised of different keys. source: each flush is one transaction, and they are committed in the order in which the task got the records; connections then has no effect.',
    group: 'Writes',
    orderInGroup: 8,
  },
} as const satisfies ConfigKeys;

/** Connections that write at the same time. */
export const laneCount = (values: ConfigValues<typeof laneKeys>): number =>
  values['commit.order'].toLowerCase() === 'source' ? 1 : values.connections;
