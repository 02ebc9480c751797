/** How the worker's config and status topics are opened, and made where they are missing. */
import type { Logger } from '../../api/logger.ts';
import type { Broker } from '../../broker/port.ts';
import { internalTopicConfigs } from '../../config/internalTopicConfigs.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { InternalTopicOptions } from './internalTopic.ts';

export function internalTopicOptions(
  kind: 'config' | 'status',
  broker: Broker,
  config: WorkerConfig,
  logger: Logger,
): InternalTopicOptions {
  return {
    broker,
    spec: {
      name: config[`${kind}.storage.topic`],
      partitions: kind === 'config' ? 1 : config['status.storage.partitions'],
      replicationFactor: config[`${kind}.storage.replication.factor`],
      replicationFactorKey: `${kind}.storage.replication.factor`,
      configs: internalTopicConfigs(kind, config),
    },
    create: config['internal.topics.automatic.creation.enable'],
    clientId: `${config['group.id']}-herder`,
    logger,
  };
}
