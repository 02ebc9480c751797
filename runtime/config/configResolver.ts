/**
 * Replaces `${provider:[path:]key}` in config values by what the config providers of `config.providers` give. Placeholders of unknown providers,
 * and keys that a provider does not have, stay as they are, as in Kafka. Resolved configs are used, never stored or shown.
 */

import { ConnectError } from '../../schemas/errors.ts';
import type { Config } from '../api/connector.ts';
import type { ConfigProvider, ConfigProviderPlugin } from '../api/transform.ts';
import { type WorkerConfig, withPrefix } from './workerConfig.ts';

const placeholder = /\$\{([^}:]+):(?:([^}]*):)?([^}:]*)\}/g;

export class ConfigResolver {
  readonly #providers: ReadonlyMap<string, ConfigProvider>;

  private constructor(providers: ReadonlyMap<string, ConfigProvider>) {
    this.#providers = providers;
  }

  /** Rejects with CONFIG_INVALID for a provider without a class, or of an unknown one. */
  static async create(
    worker: Pick<WorkerConfig, 'config.providers' | 'raw'>,
    load: (className: string) => Promise<ConfigProviderPlugin | undefined>,
  ): Promise<ConfigResolver> {
    const providers = new Map<string, ConfigProvider>();
    for (const name of worker['config.providers']) {
      const prefix = `config.providers.${name}.`;
      const className = worker.raw[`${prefix}class`];
      const plugin = className === undefined ? undefined : await load(className);
      if (plugin === undefined) {
        const problem = className === undefined ? `${prefix}class is missing` : `class ${className} could not be found`;
        throw new ConnectError('CONFIG_INVALID', `config provider ${name} cannot be set up: ${problem}`);
      }
      const provider = plugin.create();
      provider.configure(withPrefix(worker.raw, `${prefix}param.`));
      providers.set(name, provider);
    }
    return new ConfigResolver(providers);
  }

  async resolve(config: Config): Promise<Config> {
    return (await this.resolveWithTtl(config)).config;
  }

  /** `ttlMs`: how long the values hold, the shortest of what providers say; null = for good. */
  async resolveWithTtl(config: Config): Promise<{ readonly config: Config; readonly ttlMs: number | null }> {
    const wanted = this.#references(config);
    if (wanted.size === 0) return { config, ttlMs: null };
    const found = new Map<string, ReadonlyMap<string, string>>();
    const ttls: number[] = [];
    for (const [id, { provider, path, keys }] of wanted) {
      const { values, ttlMs } = await this.#providers.get(provider)!.get(path, [...keys]);
      found.set(id, values);
      if (ttlMs !== undefined) ttls.push(ttlMs);
    }
    const resolved = Object.fromEntries(
      Object.entries(config).map(([name, value]) => [
        name,
        value.replace(
          placeholder,
          (text, provider: string, path: string | undefined, key: string) =>
            found.get(`${provider}:${path ?? ''}`)?.get(key) ?? text,
        ),
      ]),
    );
    return { config: resolved, ttlMs: ttls.length === 0 ? null : Math.min(...ttls) };
  }

  #references(config: Config): Map<string, { provider: string; path: string; keys: Set<string> }> {
    const wanted = new Map<string, { provider: string; path: string; keys: Set<string> }>();
    for (const value of Object.values(config)) {
      for (const [, provider, path = '', key] of value.matchAll(placeholder)) {
        if (!this.#providers.has(provider!)) continue;
        const id = `${provider}:${path}`;
        let entry = wanted.get(id);
        if (entry === undefined) wanted.set(id, (entry = { provider: provider!, path, keys: new Set() }));
        entry.keys.add(key!);
      }
    }
    return wanted;
  }

  async close(): Promise<void> {
    for (const provider of this.#providers.values()) await provider.close?.();
  }
}

/** Puts the placeholders back where a generated config repeats a resolved value of the connector's own config. */
export function withPlaceholders(generated: Config, raw: Config, resolved: Config): Config {
  return Object.fromEntries(
    Object.entries(generated).map(([key, value]) => [
      key,
      raw[key] !== undefined && raw[key] !== resolved[key] && resolved[key] === value ? raw[key] : value,
    ]),
  );
}
