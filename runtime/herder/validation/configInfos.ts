/** The REST API's shapes of configuration keys and values, made from ConfigDefs. */
import { type ConfigKey, type ConfigKeys, parseKey } from '../../api/configDef.ts';
import type { Config } from '../../api/connector.ts';

export interface ConfigKeyInfo {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly default_value: string | null;
  readonly importance: string;
  readonly documentation: string;
  readonly group: string | null;
  readonly order_in_group: number;
  readonly width: string;
  readonly display_name: string;
  readonly dependents: readonly string[];
}

export interface ConfigValueInfo {
  readonly name: string;
  value: string | null;
  recommended_values: readonly string[];
  errors: string[];
  readonly visible: boolean;
}

export interface ConfigInfo {
  readonly definition: ConfigKeyInfo | null;
  readonly value: ConfigValueInfo;
}

export interface ConfigInfos {
  readonly name: string;
  readonly error_count: number;
  readonly groups: readonly string[];
  readonly configs: readonly ConfigInfo[];
}

export function keyInfo(name: string, key: ConfigKey): ConfigKeyInfo {
  return {
    name,
    type: key.type,
    required: key.default === undefined,
    default_value: defaultText(key),
    importance: key.importance,
    documentation: key.documentation,
    group: key.group ?? null,
    order_in_group: key.orderInGroup ?? -1,
    width: key.width ?? 'NONE',
    display_name: key.displayName ?? name,
    dependents: key.dependents ?? [],
  };
}

function defaultText(key: ConfigKey): string | null {
  if (key.default === undefined || key.default === null) return null;
  return key.type === 'PASSWORD' ? '[hidden]' : String(key.default);
}

/** The value of a key in `config`, with the errors of this key alone. */
export function valueInfo(name: string, key: ConfigKey, config: Config): ConfigValueInfo {
  const raw = [name, ...(key.aliases ?? [])].map(n => config[n]).find(value => value !== undefined);
  const result = parseKey(name, key, raw);
  const errors = 'error' in result ? [result.error] : [];
  return {
    name,
    value: valueText(name, key, raw),
    recommended_values: key.recommendedValues ?? [],
    errors,
    visible: true,
  };
}

/** What was given, or the default; null where it is not of the key's type. */
function valueText(name: string, key: ConfigKey, raw: string | undefined): string | null {
  if (raw === undefined) return defaultText(key);
  const typed = parseKey(name, { type: key.type, importance: 'LOW', documentation: '' }, raw);
  if ('error' in typed) return null;
  return key.type === 'PASSWORD' ? '[hidden]' : String(typed.value);
}

/** One entry per key; keys of ours only where they are set. */
export function configInfos(keys: ConfigKeys, config: Config): ConfigInfo[] {
  return Object.entries(keys)
    .filter(([name, key]) => !key.internal || config[name] !== undefined)
    .map(([name, key]) => ({ definition: keyInfo(name, key), value: valueInfo(name, key, config) }));
}

export function summary(name: string, configs: readonly ConfigInfo[]): ConfigInfos {
  const groups = new Set(configs.map(config => config.definition?.group ?? null));
  return {
    name,
    error_count: configs.reduce((count, config) => count + config.value.errors.length, 0),
    groups: [...groups].filter(group => group !== null),
    configs,
  };
}
