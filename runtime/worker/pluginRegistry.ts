/**
 * The plugins a worker knows. Plugins are found by full class name, alias, simple name, or simple name without `Connector`, from what is declared of them;
 * a module is imported when one of its plugins is to run or to show its keys. Every task thread knows the same modules, so that a name means the same everywhere.
 */
import { ConnectError, type Plugin, type PluginModule } from '../api/index.ts';
import { nearestName } from '../api/nearName.ts';

export type PluginKind = Plugin['kind'];
export type PluginOf<K extends PluginKind> = Extract<Plugin, { kind: K }>;
export type ConnectorPlugin = PluginOf<'source'> | PluginOf<'sink'>;

/** What is known of a plugin before its module is loaded. Plain data: it crosses threads. */
export interface PluginDeclaration<K extends PluginKind = PluginKind> {
  readonly kind: K;
  readonly className: string;
  readonly aliases: readonly string[];
  readonly version: string;
}

/** `url`: of a module that exports `plugins`, those that are declared and no others. */
export interface DeclaredModule {
  readonly url: string;
  readonly plugins: readonly PluginDeclaration[];
}

interface Entry {
  readonly declaration: PluginDeclaration;
  readonly module: DeclaredModule;
}

export class PluginRegistry {
  readonly #modules: DeclaredModule[] = [];
  readonly #byName = new Map<string, Entry>();

  /** A module that is given by its URL alone is imported at once, to learn what is in it. Rejects with PLUGIN_MODULE_INVALID. */
  static async open(modules: readonly (DeclaredModule | string)[]): Promise<PluginRegistry> {
    const registry = new PluginRegistry();
    for (const module of modules) registry.#add(typeof module === 'string' ? await declareModule(module) : module);
    return registry;
  }

  /** Of two plugins of one kind that answer to the same name, the first keeps it. */
  #add(module: DeclaredModule): void {
    this.#modules.push(module);
    for (const declaration of module.plugins) {
      for (const name of namesOf(declaration)) {
        const key = `${kindGroup(declaration.kind)} ${name}`;
        if (!this.#byName.has(key)) this.#byName.set(key, { declaration, module });
      }
    }
  }

  /** To open another registry like this one. */
  get modules(): readonly DeclaredModule[] {
    return this.#modules;
  }

  all(): readonly PluginDeclaration[] {
    return this.#modules.flatMap(module => module.plugins);
  }

  /** The plugin of one of `kinds` that answers to `name`. */
  find<K extends PluginKind>(name: string, ...kinds: readonly K[]): PluginDeclaration<K> | undefined {
    return this.#entry(name, kinds)?.declaration as PluginDeclaration<K> | undefined;
  }

  /** The same, loaded. Rejects with PLUGIN_MODULE_INVALID where that cannot be done. */
  async loadIfFound<K extends PluginKind>(name: string, ...kinds: readonly K[]): Promise<PluginOf<K> | undefined> {
    const entry = this.#entry(name, kinds);
    return entry === undefined ? undefined : ((await loaded(entry)) as PluginOf<K>);
  }

  /** Rejects with PLUGIN_NOT_FOUND, in Kafka Connect's words. */
  async load<K extends PluginKind>(name: string, ...kinds: readonly K[]): Promise<PluginOf<K>> {
    const plugin = await this.loadIfFound(name, ...kinds);
    if (plugin === undefined) throw new ConnectError('PLUGIN_NOT_FOUND', `Class ${name} could not be found.`);
    return plugin;
  }

  /** Throws PLUGIN_NOT_FOUND with the connectors that there are. */
  connector(name: string): PluginDeclaration<'source' | 'sink'> {
    const found = this.find(name, 'source', 'sink');
    if (found !== undefined) return found;
    const connectors = this.all().filter(p => p.kind === 'source' || p.kind === 'sink');
    const available = connectors.map(p => p.className).join(', ');
    const meant = nearestName(
      connectors.flatMap(p => [...namesOf(p)]),
      name.trim(),
    );
    throw new ConnectError(
      'PLUGIN_NOT_FOUND',
      `Failed to find any class that implements Connector and which name matches ${name}, available connectors are: ${available}${meant === undefined ? '' : `. ${meant} is probably meant`}`,
    );
  }

  async loadConnector(name: string): Promise<ConnectorPlugin> {
    return this.load(this.connector(name).className, 'source', 'sink');
  }

  #entry(name: string, kinds: readonly PluginKind[]): Entry | undefined {
    for (const kind of kinds) {
      const entry = this.#byName.get(`${kindGroup(kind)} ${name.trim()}`);
      if (entry !== undefined && kinds.includes(entry.declaration.kind)) return entry;
    }
    return undefined;
  }
}

/** Sources and sinks share one space of names: `connector.class` does not say which it is. */
export function kindGroup(kind: PluginKind): string {
  return kind === 'source' || kind === 'sink' ? 'connector' : kind;
}

/** Every name a plugin answers to. */
function namesOf({ kind, className, aliases }: PluginDeclaration): Set<string> {
  const names = new Set<string>();
  const full = [className, ...aliases];
  for (const name of full) names.add(name);
  for (const name of full) {
    const simple = name.slice(name.lastIndexOf('.') + 1);
    names.add(simple);
    if (kind === 'source' || kind === 'sink') names.add(simple.replace(/Connector$/, ''));
  }
  return names;
}

/** Imports a module and says what is in it. Rejects with PLUGIN_MODULE_INVALID. */
export async function declareModule(url: string): Promise<DeclaredModule> {
  const { plugins } = await importModule(url);
  for (const plugin of plugins) checkShape(plugin, url);
  return {
    url,
    plugins: plugins.map(({ kind, className, aliases, version }) => ({ kind, className, aliases, version })),
  };
}

const creators: Readonly<Record<PluginKind, readonly string[]>> = {
  source: ['createConnector', 'createTask'],
  sink: ['createConnector', 'createTask'],
  converter: ['create'],
  header_converter: ['create'],
  transformation: ['create'],
  predicate: ['create'],
  config_provider: ['create'],
};

/** Others write plugins in plain JavaScript. */
function checkShape(plugin: unknown, url: string): void {
  const given = (plugin ?? {}) as Readonly<Record<string, unknown>>;
  const { kind, className } = given;
  const invalid = (why: string): ConnectError =>
    new ConnectError('PLUGIN_MODULE_INVALID', `Plugin module ${url}: ${why}`);
  if (typeof className !== 'string' || className === '') throw invalid('a plugin has no className');
  if (typeof kind !== 'string' || !Object.hasOwn(creators, kind)) {
    const known = Object.keys(creators).join(', ');
    throw invalid(`the kind of ${className} is ${JSON.stringify(kind)}; it must be one of ${known}`);
  }
  if (typeof given.version !== 'string') throw invalid(`${className} has no version, such as '1.0.0'`);
  if (!Array.isArray(given.aliases)) throw invalid(`${className} has no list named aliases; it may be empty`);
  if (typeof (given.configDef as { parse?: unknown } | undefined)?.parse !== 'function') {
    throw invalid(`${className} has no configDef; make one by configDef({…})`);
  }
  const missing = creators[kind as PluginKind].find(name => typeof given[name] !== 'function');
  if (missing !== undefined) throw invalid(`${className} has no function ${missing}, which a ${kind} needs`);
}

async function loaded({ declaration, module }: Entry): Promise<Plugin> {
  const { plugins } = await importModule(module.url);
  const { kind, className } = declaration;
  const plugin = plugins.find(p => p.kind === kind && p.className === className);
  if (plugin === undefined) {
    throw new ConnectError('PLUGIN_MODULE_INVALID', `Plugin module ${module.url} has no ${kind} ${className}`);
  }
  return plugin;
}

function hint(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' ? '. Run npm install in the folder of its package' : '';
}

async function importModule(url: string): Promise<PluginModule> {
  let module: Partial<PluginModule>;
  try {
    module = (await import(url)) as Partial<PluginModule>;
  } catch (error) {
    throw new ConnectError(
      'PLUGIN_MODULE_INVALID',
      `Plugin module ${url} cannot be loaded: ${String(error)}${hint(error)}`,
      {
        cause: error,
      },
    );
  }
  if (!Array.isArray(module.plugins)) {
    throw new ConnectError('PLUGIN_MODULE_INVALID', `Plugin module ${url} does not export a list named "plugins"`);
  }
  return module as PluginModule;
}
