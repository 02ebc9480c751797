/** How SQL sinks deliver: over how many connections, in what order, and whether the offsets are kept in the target. */
import type { ConfigKeys, ConfigValues } from '../../runtime/api/index.ts';
import { splitName, type TableName } from './tableName.ts';

export const deliveryKeys = {
  connections: {
    type: 'INT',
    default: 4,
    min: 1,
    max: 100,
    importance: 'MEDIUM',
    documentation:
      'Over how many connections a task writes at the same time while the target holds it up; otherwise it takes one. Rows with one key, or one unique value, take the same connection; tables that foreign keys join take one for all their rows.',
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
  'delivery.guarantee': {
    type: 'STRING',
    default: 'at-least-once',
    oneOf: ['at-least-once', 'exactly-once'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'exactly-once: the offsets are kept in a table of the target and written in the transaction of the rows, so that no record is ever applied twice, whatever is killed. Each flush is one transaction; connections then has no effect.',
    group: 'Writes',
    orderInGroup: 9,
  },
  'exactly.once.offsets.table': {
    type: 'STRING',
    default: 'millrace_sink_offsets',
    importance: 'LOW',
    documentation: 'The table for those offsets, as table or schema.table. It is created where it is missing.',
    group: 'Writes',
    orderInGroup: 10,
  },
  'refused.hold.ms': {
    type: 'INT',
    default: 30_000,
    min: 0,
    importance: 'LOW',
    documentation:
      'How long a row is held back that the target refuses because of another one (a unique value, a foreign key), since rows to come may clear the way; 0 = not at all. Meanwhile other rows are written, and no offset behind it is committed. Not with exactly-once.',
    group: 'Writes',
    orderInGroup: 12,
  },
} as const satisfies ConfigKeys;

export type DeliveryValues = ConfigValues<typeof deliveryKeys>;

/** Connections that write at the same time. With exactly-once all rows up to an offset are in one transaction with it. */
export const laneCount = (values: DeliveryValues): number =>
  values['commit.order'].toLowerCase() === 'source' || offsetsTable(values) !== null ? 1 : values.connections;

/** Where the offsets of exactly-once delivery are; null = at least once. */
export const offsetsTable = (values: DeliveryValues): TableName | null =>
  values['delivery.guarantee'].toLowerCase() === 'exactly-once'
    ? splitName(values['exactly.once.offsets.table'])
    : null;
