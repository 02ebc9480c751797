/** Bounds how long a client waits; the operation itself goes on. */
import { ConnectError } from '../api/index.ts';
import type { Herder, WorkerStage } from '../herder/herder.ts';

const requestTimeoutMs = 90_000;

export async function withTimeout<T>(herder: Herder, operation: Promise<T>, timeoutMs = requestTimeoutMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new ConnectError('REQUEST_TIMED_OUT', `Request timed out. ${stageText(herder.stage())}`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([operation, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function stageText({ description, startedMs, completedMs }: WorkerStage): string {
  const began = new Date(startedMs).toISOString();
  if (completedMs === null) return `The worker is currently ${description}, which began at ${began}.`;
  const completed = new Date(completedMs).toISOString();
  return `The last operation the worker completed was ${description}, which began at ${began} and completed at ${completed}.`;
}
