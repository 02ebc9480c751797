/**
 * Configuration definitions in Kafka's terms: one list of keys gives parsing, validation answers of the REST API, help and documentation.
 * `parse` gives typed values; error texts are those of Kafka's ConfigDef.
 */
import type { Config } from './connector.ts';

export type ConfigType = 'BOOLEAN' | 'STRING' | 'INT' | 'SHORT' | 'LONG' | 'DOUBLE' | 'LIST' | 'CLASS' | 'PASSWORD';

export interface ConfigKey {
  readonly type: ConfigType;
  /** Absent = required. null = optional without a value. */
  readonly default?: string | number | boolean | readonly string[] | null;
  readonly importance: 'HIGH' | 'MEDIUM' | 'LOW';
  readonly documentation: string;
  readonly group?: string | null;
  readonly orderInGroup?: number;
  readonly width?: 'NONE' | 'SHORT' | 'MEDIUM' | 'LONG';
  readonly displayName?: string;
  readonly dependents?: readonly string[];
  readonly recommendedValues?: readonly string[];
  /** The values allowed; compared without case for STRING where `ignoreCase` is set. */
  readonly oneOf?: readonly string[];
  readonly ignoreCase?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** Further check of the parsed, non-null value: an error text (what Kafka puts after the colon) or null. */
  readonly check?: (value: never) => string | null;
  /** Other names under which the key is accepted, such as Debezium's for Confluent's. */
  readonly aliases?: readonly string[];
  /** Not shown by the REST API. */
  readonly internal?: boolean;
}

export type ConfigKeys = Readonly<Record<string, ConfigKey>>;

/** A secret: prints as [hidden]. */
export class Password {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return '[hidden]';
  }
  toJSON(): string {
    return '[hidden]';
  }
}

interface ValueOf {
  BOOLEAN: boolean;
  STRING: string;
  INT: number;
  SHORT: number;
  LONG: number;
  DOUBLE: number;
  LIST: readonly string[];
  CLASS: string;
  PASSWORD: Password;
}
export type ConfigValues<K extends ConfigKeys> = {
  readonly [N in keyof K]: K[N] extends { readonly default: null }
    ? ValueOf[K[N]['type']] | null
    : ValueOf[K[N]['type']];
};

export interface ConfigError {
  readonly key: string;
  /** Complete text, as Kafka words it. */
  readonly message: string;
}

export interface ConfigDef<K extends ConfigKeys = ConfigKeys> {
  readonly keys: K;
  /** The values that could be parsed, and every error. Keys not defined are ignored. */
  parse(config: Config): { readonly values: ConfigValues<K>; readonly errors: readonly ConfigError[] };
}

export function configDef<const K extends ConfigKeys>(keys: K): ConfigDef<K> {
  return {
    keys,
    parse(config) {
      const values: Record<string, unknown> = {};
      const errors: ConfigError[] = [];
      for (const [name, key] of Object.entries(keys)) {
        const raw = [name, ...(key.aliases ?? [])].map(n => config[n]).find(v => v !== undefined);
        const result = parseKey(name, key, raw);
        if ('error' in result) errors.push({ key: name, message: result.error });
        else values[name] = result.value;
      }
      return { values: values as ConfigValues<K>, errors };
    },
  };
}

const invalid = (value: unknown, name: string, why: string): { error: string } => ({
  error: `Invalid value ${value === null ? 'null' : String(value)} for configuration ${name}: ${why}`,
});

/** Where a message does not say itself that there is nothing. */
const visible = (text: string): string => (text.trim() === '' ? `"${text}"` : text);

/** Parses one value; `raw` undefined = not given. */
export function parseKey(
  name: string,
  key: ConfigKey,
  raw: string | null | undefined,
): { value: unknown } | { error: string } {
  if (raw === undefined || raw === null) {
    if (key.default === undefined)
      return { error: `Missing required configuration "${name}" which has no default value.` };
    if (key.type === 'PASSWORD' && typeof key.default === 'string') return { value: new Password(key.default) };
    return { value: key.default };
  }
  const shown = key.type === 'PASSWORD' ? '[hidden]' : raw;
  const parsed = parseText(key.type, raw);
  if (parsed === undefined) return invalid(visible(shown), name, typeComplaint(key.type));
  if (typeof parsed === 'number') {
    if (key.min !== undefined && parsed < key.min) return invalid(shown, name, `Value must be at least ${key.min}`);
    if (key.max !== undefined && parsed > key.max) return invalid(shown, name, `Value must be no more than ${key.max}`);
  }
  if (key.oneOf && typeof parsed === 'string') {
    const same = (a: string): boolean => (key.ignoreCase ? a.toLowerCase() === parsed.toLowerCase() : a === parsed);
    const match = key.oneOf.find(same);
    if (match === undefined) return invalid(visible(shown), name, `String must be one of: ${key.oneOf.join(', ')}`);
    return { value: match };
  }
  const complaint = key.check ? key.check(parsed as never) : null;
  if (complaint !== null) return invalid(shown, name, complaint);
  return { value: parsed };
}

const limits: Partial<Record<ConfigType, number>> = { INT: 2 ** 31, SHORT: 2 ** 15, LONG: 2 ** 63 };

function parseText(type: ConfigType, raw: string): unknown {
  const text = raw.trim();
  switch (type) {
    case 'STRING':
    case 'CLASS':
      return text;
    case 'PASSWORD':
      return new Password(raw);
    case 'BOOLEAN':
      return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : undefined;
    case 'LIST':
      return text === '' ? [] : text.split(/\s*,\s*/);
    case 'DOUBLE': {
      const value = Number(text);
      return text === '' || Number.isNaN(value) ? undefined : value;
    }
    default: {
      const value = Number(text);
      const limit = limits[type]!;
      return /^[+-]?\d+$/.test(text) && value < limit && value >= -limit ? value : undefined;
    }
  }
}

function typeComplaint(type: ConfigType): string {
  return type === 'BOOLEAN' ? 'Expected value to be either true or false' : `Not a number of type ${type}`;
}
