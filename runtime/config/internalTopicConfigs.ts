/** Settings of the worker's own topics for when they are made, from keys such as `config.storage.min.insync.replicas`. */
import { type WorkerConfig, withPrefix } from './workerConfig.ts';

/** Keys under the prefix that are no settings of the topic; `file.filename` is the standalone JVM worker's. */
const otherKeys: readonly string[] = ['topic', 'partitions', 'replication.factor', 'file.filename'];

export function internalTopicConfigs(
  kind: 'config' | 'offset' | 'status',
  { raw }: Pick<WorkerConfig, 'raw'>,
): Readonly<Record<string, string>> {
  const settings = Object.entries(withPrefix(raw, `${kind}.storage.`));
  return Object.fromEntries(settings.filter(([key]) => !otherKeys.includes(key)));
}
