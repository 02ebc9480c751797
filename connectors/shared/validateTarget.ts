import type { Config, ConfigDef, ConfigError, ConfigKeys, ConfigValues, SinkPlugin } from '../../runtime/api/index.ts';

/**
 * The validation of a sink: what is wrong with its configuration, and only where nothing is, what its target says. Errors of single values are the worker's to
 * tell.
 */
export function validateTarget<K extends ConfigKeys>(
  def: ConfigDef<K>,
  checkConfig: (config: Config) => readonly ConfigError[],
  checkTarget: (values: ConfigValues<K>, config: Config) => Promise<readonly ConfigError[]>,
): NonNullable<SinkPlugin['validate']> {
  return async config => {
    const { values, errors } = def.parse(config);
    const keys = new Set(errors.map(e => e.key));
    const found = checkConfig(config).filter(e => !keys.has(e.key));
    return found.length > 0 || errors.length > 0 ? found : checkTarget(values, config);
  };
}
