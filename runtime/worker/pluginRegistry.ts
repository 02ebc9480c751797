/**
 * The plugins a worker knows, loaded from module URLs. Plugins are found by full class name, alias, simple name, or simple name without
 * `Connector`. Every task thread loads the same modules, so that a name means the same everywhere.
 */
import { ConnectError, type Plugin, type PluginModule } from '../api/index.ts';

export type PluginKind = Plugin['kind'];
export type PluginOf<K extends PluginKind> = Extract<Plugin, { kind: K }>;
export type ConnectorPlugin = PluginOf<'source'> | PluginOf<'sink'>;

export class PluginRegistry {
  readonly #plugins: Plugin[] = [];
  readonly #byName = new Map<string, Plugin>();

  static async load(moduleUrls: readonly string[]): Promise<PluginRegistry> {
    const registry = new PluginRegistry();
    for (const url of moduleUrls) registry.add((await importModule(url)).plugins);
    return registry;
  }

  /** Of two plugins of one kind that answer to the same name, the first keeps it. */
  add(plugins: readonly Plugin[]): void {
    for (const plugin of plugins) {
      this.#plugins.push(plugin);
      for (const name of namesOf(plugin)) {
        const key = `${kindGroup(plugin.kind)} ${name}`;
        if (!this.#byName.has(key)) this.#byName.set(key, plugin);
      }
    }
  }

  all(): readonly Plugin[] {
    return this.#plugins;
  }

  /** The plugin of one of `kinds` that answers to `name`. */
  find<K extends PluginKind>(name: string, ...kinds: readonly K[]): PluginOf<K> | undefined {
    for (const kind of kinds) {
      const plugin = this.#byName.get(`${kindGroup(kind)} ${name.trim()}`);
      if (plugin !== undefined && (kinds as readonly string[]).includes(plugin.kind)) return plugin as PluginOf<K>;
    }
    return undefined;
  }

  /** Rejects with PLUGIN_NOT_FOUND, in Kafka Connect's words. */
  require<K extends PluginKind>(name: string, ...kinds: readonly K[]): PluginOf<K> {
    const plugin = this.find(name, ...kinds);
    if (plugin === undefined) throw new ConnectError('PLUGIN_NOT_FOUND', `Class ${name} could not be found.`);
    return plugin;
  }

  connector(name: string): ConnectorPlugin {
    const plugin = this.find(name, 'source', 'sink');
    if (plugin !== undefined) return plugin;
    const available = this.#plugins
      .filter(p => p.kind === 'source' || p.kind === 'sink')
      .map(p => p.className)
      .join(', ');
    throw new ConnectError(
      'PLUGIN_NOT_FOUND',
      `Failed to find any class that implements Connector and which name matches ${name}, available connectors are: ${available}`,
    );
  }
}

/** Sources and sinks share one space of names: `connector.class` does not say which it is. */
function kindGroup(kind: PluginKind): string {
  return kind === 'source' || kind === 'sink' ? 'connector' : kind;
}

/** Every name a plugin answers to. */
export function namesOf(plugin: Plugin): Set<string> {
  const names = new Set<string>();
  const full = [plugin.className, ...plugin.aliases];
  for (const name of full) names.add(name);
  for (const name of full) {
    const simple = name.slice(name.lastIndexOf('.') + 1);
    names.add(simple);
    if (plugin.kind === 'source' || plugin.kind === 'sink') names.add(simple.replace(/Connector$/, ''));
  }
  return names;
}

async function importModule(url: string): Promise<PluginModule> {
  let module: Partial<PluginModule>;
  try {
    module = (await import(url)) as Partial<PluginModule>;
  } catch (error) {
    throw new ConnectError('PLUGIN_MODULE_INVALID', `Plugin module ${url} cannot be loaded: ${String(error)}`, {
      cause: error,
    });
  }
  if (!Array.isArray(module.plugins)) {
    throw new ConnectError('PLUGIN_MODULE_INVALID', `Plugin module ${url} does not export a list named "plugins"`);
  }
  return module as PluginModule;
}
