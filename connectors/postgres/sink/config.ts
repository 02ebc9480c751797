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
import { deliveryKeys, offsetsTable } from '../../shared/sqlSinkDelivery.ts';
import { type ConnectionKeys, connectionOptions } from './connection.ts';
import { OffsetStore } from './offsetStore.ts';

const postgresKeys = {
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
  'replication.origin': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'Replication origin that the changes of this sink have in the target, with the numbers of task and connection behind it. A source of the target with publish.origin=none leaves them out, so that two databases can follow each other.',
    group: 'Writes',
    orderInGroup: 13,
  },
} as const satisfies ConfigKeys;

const furtherKeys = { ...deliveryKeys, ...postgresKeys };
const sinkKeys = { ...sqlSinkKeys, ...furtherKeys };
type SinkValues = ConfigValues<typeof sinkKeys>;

export const sinkConfigDef = configDef(sinkKeys);

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config, Object.keys(furtherKeys))];
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

/** null = at least once. */
export function offsetStore(values: SinkValues, connectorName: string): OffsetStore | null {
  const table = offsetsTable(values);
  return table === null ? null : new OffsetStore(connectorName, table);
}
