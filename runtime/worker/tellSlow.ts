import type { Logger } from '../api/index.ts';

/** Passes a promise on, and tells in the log, again and again, what the task waits for while it is not settled. */
export async function tellSlow<T>(waited: Promise<T>, what: string, logger: Logger, everyMs = 10_000): Promise<T> {
  const sinceMs = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - sinceMs) / 1000);
    logger.warn({ seconds }, `the task waits for ${what}`);
  }, everyMs).unref();
  try {
    return await waited;
  } finally {
    clearInterval(timer);
  }
}
