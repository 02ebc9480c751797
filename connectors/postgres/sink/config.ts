/** Configuration of the PostgreSQL sink: the keys of all SQL sinks, and where its target is. */
import { type Config, type ConfigError, ConnectError, configDef } from '../../../runtime/api/index.ts';
import { checkSqlSinkConfig, sqlSinkKeys } from '../../shared/sqlSinkConfig.ts';
import { connectionOptions } from './connection.ts';

export const sinkConfigDef = configDef(sqlSinkKeys);

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config)];
  if (values['connection.url'] === undefined) return found;
  try {
    connectionOptions({ url: values['connection.url'], user: null, password: null });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    found.push({ key: 'connection.url', message: error.message });
  }
  return found;
}
