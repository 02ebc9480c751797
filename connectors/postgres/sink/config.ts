/** Configuration of the PostgreSQL sink: the keys of all SQL sinks, where its target is, and how it is written to. */
import {
  type Config,
  type ConfigError,
  type ConfigKeys,
  type ConfigValues,
  ConnectError,
  configDef,
} from '../../../runtime/api/index.ts';
import { checkSqlSinkConfig, type SqlSinkValues, sqlSinkKeys } from '../../shared/sqlSinkConfig.ts';
import { splitName } from '../../shared/tableName.ts';
import { type ConnectionKeys, connectionOptions } from './connection.ts';
import { OffsetLedger } from './offsetLedger.ts';

const postgresKeys = {
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
  'session.replication.role': {
    type: 'STRING',
    default: null,
    oneOf: ['origin', 'replica', 'local'],
    ignoreCase: true,
    importance: 'LOW',
    documentation:
      'session_replication_role of the connections. replica: triggers and foreign keys of the target are neither run nor checked, as for a subscription; needs the right to set it.',
    group: 'Writes',
    orderInGroup: 11,
  },
} as const satisfies ConfigKeys;

const sinkKeys = { ...sqlSinkKeys, ...postgresKeys };
type SinkValues = ConfigValues<typeof sinkKeys>;

export const sinkConfigDef = configDef(sinkKeys);

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config, Object.keys(postgresKeys))];
  if (values['connection.url'] === undefined) return found;
  try {
    connectionOptions({ url: values['connection.url'], user: null, password: null });
  } catch (error) {
    // A certificate file that cannot be read says so itself.
    const message = error instanceof ConnectError ? error.message : `connection.url: ${(error as Error).message}`;
    found.push({ key: 'connection.url', message });
  }
  return found;
}

export const connectionKeys = (values: SqlSinkValues): ConnectionKeys => ({
  url: values['connection.url'],
  user: values['connection.user'],
  password: values['connection.password']?.reveal() ?? null,
});

/** Connections that write at the same time. With exactly-once all rows up to an offset are in one transaction with it. */
export const laneCount = (values: SinkValues): number =>
  values['commit.order'] === 'source' || isExactlyOnce(values) ? 1 : values.connections;

const isExactlyOnce = (values: SinkValues): boolean => values['delivery.guarantee'] === 'exactly-once';

/** null = at least once. */
export const exactlyOnceLedger = (values: SinkValues, connectorName: string): OffsetLedger | null =>
  isExactlyOnce(values) ? new OffsetLedger(connectorName, splitName(values['exactly.once.offsets.table'])) : null;
