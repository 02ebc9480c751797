/** What every herder stands on: the worker, the stores of its topics, and what reads them. */
import type { Logger } from '../api/index.ts';
import { ConfigResolver } from '../config/configResolver.ts';
import type { SecretMask } from '../config/secretMask.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { WorkerMetrics } from '../metrics/workerMetrics.ts';
import type { TaskGuard } from '../worker/types.ts';
import { Worker, type WorkerOptions } from '../worker/worker.ts';
import { StatusBoard } from './lifecycle/statusBoard.ts';
import type { Supervisors } from './lifecycle/supervisors.ts';
import { ConnectorOffsetsApi } from './offsets/connectorOffsetsApi.ts';
import type { ConfigStore } from './stores/configStore.ts';
import type { StatusStore } from './stores/statusStore.ts';
import { ConnectorValidator } from './validation/connectorValidator.ts';

export interface HerderOptions {
  readonly config: WorkerConfig;
  readonly pluginModules: WorkerOptions['pluginModules'];
  /** host:port under which this worker is reached. */
  readonly workerId: string;
  readonly metrics: WorkerMetrics;
  /** What logs and traces must not show. */
  readonly secrets: SecretMask;
  readonly logger: Logger;
}

export interface HerderParts {
  readonly offsets: ConnectorOffsetsApi;
  readonly configs: ConfigStore;
  readonly statusStore: StatusStore;
  readonly statuses: StatusBoard;
  readonly worker: Worker;
  readonly resolver: ConfigResolver;
  readonly validator: ConnectorValidator;
  readonly clusterId: string;
}

/** `generation`: of the group, where there is one. */
export async function herderParts(
  options: HerderOptions,
  worker: Worker,
  configs: ConfigStore,
  statusStore: StatusStore,
  generation?: () => number,
): Promise<HerderParts> {
  const { config, workerId } = options;
  const versionOf = (name: string): string | null => {
    const className = configs.state.connector(name)?.config['connector.class'];
    return (className && worker.plugins.find(className, 'source', 'sink')?.version) || null;
  };
  const resolver = await ConfigResolver.create(config, name => worker.plugins.loadIfFound(name, 'config_provider'));
  return {
    configs,
    statusStore,
    worker,
    resolver,
    statuses: new StatusBoard(statusStore, workerId, versionOf, generation),
    validator: new ConnectorValidator(config, worker.plugins, resolver),
    clusterId: await worker.broker.admin().clusterId(),
    offsets: new ConnectorOffsetsApi(worker, resolver),
  };
}

export function startWorker(options: HerderOptions, supervisors: Supervisors, guard?: TaskGuard): Promise<Worker> {
  const { config, logger, metrics, pluginModules } = options;
  return Worker.start({ config, pluginModules, logger, metrics, listener: supervisors.listener, guard });
}
