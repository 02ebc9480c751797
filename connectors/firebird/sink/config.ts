/** Configuration of the Firebird sink: the keys of all SQL sinks, where its target is, and whether the offsets are kept there. */
import { type Config, type ConfigError, type ConfigValues, configDef } from '../../../runtime/api/index.ts';
import { checkSqlSinkConfig, type SqlSinkValues, sqlSinkKeys } from '../../shared/sqlSinkConfig.ts';
import { deliveryKeys } from '../../shared/sqlSinkDelivery.ts';
import { splitName } from '../../shared/tableName.ts';
import type { FirebirdAddress } from '../connection.ts';
import { OffsetStore } from './offsetStore.ts';

/** One connection writes: of delivery there is only the guarantee to choose. */
const exactlyOnceKeys = {
  'delivery.guarantee': {
    ...deliveryKeys['delivery.guarantee'],
    documentation:
      'exactly-once: the offsets are kept in a table of the target and written in the transaction of the rows, so that no record is ever applied twice, whatever is killed.',
  },
  'exactly.once.offsets.table': {
    ...deliveryKeys['exactly.once.offsets.table'],
    documentation: 'The table for those offsets. It is created where it is missing.',
  },
} as const;
const sinkKeys = { ...sqlSinkKeys, ...exactlyOnceKeys };
type SinkValues = ConfigValues<typeof sinkKeys>;

export const sinkConfigDef = configDef(sinkKeys);

/** null = at least once. */
export const offsetStore = (values: SinkValues, connectorName: string): OffsetStore | null =>
  values['delivery.guarantee'].toLowerCase() === 'exactly-once'
    ? new OffsetStore(connectorName, splitName(values['exactly.once.offsets.table']))
    : null;

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...checkSqlSinkConfig(config, Object.keys(exactlyOnceKeys))];
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
