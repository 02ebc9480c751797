/** What the routes work on. */

import { ConnectError } from '../api/index.ts';
import type { Herder, WorkerStage } from '../herder/herder.ts';
import type { LogLevels } from '../metrics/logLevels.ts';
import type { WorkerMetrics } from '../metrics/workerMetrics.ts';

export interface RestContext {
  /** Throws WORKER_STARTING until the worker has read its state. */
  herder(): Herder;
  /** What the worker does now, before it is ready as well. */
  stage(): WorkerStage;
  isReady(): boolean;
  readonly metrics: WorkerMetrics;
  readonly levels: LogLevels;
}

export function starting(): ConnectError {
  return new ConnectError('WORKER_STARTING', 'Worker is still starting up.', { retriable: true });
}
