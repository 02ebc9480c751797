/** How the worker's config and status topics are opened, and made where they are missing. */
import type { Logger } from '../../api/logger.ts';
import type { Broker } from '../../broker/port.ts';
import { type WorkerConfig, withPrefix } from '../../config/workerConfig.ts';
import type { InternalTopicOptions } from './internalTopic.ts';

/** Keys under the prefix that are no settings of the topic. */
const ownKeys: readonly string[] = ['topic', 'partitions', 'replication.factor'];

export function internalTopicOptions(
  kind: 'config' | 'status',
  broker: Broker,
  config: WorkerConfig,
  logger: Logger,
): InternalTopicOptions {
  const settings = Object.entries(withPrefix(config.raw, `${kind}.storage.`)).filter(([key]) => !ownKeys.includes(key));
  return {
    broker,
    spec: {
      name: config[`${kind}.storage.topic`],
      partitions: kind === 'config' ? 1 : config['status.storage.partitions'],
      replicationFactor: config[`${kind}.storage.replication.factor`],
      replicationFactorKey: `${kind}.storage.replication.factor`,
      configs: Object.fromEntries(settings),
    },
    create: config['internal.topics.automatic.creation.enable'],
    clientId: `${config['group.id']}-herder`,
    logger,
  };
}
