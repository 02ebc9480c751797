/** The `transforms` of a connector, in order, each behind its predicate. A transform that returns null drops the record. */
import { type Config, ConnectError, type ConnectRecord, type Predicate, type Transformation } from '../api/index.ts';
import type { PluginRegistry } from './pluginRegistry.ts';

interface Link {
  readonly className: string;
  readonly transformation: Transformation;
  readonly predicate: Predicate | null;
  readonly negate: boolean;
}

export class TransformChain {
  readonly #links: readonly Link[];
  readonly #predicates: readonly Predicate[];
  readonly #routes = new Map<string, string | null>();
  /** Class of the transform that ran last: where an error came from. */
  runningClass = '';

  private constructor(links: readonly Link[], predicates: readonly Predicate[]) {
    this.#links = links;
    this.#predicates = predicates;
  }

  /** null where the config has no transforms: records need not be made. */
  static async fromConfig(config: Config, plugins: PluginRegistry): Promise<TransformChain | null> {
    const names = list(config.transforms);
    if (names.length === 0) return null;
    const predicates = new Map<string, Predicate>();
    for (const name of list(config.predicates)) {
      const predicate = (await plugins.load(type(config, 'predicates', name), 'predicate')).create();
      predicate.configure(settingsOf(config, `predicates.${name}.`));
      predicates.set(name, predicate);
    }
    const links: Link[] = [];
    for (const name of names) {
      const plugin = await plugins.load(type(config, 'transforms', name), 'transformation');
      const transformation = plugin.create();
      const { predicate: predicateName, negate, ...settings } = settingsOf(config, `transforms.${name}.`);
      transformation.configure(settings);
      const predicate = predicateName === undefined ? null : predicates.get(predicateName);
      if (predicate === undefined) {
        throw invalid(`transforms.${name}.predicate`, `there is no predicate named ${predicateName} in "predicates"`);
      }
      links.push({ className: plugin.className, transformation, predicate, negate: /^true$/i.test(negate ?? '') });
    }
    return new TransformChain(links, [...predicates.values()]);
  }

  apply<R extends ConnectRecord>(record: R): R | null {
    let current: R | null = record;
    for (const link of this.#links) {
      this.runningClass = link.className;
      if (link.predicate !== null && link.predicate.test(current) === link.negate) continue;
      current = link.transformation.apply(current);
      if (current === null) return null;
    }
    return current;
  }

  /** What becomes of a topic whose records keep all else; null = each record has to be looked at. */
  route(topic: string): string | null {
    let routed = this.#routes.get(topic);
    if (routed === undefined) this.#routes.set(topic, (routed = this.#routed(topic)));
    return routed;
  }

  #routed(topic: string): string | null {
    for (const { transformation, predicate, negate } of this.#links) {
      if (predicate !== null) {
        const matches = predicate.testTopic?.(topic);
        if (matches === undefined) return null;
        if (matches === negate) continue;
      }
      const routed = transformation.route?.(topic);
      if (routed === undefined) return null;
      topic = routed;
    }
    return topic;
  }

  close(): void {
    for (const { transformation } of this.#links) transformation.close?.();
    for (const predicate of this.#predicates) predicate.close?.();
  }
}

const list = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(s => s.trim())
    .filter(s => s !== '');

function type(config: Config, group: 'transforms' | 'predicates', name: string): string {
  const value = config[`${group}.${name}.type`];
  if (value === undefined) throw invalid(`${group}.${name}.type`, `it names the class of "${name}" in ${group}`);
  return value;
}

function settingsOf(config: Config, prefix: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key.startsWith(prefix) && key !== `${prefix}type`) settings[key.slice(prefix.length)] = value;
  }
  return settings;
}

const invalid = (key: string, why: string): ConnectError =>
  new ConnectError('CONFIG_INVALID', `Missing or invalid configuration "${key}": ${why}`);
