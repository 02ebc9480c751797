/** What the supervisor of a connector is given by its herder. */
import type { Config, Logger } from '../../api/index.ts';
import type { ConfigResolver } from '../../config/configResolver.ts';
import type { SecretMask } from '../../config/secretMask.ts';
import type { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import type { Worker } from '../../worker/worker.ts';
import type { ConfigState } from '../stores/configState.ts';
import type { RestartSettings } from './restartPolicy.ts';
import type { StatusBoard } from './statusBoard.ts';

export interface SupervisorDeps {
  readonly worker: Worker;
  readonly configs: { readonly state: ConfigState };
  /** Whether a task, or the connector (null), is to run on this worker. */
  readonly owns: (connector: string, task: number | null) => boolean;
  /** Makes new task configs count, now or later; `configs.state` then shows them. */
  readonly commitTasks: (connector: string, configs: readonly Config[]) => Promise<void>;
  /** Of the task configs, where tasks start with it: all of a new one fence those before. */
  readonly generation: (connector: string) => number | undefined;
  readonly statuses: StatusBoard;
  readonly resolver: ConfigResolver;
  readonly secrets: SecretMask;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  readonly restartSettings: (config: Config) => RestartSettings;
  readonly unknownKeys: (config: Config) => Promise<readonly string[]>;
}
