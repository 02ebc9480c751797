/** Waiting between attempts, ended early by a signal. */
import { setTimeout as delay } from 'node:timers/promises';

/** Doubles from `firstMs` up to `maxMs`, with a fifth of jitter so that clients do not come in step. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(attempt, 20), maxMs) * (0.8 + 0.4 * Math.random());
}

/** Resolves when the time is over or the signal aborts, whichever is first; never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  try {
    await delay(ms, undefined, { signal });
  } catch {
    // Aborted: the caller looks at its signal.
  }
}
