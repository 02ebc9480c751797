/** Configuration of the Firebird sink: the keys of all SQL sinks, and where its target is. */
import { type Config, type ConfigError, configDef } from '../../../runtime/api/index.ts';
import { checkSqlSinkConfig, type SqlSinkValues, sqlSinkKeys } from '../../shared/sqlSinkConfig.ts';
import type { FirebirdAddress } from '../connection.ts';

export const sinkConfigDef = configDef(sqlSinkKeys);

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config)];
  if (values['connection.url'] === undefined) return found;
  try {
    targetAddress(values);
  } catch (error) {
    const message = `Invalid value for configuration connection.url: ${(error as Error).message}`;
    found.push({ key: 'connection.url', message });
  }
  return found;
}

/** `firebird://user:password@host:port/path` or `jdbc:firebirdsql://host:port/path`: an absolute path begins with a slash of its own (`//data/x.fdb`), an alias does not. */
export function targetAddress(values: SqlSinkValues): FirebirdAddress {
  const text = values['connection.url'].replace(/^jdbc:(firebirdsql|firebird):/i, 'firebird:');
  if (!/^firebird:\/\//i.test(text)) throw new RangeError('it is not firebird://host:port/database');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new RangeError('it is no URL of the form firebird://host:port/database');
  }
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === '') throw new RangeError('it names no database');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 3050 : Number(url.port),
    database,
    user: values['connection.user'] ?? (decodeURIComponent(url.username) || 'SYSDBA'),
    password: values['connection.password']?.reveal() ?? decodeURIComponent(url.password),
    role: url.searchParams.get('role'),
  };
}
