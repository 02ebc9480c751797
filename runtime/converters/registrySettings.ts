/** Configuration of the schema registry client, under Confluent's keys (Apicurio's URL key as well). */
import { ConnectError } from '../../schemas/errors.ts';
import { RestRegistry, type RestRegistrySettings } from '../../schemas/registry/restRegistry.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import { type Config, type ConfigKeys, configDef } from '../api/index.ts';

export const registryKeys = {
  'schema.registry.url': {
    type: 'LIST',
    default: null,
    importance: 'HIGH',
    documentation:
      'URLs of the schema registry, separated by commas; tried in turn. Without it the registry of the worker is used.',
  },
  'apicurio.registry.url': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: "Apicurio's own API; its Confluent-compatible API beside it (/apis/ccompat/v7) is used.",
  },
  'basic.auth.credentials.source': {
    type: 'STRING',
    default: 'URL',
    oneOf: ['URL', 'USER_INFO'],
    importance: 'MEDIUM',
    documentation: 'Where user and password stand: in schema.registry.url, or in basic.auth.user.info.',
  },
  'basic.auth.user.info': {
    type: 'PASSWORD',
    default: null,
    importance: 'MEDIUM',
    documentation: 'user:password for the registry, with basic.auth.credentials.source=USER_INFO.',
    aliases: ['schema.registry.basic.auth.user.info'],
  },
  'bearer.auth.token': {
    type: 'PASSWORD',
    default: null,
    importance: 'LOW',
    documentation: 'Token for the registry, sent as bearer authentication.',
  },
  'normalize.schemas': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether the registry compares schemas in a normal form when registering and looking up.',
  },
  'max.retries': {
    type: 'INT',
    default: 3,
    min: 0,
    importance: 'LOW',
    documentation: 'How often a request is tried again while the registry does not answer or answers with 5xx.',
    aliases: ['retries'],
  },
  'retries.wait.ms': {
    type: 'INT',
    default: 1000,
    min: 0,
    importance: 'LOW',
    documentation: 'Wait before the first retry; doubled for each further one.',
  },
  'retries.max.wait.ms': {
    type: 'INT',
    default: 20000,
    min: 0,
    importance: 'LOW',
    documentation: 'Longest wait between retries.',
  },
  'http.read.timeout.ms': {
    type: 'INT',
    default: 60000,
    min: 1,
    importance: 'LOW',
    documentation: 'Time that one request may take.',
  },
} as const satisfies ConfigKeys;

const definition = configDef(registryKeys);

/** Settings from a config without prefix; null where it names no registry. Throws ConnectError CONFIG_INVALID. */
export function registrySettings(config: Config): RestRegistrySettings | null {
  const { values, errors } = definition.parse(config);
  if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
  const apicurio = values['apicurio.registry.url'];
  const urls = values['schema.registry.url'] ?? (apicurio === null ? [] : [ccompatUrl(apicurio)]);
  if (urls.length === 0) return null;
  for (const url of urls) {
    if (!URL.canParse(url) || !/^https?:/.test(url))
      throw new ConnectError(
        'CONFIG_INVALID',
        `Invalid value for configuration schema.registry.url: not an http(s) URL: ${url.replace(/\/\/[^/@]*@/, '//')}`,
      );
  }
  return {
    urls,
    userInfo: values['basic.auth.user.info']?.reveal() ?? null,
    bearerToken: values['bearer.auth.token']?.reveal() ?? null,
    normalizeSchemas: values['normalize.schemas'],
    maxRetries: values['max.retries'],
    retryWaitMs: values['retries.wait.ms'],
    retryMaxWaitMs: values['retries.max.wait.ms'],
    requestTimeoutMs: values['http.read.timeout.ms'],
  };
}

const ccompatUrl = (url: string): string =>
  url.replace(/\/apis\/registry\/v\d+\/?$/, '').replace(/\/+$/, '') +
  (url.includes('/apis/ccompat') ? '' : '/apis/ccompat/v7');

/** Clients by their settings, so that converters of many tasks share one and its cache. */
const clients = new Map<string, SchemaRegistry>();

/** The registry that a converter config names, or else the worker's. */
export function registryOf(config: Config, workerRegistry: () => SchemaRegistry): SchemaRegistry {
  const settings = registrySettings(config);
  if (settings === null) return workerRegistry();
  const key = JSON.stringify(settings);
  let client = clients.get(key);
  if (!client) clients.set(key, (client = new RestRegistry(settings)));
  return client;
}
