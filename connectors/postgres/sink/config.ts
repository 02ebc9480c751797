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
import { type ConnectionKeys, connectionOptions } from './connection.ts';

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

/** Connections that write at the same time. */
export const laneCount = (values: SinkValues): number => (values['commit.order'] === 'source' ? 1 : values.connections);
