/** Runs a piece of work again, with back-off and jitter, while it fails for a reason that may pass by itself. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { asConnectError, type Logger, type TaskMetrics } from '../../runtime/api/index.ts';

/** `transient`: the same may succeed later. `record`: because of a row. `fatal`: the user or an operator has to change something. */
export type FailureClass = 'transient' | 'record' | 'fatal';

export type Retry = <T>(work: () => Promise<T>) => Promise<T>;

const MAX_BACKOFF_MS = 30_000;
const CONTENTION_BACKOFF_MS = 20;

export function retryTransient(options: {
  classify: (error: unknown) => FailureClass;
  /** Deadlocks and their like: whoever is in the way goes on at once, so that the first tries need not wait long. */
  isContention?: (error: unknown) => boolean;
  /** null = without end. */
  maxRetries: number | null;
  retryBackoffMs: number;
  signal: AbortSignal;
  logger: Logger;
  metrics: TaskMetrics;
}): Retry {
  const { classify, isContention, maxRetries, retryBackoffMs, signal, logger, metrics } = options;
  // Any number of lanes may wait at the same time.
  setMaxListeners(0, signal);
  return async work => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (classify(error) !== 'transient') throw error;
        signal.throwIfAborted();
        if (maxRetries !== null && attempt > maxRetries) throw asConnectError(error, 'SINK_UNAVAILABLE');
        const firstMs = isContention?.(error) ? Math.min(CONTENTION_BACKOFF_MS, retryBackoffMs) : retryBackoffMs;
        const delayMs = Math.min(MAX_BACKOFF_MS, firstMs * 2 ** Math.min(attempt - 1, 10));
        const retryInMs = Math.round(delayMs * (0.5 + Math.random() / 2));
        metrics.count('retries');
        const reason = error instanceof Error ? error.message : String(error);
        logger.warn({ attempt, retryInMs, reason }, 'the target did not take a write for now; the same is tried again');
        await sleep(retryInMs, undefined, { signal });
      }
    }
  };
}
