import { type Config, type ConfigDef, type ConfigKeys, type ConfigValues, ConnectError } from '../api/index.ts';

/** Parses a transform's settings; throws CONFIG_INVALID with every error. */
export function settings<K extends ConfigKeys>(def: ConfigDef<K>, config: Config): ConfigValues<K> {
  const { values, errors } = def.parse(config);
  if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(error => error.message).join('; '));
  return values;
}

/** Kafka's key `replace.null.with.default`: whether a null in a field with a default reads as the default. */
export const replaceNullWithDefault = {
  type: 'BOOLEAN',
  default: true,
  importance: 'MEDIUM',
  documentation: 'Whether a null in a field that has a default value is read as that default.',
} as const;

/** A name that is absent by default. */
export const optionalName = (documentation: string) =>
  ({ type: 'STRING', default: null, importance: 'MEDIUM', documentation }) as const;
