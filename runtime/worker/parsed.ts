import { type Config, type ConfigDef, type ConfigKeys, type ConfigValues, ConnectError } from '../api/index.ts';

/** The values of a config; throws CONFIG_INVALID with every error. */
export function parsed<K extends ConfigKeys>(def: ConfigDef<K>, config: Config): ConfigValues<K> {
  const { values, errors } = def.parse(config);
  if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(error => error.message).join('\n'));
  return values;
}
