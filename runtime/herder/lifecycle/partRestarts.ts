/** Restarts of what has failed of one connector: itself and its tasks, each after a time that grows with its failures in a row. */
import type { Config, Logger } from '../../api/index.ts';
import type { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import type { FailureReport } from '../../worker/types.ts';
import { mayHeal, RestartBudget, type RestartSettings } from './restartPolicy.ts';

/** The connector, or one of its tasks, on this worker. */
export interface Part {
  readonly budget: RestartBudget;
  failed: boolean;
  /** Of the restart that it waits for. */
  timer: NodeJS.Timeout | null;
}

export interface PartRestartsOptions {
  readonly connector: string;
  /** Null = it is deleted. */
  readonly config: () => Config | null;
  readonly settings: (config: Config) => RestartSettings;
  /** In line with all else that happens to the connector. */
  readonly enqueue: (job: () => Promise<void>) => Promise<void>;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
}

export const connectorPart = 'connector';
export const taskPart = (task: number): string => `task ${task}`;

export const newPart = (budget: RestartBudget = new RestartBudget()): Part => ({ budget, failed: false, timer: null });

export class PartRestarts {
  readonly #options: PartRestartsOptions;
  #closed = false;

  constructor(options: PartRestartsOptions) {
    this.#options = options;
  }

  /** False = it stays failed. `task` null = the connector. */
  schedule(part: Part, task: number | null, failure: FailureReport | null, restart: () => Promise<void>): boolean {
    const { connector, config, settings, enqueue, metrics, logger } = this.#options;
    const what = task === null ? connectorPart : taskPart(task);
    const now = config();
    const mayRestart = !this.#closed && now !== null && (failure === null || mayHeal(failure));
    const delayMs = mayRestart ? part.budget.afterFailure(settings(now), Date.now()) : null;
    const fields = { connector, trace: failure?.trace };
    if (delayMs === null) {
      logger.error(fields, `${what} of connector ${connector} failed`);
      return false;
    }
    logger.warn(
      { ...fields, delayMs, nextAttempt: new Date(Date.now() + delayMs).toISOString() },
      `${what} of connector ${connector} failed and will be restarted in ${delayMs} ms`,
    );
    this.#clear(part);
    metrics.setNextRestart(connector, task, Date.now() + delayMs);
    part.timer = setTimeout(() => {
      part.timer = null;
      void enqueue(restart);
    }, delayMs);
    part.timer.unref();
    return true;
  }

  /** It is started anew, or runs no more. */
  cancel(part: Part, task: number | null): void {
    this.#clear(part);
    this.#options.metrics.setNextRestart(this.#options.connector, task, null);
  }

  close(parts: Iterable<Part>): void {
    this.#closed = true;
    for (const part of parts) this.#clear(part);
  }

  #clear(part: Part): void {
    if (part.timer !== null) clearTimeout(part.timer);
    part.timer = null;
  }
}
