/**
 * Resolves the configs of the parts of one connector, notes the secrets in them, and asks the config providers again when the time is over for which they
 * gave their values. A part is started anew only where a value has changed. `config.action.reload=none` switches this off.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigKeys, Logger } from '../../api/index.ts';
import type { ConfigResolver } from '../../config/configResolver.ts';
import { type SecretMask, secretsOf } from '../../config/secretMask.ts';
import type { PluginRegistry } from '../../worker/pluginRegistry.ts';

export interface ConfigReloadOptions {
  readonly connector: string;
  readonly resolver: ConfigResolver;
  readonly plugins: PluginRegistry;
  readonly secrets: SecretMask;
  /** In line with all else that happens to the connector. */
  readonly enqueue: (job: () => Promise<void>) => Promise<void>;
  readonly logger: Logger;
}

interface Resolved {
  readonly configs: readonly Config[];
  /** null = the values hold for good. */
  readonly ttlMs: number | null;
}

interface Running {
  readonly configs: readonly Config[];
  readonly resolved: readonly Config[];
  readonly restart: () => Promise<void>;
}

/** A provider that cannot be asked is asked again; what runs goes on with the values it has. */
const retryMs = 60_000;
/** What a timer can wait; beyond, the providers are asked before their time. */
const maxTimerMs = 2 ** 31 - 1;

export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
  }

  /** `part`: a name for messages, one for each thing that is started by itself. The first of `configs` is the connector's. */
  async resolve(part: string, configs: readonly Config[], restart: () => Promise<void>): Promise<readonly Config[]> {
    this.cancel(part);
    const { configs: resolved, ttlMs } = await this.#resolved(configs);
    await this.#noteSecrets(configs[0]!, resolved[0]!);
    const action = resolved[0]!['config.action.reload'] ?? 'restart';
    if (ttlMs !== null && action.toLowerCase() === 'restart') {
      this.#schedule(part, ttlMs, { configs, resolved, restart });
    }
    return resolved;
  }

  cancel(part: string): void {
    clearTimeout(this.#timers.get(part));
    this.#timers.delete(part);
  }

  close(): void {
    for (const part of [...this.#timers.keys()]) this.cancel(part);
  }

  #schedule(part: string, delayMs: number, running: Running): void {
    const timer = setTimeout(
      () => {
        void this.#options.enqueue(async () => {
          // Cancelled, or started anew, while it waited for its turn.
          if (this.#timers.get(part) === timer) await this.#reload(part, running);
        });
      },
      Math.min(Math.max(delayMs, 1), maxTimerMs),
    );
    timer.unref();
    this.#timers.set(part, timer);
  }

  async #reload(part: string, running: Running): Promise<void> {
    const { connector, logger } = this.#options;
    this.#timers.delete(part);
    let now: Resolved;
    try {
      now = await this.#resolved(running.configs);
    } catch (error) {
      const message = `config providers cannot be asked for new values; ${part} of connector ${connector} goes on with those it has`;
      logger.warn({ err: error, connector, retryMs }, message);
      this.#schedule(part, retryMs, running);
      return;
    }
    if (isDeepStrictEqual(now.configs, running.resolved)) {
      if (now.ttlMs !== null) this.#schedule(part, now.ttlMs, running);
      return;
    }
    logger.info({ connector }, `${part} of connector ${connector} is restarted: a config provider has new values`);
    await running.restart();
  }

  /** Logs and traces must not show them, whatever fails. */
  async #noteSecrets(raw: Config, resolved: Config): Promise<void> {
    const { connector, plugins, secrets } = this.#options;
    const { configDef } = await plugins.loadConnector(resolved['connector.class'] ?? '');
    const keys: ConfigKeys = configDef.keys;
    secrets.set(
      connector,
      secretsOf(raw, resolved, key => keys[key]?.type === 'PASSWORD'),
    );
  }

  async #resolved(configs: readonly Config[]): Promise<Resolved> {
    const all = await Promise.all(configs.map(config => this.#options.resolver.resolveWithTtl(config)));
    const ttls = all.flatMap(({ ttlMs }) => ttlMs ?? []);
    return { configs: all.map(({ config }) => config), ttlMs: ttls.length === 0 ? null : Math.min(...ttls) };
  }
}
