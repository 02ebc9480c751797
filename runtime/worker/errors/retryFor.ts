import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs, isRetriable } from './errorPolicy.ts';

const maxDelayMs = 5_000;

/** Tries again, with back-off, while the error is retriable and less than `timeoutMs` have passed; then throws it. */
export async function retryFor<T>(timeoutMs: number, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (let n = 0; ; n++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetriable(error) || Date.now() >= end) throw error;
      await delay(Math.min(backOffMs(n, maxDelayMs), end - Date.now()), undefined, { signal });
    }
  }
}
