/**
 * The worker's configuration: typed values of all worker keys under their names, with what follows from them. Plain data, so that it can be
 * given to a task thread. `raw` holds every key as text, for the prefixes that are passed on (`producer.*`, `key.converter.*` …).
 */
import type { ConfigValues } from '../api/configDef.ts';
import type { Config } from '../api/connector.ts';
import type { BrokerSettings } from '../broker/port.ts';
import type { workerKeys } from './workerKeys.ts';

/** `rest`: `config` has `schema.registry.url` (absent if none was configured) and the client's other settings, by Confluent's names. */
export type RegistrySettings =
  | { readonly kind: 'rest'; readonly config: Config }
  | { readonly kind: 'embedded'; readonly dataDir: string };

export type WorkerConfig = Omit<
  ConfigValues<typeof workerKeys>,
  'config.storage.topic' | 'offset.storage.topic' | 'status.storage.topic'
> & {
  readonly 'config.storage.topic': string;
  readonly 'offset.storage.topic': string;
  readonly 'status.storage.topic': string;
  readonly raw: Config;
  readonly broker: BrokerSettings;
  readonly registry: RegistrySettings;
};

/** Entries of `config` whose key begins with `prefix`, without it. */
export function withPrefix(config: Config, prefix: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key.startsWith(prefix) && key.length > prefix.length) found[key.slice(prefix.length)] = value;
  }
  return found;
}
