/**
 * Builds the WorkerConfig from a file, the environment and flags (in rising precedence), checked by a convict schema made from the worker's keys.
 * Rejects with CONFIG_INVALID naming every bad key. Keys that mean nothing here come back in `ignored`, for one warning, and with them what is probably meant.
 */
import { resolve } from 'node:path';
import convict from 'convict';
import { ConnectError } from '../../schemas/errors.ts';
import { type ConfigKey, type ConfigValues, parseKey } from '../api/configDef.ts';
import type { Config } from '../api/connector.ts';
import { nearestName } from '../api/nearName.ts';
import type { BrokerSettings } from '../broker/port.ts';
import { type RegistrySettings, type WorkerConfig, withPrefix } from './workerConfig.ts';
import { workerConfigDef, workerKeys } from './workerKeys.ts';

export interface WorkerConfigSources {
  readonly file?: Config;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly flags?: Config;
}

export interface IgnoredKey {
  readonly key: string;
  /** The known key that it nearly is. */
  readonly meant: string | null;
}

export interface LoadedWorkerConfig {
  readonly config: WorkerConfig;
  readonly ignored: readonly IgnoredKey[];
}

export function loadWorkerConfig(sources: WorkerConfigSources): LoadedWorkerConfig {
  const file = sources.file ?? {};
  const environment = environmentConfig(sources.environment ?? {});
  const flags = sources.flags ?? {};
  const raw: Record<string, string> = { ...file, ...environment, ...flags };
  const checked = checkedTexts(file, environment, flags);
  Object.assign(raw, checked);
  const { values, errors } = workerConfigDef.parse(checked);
  if (errors.length > 0) throw invalid(errors.map(error => error.message));
  requireOwnSignature(values);
  const groupId = values['group.id'];
  const broker = brokerSettings(values, raw);
  const config: WorkerConfig = {
    ...values,
    'config.storage.topic': values['config.storage.topic'] ?? `${groupId}-configs`,
    'offset.storage.topic': values['offset.storage.topic'] ?? `${groupId}-offsets`,
    'status.storage.topic': values['status.storage.topic'] ?? `${groupId}-status`,
    raw,
    broker,
    registry: registrySettings(broker, raw),
  };
  return {
    config,
    ignored: Object.keys({ ...file, ...flags })
      .filter(key => !isMeaningful(key))
      .sort()
      .map(key => ({ key, meant: nearestName(Object.keys(workerKeys), key) ?? null })),
  };
}

/** The known keys that are set, as texts, by precedence; convict checks each. */
function checkedTexts(file: Config, environment: Config, flags: Config): Record<string, string> {
  const known = (config: Config) => Object.entries(config).filter(([key]) => Object.hasOwn(workerKeys, key));
  const errors: string[] = [];
  const merged = convict(convictSchema(errors), { env: {}, args: [] });
  for (const layer of [file, environment, flags]) {
    for (const [key, value] of known(layer)) merged.set(key, value);
  }
  try {
    merged.validate({ allowed: 'strict' });
  } catch (error) {
    // Convict decorates our texts; they say it all.
    throw invalid(errors.length > 0 ? errors : [error instanceof Error ? error.message : String(error)]);
  }
  const texts: Record<string, string> = {};
  for (const key of Object.keys(workerKeys)) {
    const value: unknown = merged.get(key);
    if (typeof value === 'string') texts[key] = value;
  }
  return texts;
}

/**
 * Convict nests by the dots of a key; values stay texts, since the format check parses them as Kafka does. What the checks find is added to `errors`.
 */
function convictSchema(errors: string[]): convict.Schema<Record<string, unknown>> {
  const root: Record<string, unknown> = {};
  for (const [name, key] of Object.entries<ConfigKey>(workerKeys)) {
    const path = name.split('.');
    let node = root;
    for (const part of path.slice(0, -1)) node = (node[part] ??= {}) as Record<string, unknown>;
    node[path.at(-1)!] = { doc: key.documentation, default: defaultText(key), format: formatOf(name, key, errors) };
  }
  return root as convict.Schema<Record<string, unknown>>;
}

function defaultText(key: ConfigKey): string | null {
  return key.default === null || key.default === undefined ? null : String(key.default);
}

function formatOf(name: string, key: ConfigKey, errors: string[]): (value: unknown) => void {
  return value => {
    if (typeof value !== 'string') return;
    const result = parseKey(name, key, value);
    if (!('error' in result)) return;
    errors.push(result.error);
    throw new Error(result.error);
  };
}

/** Workers of a cluster have the same settings: this one must accept what it sends. */
function requireOwnSignature(values: ConfigValues<typeof workerKeys>): void {
  const own = values['inter.worker.signature.algorithm'];
  const accepted = values['inter.worker.verification.algorithms'];
  if (accepted.includes(own)) return;
  throw invalid([
    `Invalid value ${accepted.join(', ')} for configuration inter.worker.verification.algorithms: ${own}, which is inter.worker.signature.algorithm, is missing`,
  ]);
}

function invalid(messages: readonly string[]): ConnectError {
  return new ConnectError('CONFIG_INVALID', `the worker configuration is invalid: ${messages.join('; ')}`);
}

/** `CONNECT_GROUP_ID` = `group.id`; `__` = `_`, `___` = `-`: the spelling of the container images. */
export function environmentConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('CONNECT_') || value === undefined || name.startsWith('CONNECT_LOG4J')) continue;
    const key = name
      .slice('CONNECT_'.length)
      .toLowerCase()
      .replace(/_{1,3}/g, run => (run.length === 1 ? '.' : run.length === 2 ? '_' : '-'));
    config[key] = value;
  }
  return config;
}

/** Client settings of the worker that hold for every producer, consumer and admin client. */
const clientKey =
  /^(bootstrap\.servers$|security\.|ssl\.|sasl\.|client\.|request\.timeout\.ms$|retry\.|retries$|reconnect\.|connections\.|socket\.|metadata\.)/;
const passedOn =
  /^(producer|consumer|admin|key\.converter|value\.converter|header\.converter|config\.providers|(?:admin\.)?listeners\.https|config\.storage|offset\.storage|status\.storage|schema\.registry|basic\.auth|bearer\.auth|topic\.creation)\./;
/** Keys of the JVM worker under a prefix that is passed on, which still mean nothing here. */
const meaningless = /^offset\.storage\.file\.filename$/;

function isMeaningful(key: string): boolean {
  if (meaningless.test(key)) return false;
  return Object.hasOwn(workerKeys, key) || clientKey.test(key) || passedOn.test(key);
}

function brokerSettings(values: ConfigValues<typeof workerKeys>, raw: Config): BrokerSettings {
  if (values['bootstrap.servers'].length === 0) {
    const flush = values['data.flush'] === 'fsync' ? 'fsync' : 'os';
    return { kind: 'embedded', dataDir: resolve(values['data.dir']), flush };
  }
  return { kind: 'kafka', settings: Object.fromEntries(Object.entries(raw).filter(([key]) => clientKey.test(key))) };
}

const registryKey = /^(schema\.registry|basic\.auth|bearer\.auth)\./;

function registrySettings(broker: BrokerSettings, raw: Config): RegistrySettings {
  const url = raw['schema.registry.url'];
  if (broker.kind === 'embedded' && (url === undefined || url === '')) {
    return { kind: 'embedded', dataDir: broker.dataDir };
  }
  const ofRegistry = (config: Config): Record<string, string> =>
    Object.fromEntries(Object.entries(config).filter(([key]) => registryKey.test(key)));
  // Stock Confluent files name the registry for each converter only.
  const config = url
    ? ofRegistry(raw)
    : { ...ofRegistry(withPrefix(raw, 'key.converter.')), ...ofRegistry(withPrefix(raw, 'value.converter.')) };
  return { kind: 'rest', config };
}
