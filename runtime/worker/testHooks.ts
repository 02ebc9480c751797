/**
 * What fault tests need of a worker process, and nobody else: with MILLRACE_TEST_HOOKS=1 in its environment, SIGUSR2 ends a task thread picked at
 * random, as a crash of it would. Without the variable nothing is installed.
 */
import type { Logger } from '../api/index.ts';
import type { TaskPool } from './threads/taskPool.ts';

const signal = 'SIGUSR2';

/** Returns what takes the hooks away again. */
export function installTestHooks(pool: TaskPool, logger: Logger): () => void {
  if (process.env.MILLRACE_TEST_HOOKS !== '1') return () => {};
  const endThread = (): void => {
    const { threads } = pool;
    const thread = threads[Math.floor(Math.random() * threads.length)];
    logger.warn({ threads: threads.length }, 'test hook: a task thread is ended');
    void thread?.terminate();
  };
  process.on(signal, endThread);
  return () => void process.off(signal, endThread);
}
