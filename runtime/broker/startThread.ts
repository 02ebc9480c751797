/** Starts a worker thread on one of our modules, compiled (`.js`) or, in development, as source (`.ts`), whose loader a thread does not inherit. */
import { Worker, type WorkerOptions } from 'node:worker_threads';

const endListeners = new Set<(threadId: number) => void>();

/** Calls back with the id of each thread started here that has ended, asked or by a crash. Returns what stops that. */
export function onThreadEnd(listener: (threadId: number) => void): () => void {
  endListeners.add(listener);
  return () => void endListeners.delete(listener);
}

/** `name` without extension, relative to `parentUrl` (`import.meta.url` of the caller). */
export function startThread(name: string, parentUrl: string, options: WorkerOptions): Worker {
  const thread = newThread(name, parentUrl, options);
  const { threadId } = thread;
  thread.once('exit', () => {
    for (const listener of endListeners) listener(threadId);
  });
  return thread;
}

function newThread(name: string, parentUrl: string, options: WorkerOptions): Worker {
  if (!parentUrl.endsWith('.ts')) return new Worker(new URL(`${name}.js`, parentUrl), options);
  const entry = new URL(`${name}.ts`, parentUrl).href;
  const loader = import.meta.resolve('tsx/esm/api');
  const source = `import(${JSON.stringify(loader)}).then(({ register }) => { register(); return import(${JSON.stringify(entry)}); });`;
  return new Worker(source, { ...options, eval: true });
}
