/** The plugins that the tasks of a connector work with, by its config and the worker's: for the metrics. */
import type { Config } from '../api/index.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { NamedPlugin, TaskPlugins, UsedPlugin } from '../metrics/taskPlugins.ts';
import type { PluginKind, PluginRegistry } from '../worker/pluginRegistry.ts';
import { taskClassOf } from './lifecycle/taskClass.ts';

type Converters = Pick<WorkerConfig, 'key.converter' | 'value.converter' | 'header.converter'>;

export function taskPlugins(config: Config, worker: Converters, plugins: PluginRegistry): TaskPlugins {
  const used = (name: string, ...kinds: PluginKind[]): UsedPlugin => {
    const plugin = plugins.find(name, ...kinds);
    return { className: plugin?.className ?? name, version: plugin?.version ?? null };
  };
  const converter = (role: keyof Converters, kind: PluginKind): UsedPlugin => used(config[role] ?? worker[role], kind);
  const chain = (list: 'transforms' | 'predicates', kind: PluginKind): NamedPlugin[] =>
    (config[list] ?? '')
      .split(',')
      .map(name => name.trim())
      .filter(name => name !== '')
      .map(name => ({ name, ...used(config[`${list}.${name}.type`] ?? '', kind) }));
  const connector = used(config['connector.class'] ?? '', 'source', 'sink');
  return {
    connector,
    task: { ...connector, className: taskClassOf(connector.className) },
    keyConverter: converter('key.converter', 'converter'),
    valueConverter: converter('value.converter', 'converter'),
    headerConverter: converter('header.converter', 'header_converter'),
    transforms: chain('transforms', 'transformation'),
    predicates: chain('predicates', 'predicate'),
  };
}
