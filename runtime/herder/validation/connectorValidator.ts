/**
 * Checks connector configs, for validate requests and before a connector is created or changed: the common keys, the plugin's own, those of
 * transforms, predicates and converters, and what the plugin itself says. Values of config providers are checked resolved and shown unresolved.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { ConfigKey, ConfigKeys } from '../../api/configDef.ts';
import type { Config, ConfigError } from '../../api/index.ts';
import type { ConfigResolver } from '../../config/configResolver.ts';
import { sinkConnectorDef, sourceConnectorDef } from '../../config/connectorKeys.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import { refusedOverrides, sinkGroupId } from '../../worker/clientSettings.ts';
import type { ConnectorPlugin, PluginRegistry } from '../../worker/pluginRegistry.ts';
import { type ConfigInfo, type ConfigInfos, type ConfigKeyInfo, configInfos, keyInfo, summary } from './configInfos.ts';
import { exactlyOnceErrors } from './exactlyOnceErrors.ts';
import { classCheck, classNames, nestedInfos } from './nestedKeys.ts';
import { startErrors } from './startErrors.ts';
import { unknownKeys } from './unknownKeys.ts';

export class ConnectorValidator {
  readonly #worker: WorkerConfig;
  readonly #plugins: PluginRegistry;
  readonly #resolver: ConfigResolver;

  constructor(worker: WorkerConfig, plugins: PluginRegistry, resolver: ConfigResolver) {
    this.#worker = worker;
    this.#plugins = plugins;
    this.#resolver = resolver;
  }

  /** Rejects with CONFIG_INVALID or PLUGIN_NOT_FOUND where there is no class to ask. */
  async validate(raw: Config): Promise<ConfigInfos> {
    const plugin = await this.#plugin(raw);
    const config = await this.#resolver.resolve(raw);
    const common = configInfos(this.#commonKeys(plugin), config);
    const own = configInfos(ownKeys(plugin), config);
    const infos = [...common, ...own, ...(await nestedInfos(config, this.#plugins))];
    complainOfNull(common);
    const errors = [...this.#crossErrors(plugin, config), ...(plugin.validateKeys?.(config) ?? [])];
    if (plugin.kind === 'source') errors.push(...exactlyOnceErrors(plugin, config, common, this.#worker));
    if (own.every(info => info.value.errors.length === 0)) errors.push(...((await plugin.validate?.(config)) ?? []));
    if (infos.every(info => info.value.errors.length === 0))
      errors.push(...(await startErrors(plugin, config, this.#worker, this.#plugins)));
    for (const error of errors) addError(infos, error, config);
    for (const info of infos) hideResolved(info, raw, config);
    return summary(raw['connector.class']!, infos);
  }

  /** The plugin that `connector.class` names. */
  async #plugin(config: Config): Promise<ConnectorPlugin> {
    const className = config['connector.class'];
    if (className === undefined || className === '') {
      throw new ConnectError('CONFIG_INVALID', 'Connector config contains no connector type');
    }
    return this.#plugins.loadConnector(className);
  }

  /** Throws CONFIG_INVALID with every error, in Kafka Connect's words. */
  async requireValid(raw: Config): Promise<void> {
    const { error_count: count, configs } = await this.validate(raw);
    if (count === 0) return;
    const lines = configs.flatMap(config => config.value.errors);
    throw new ConnectError(
      'CONFIG_INVALID',
      [
        `Connector configuration is invalid and contains the following ${count} error(s):`,
        ...lines,
        'You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`',
      ].join('\n'),
    );
  }

  /** Keys of a config that nothing reads. */
  async unknownKeys(config: Config): Promise<readonly string[]> {
    return unknownKeys(await this.#plugin(config), config, this.#plugins);
  }

  /** The keys of any plugin, by name; connectors' own come first. */
  async pluginKeys(name: string): Promise<readonly ConfigKeyInfo[]> {
    const plugin = await this.#plugins.loadIfFound(
      name,
      'source',
      'sink',
      'converter',
      'header_converter',
      'transformation',
      'predicate',
    );
    if (plugin === undefined) throw new ConnectError('RESOURCE_UNKNOWN', `Unknown plugin ${name}.`);
    const isConnector = plugin.kind === 'source' || plugin.kind === 'sink';
    const keys = isConnector ? { ...ownKeys(plugin), ...this.#commonKeys(plugin) } : plugin.configDef.keys;
    return Object.entries<ConfigKey>(keys)
      .filter(([, key]) => !key.internal)
      .map(([key, definition]) => keyInfo(key, definition));
  }

  /** The common keys with this worker's defaults and plugins. */
  #commonKeys(plugin: ConnectorPlugin): ConfigKeys {
    const keys: Record<string, ConfigKey> = {
      ...(plugin.kind === 'source' ? sourceConnectorDef : sinkConnectorDef).keys,
    };
    keys['connector.plugin.version'] = versionKey(keys['connector.plugin.version']!, plugin.version);
    for (const role of ['key.converter', 'value.converter', 'header.converter'] as const) {
      const kind = role === 'header.converter' ? 'header_converter' : 'converter';
      const className = this.#worker[role];
      keys[role] = {
        ...keys[role]!,
        default: className,
        recommendedValues: classNames(kind, this.#plugins),
        check: classCheck(kind, this.#plugins),
      };
      const version = this.#plugins.find(className, kind)?.version ?? null;
      keys[`${role}.plugin.version`] = versionKey(keys[`${role}.plugin.version`]!, version);
    }
    return keys;
  }

  #crossErrors(plugin: ConnectorPlugin, config: Config): ConfigError[] {
    const errors = refusedOverrides(config, this.#worker);
    if (plugin.kind === 'source') return errors;
    const topics = (config.topics ?? '').trim() !== '';
    const pattern = (config['topics.regex'] ?? '').trim() !== '';
    if (topics === pattern) {
      const message = topics
        ? 'topics and topics.regex are mutually exclusive options, but both are set.'
        : 'Must configure one of topics or topics.regex';
      errors.push({ key: 'topics', message }, { key: 'topics.regex', message });
    }
    const name = config.name ?? '';
    const group = this.#worker['group.id'];
    if (name !== '' && sinkGroupId(name, config) === group) {
      errors.push({
        key: 'name',
        message: `Consumer group for sink connector named ${name} conflicts with Connect worker group ${group}`,
      });
    }
    return errors;
  }
}

/** A plugin that defines a common key itself refines it; it is listed once, among the common ones. */
function ownKeys(plugin: ConnectorPlugin): ConfigKeys {
  const common: ConfigKeys = plugin.kind === 'source' ? sourceConnectorDef.keys : sinkConnectorDef.keys;
  return Object.fromEntries(Object.entries(plugin.configDef.keys).filter(([key]) => !Object.hasOwn(common, key)));
}

function versionKey(key: ConfigKey, version: string | null): ConfigKey {
  if (version === null) return key;
  return { ...key, default: version, recommendedValues: [version], oneOf: [version] };
}

/** Kafka's range checks also complain of the null that an unparsable number leaves. */
function complainOfNull(infos: readonly ConfigInfo[]): void {
  for (const { definition, value } of infos) {
    if (definition?.name === 'tasks.max' && value.value === null) {
      value.errors.push('Invalid value null for configuration tasks.max: Value must be non-null');
    }
  }
}

function addError(infos: ConfigInfo[], error: ConfigError, config: Config): void {
  const info = infos.find(candidate => candidate.value.name === error.key);
  if (info !== undefined) {
    if (!info.value.errors.includes(error.message)) info.value.errors.push(error.message);
    return;
  }
  const value = config[error.key] ?? null;
  infos.push({
    definition: null,
    value: { name: error.key, value, recommended_values: [], errors: [error.message], visible: true },
  });
}

function hideResolved({ value }: ConfigInfo, raw: Config, resolved: Config): void {
  const given = raw[value.name];
  if (given !== undefined && given !== resolved[value.name]) {
    value.value = given;
    value.recommended_values = [];
    if (value.errors.length > 0) {
      value.errors = [
        `Invalid value for configuration '${value.name}': the value resolved from the config provider reference failed validation`,
      ];
    }
  }
  // An unknown class is no value of its type.
  if (value.errors.some(text => text.endsWith('could not be found.'))) value.value = null;
}
