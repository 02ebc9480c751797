/** Configuration of the PostgreSQL sink: the keys of all SQL sinks, where its target is, and how it is written to. */
import { type Config, type ConfigError, ConnectError, configDef } from '../../../runtime/api/index.ts';
import { checkSqlSinkConfig, type SqlSinkValues, sqlSinkKeys } from '../../shared/sqlSinkConfig.ts';
import { laneKeys } from '../../shared/sqlSinkLanes.ts';
import { type ConnectionKeys, connectionOptions } from './connection.ts';

const sinkKeys = { ...sqlSinkKeys, ...laneKeys };

export const sinkConfigDef = configDef(sinkKeys);

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config, Object.keys(laneKeys))];
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
