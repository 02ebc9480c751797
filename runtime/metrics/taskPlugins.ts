/** The plugins that the tasks of a connector work with, as labels of metrics that are always 1. */
import type { SetValue } from './setValue.ts';

export interface UsedPlugin {
  readonly className: string;
  /** null = not known. */
  readonly version: string | null;
}

export interface NamedPlugin extends UsedPlugin {
  readonly name: string;
}

export interface TaskPlugins {
  readonly connector: UsedPlugin;
  readonly task: UsedPlugin;
  readonly keyConverter: UsedPlugin;
  readonly valueConverter: UsedPlugin;
  readonly headerConverter: UsedPlugin;
  readonly transforms: readonly NamedPlugin[];
  readonly predicates: readonly NamedPlugin[];
}

type Labels = Record<string, string>;

/** `id`: the labels connector and task. */
export function fillTaskPlugins(set: SetValue, id: Labels, type: string, plugins: TaskPlugins): void {
  const { connector, task, keyConverter, valueConverter, headerConverter } = plugins;
  const info = {
    ...id,
    connector_type: type,
    ...labels('connector', connector),
    ...labels('task', task),
    ...labels('key_converter', keyConverter),
    ...labels('value_converter', valueConverter),
    ...labels('header_converter', headerConverter),
  };
  set('kafka_connect_connector_task_info', 'Plugins of a task; always 1.', info, 1);
  for (const plugin of plugins.transforms) {
    const transform = { ...id, transform: plugin.name, ...labels('transform', plugin) };
    set('kafka_connect_connector_transform_info', 'Transforms of a task; always 1.', transform, 1);
  }
  for (const plugin of plugins.predicates) {
    const predicate = { ...id, predicate: plugin.name, ...labels('predicate', plugin) };
    set('kafka_connect_connector_predicate_info', 'Predicates of a task; always 1.', predicate, 1);
  }
}

const labels = (what: string, { className, version }: UsedPlugin): Labels => ({
  [`${what}_class`]: className,
  [`${what}_version`]: version ?? '',
});
