/**
 * When a failed connector or task is restarted by itself. Errors that are retriable, or that nobody has given a code, may heal; an error that has a code and is
 * not retriable (an invalid configuration, a poison record) needs the user and fails at once.
 */
import type { Config } from '../../api/connector.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { FailureReport } from '../../worker/types.ts';

export interface RestartSettings {
  /** 0 = never, -1 = without end. */
  readonly max: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/** The worker's settings, with the connector's own where it has them. */
export function restartSettings(connector: Config, worker: WorkerConfig): RestartSettings {
  const own = connector['errors.restart.max'];
  return {
    max: own === undefined ? worker['errors.restart.max'] : Number(own),
    initialDelayMs: worker['errors.restart.delay.initial.ms'],
    maxDelayMs: worker['errors.restart.delay.max.ms'],
  };
}

const codesOfUnknownErrors: readonly string[] = ['TASK_FAILED', 'CONNECTOR_FAILED'];

export function mayHeal(failure: FailureReport): boolean {
  if (failure.retriable) return true;
  const code = /^\[(\w+)\]/.exec(failure.trace)?.[1];
  return code === undefined || codesOfUnknownErrors.includes(code);
}

/** A run must have been at least so long to show that the cause of the failure before is gone. */
const steadyMs = 10_000;

/** Counts the failures in a row of one connector or task. */
export class RestartBudget {
  #failures = 0;
  #lastDelayMs = 0;
  #runningSinceMs: number | null = null;

  running(nowMs: number): void {
    this.#runningSinceMs ??= nowMs;
  }

  reset(): void {
    this.#failures = 0;
    this.#runningSinceMs = null;
  }

  /** How long to wait before the next restart; null = no more. A run longer than the wait before it, and than some seconds, starts the count anew. */
  afterFailure(settings: RestartSettings, nowMs: number): number | null {
    const ranMs = this.#runningSinceMs === null ? 0 : nowMs - this.#runningSinceMs;
    if (ranMs > Math.max(steadyMs, this.#lastDelayMs)) this.#failures = 0;
    this.#runningSinceMs = null;
    if (settings.max >= 0 && this.#failures >= settings.max) return null;
    const delay = Math.min(settings.initialDelayMs * 2 ** this.#failures, settings.maxDelayMs);
    this.#failures++;
    this.#lastDelayMs = delay;
    return delay;
  }
}
