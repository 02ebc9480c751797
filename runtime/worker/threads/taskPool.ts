/**
 * Chooses where a task runs: the main thread (`task.threads=0`), the least loaded thread of the pool, or a thread of its own
 * (`task.isolation=thread`). One thread is made ahead, the others when they are needed, and again after one ended.
 */
import { availableParallelism } from 'node:os';
import type { TaskExecutor } from '../taskExecutor.ts';
import type { TaskHost } from '../taskHost.ts';
import { type TargetState, type TaskId, type TaskRequest, taskKey } from '../types.ts';
import { TaskThread, type TaskThreadOptions } from './taskThread.ts';

export interface TaskPoolOptions extends Omit<TaskThreadOptions, 'onEnded'> {
  readonly host: TaskHost;
}

export class TaskPool {
  readonly #options: TaskPoolOptions;
  readonly #size: number;
  readonly #shared = new Set<TaskThread>();
  readonly #own = new Set<TaskThread>();
  readonly #places = new Map<string, TaskExecutor>();

  constructor(options: TaskPoolOptions) {
    this.#options = options;
    const threads = options.config['task.threads'];
    this.#size = threads < 0 ? availableParallelism() : threads;
    // One is ready before the first task asks for it: loading modules takes longer than anything else at a start.
    if (this.#size > 0) this.#thread(this.#shared);
  }

  startTask(request: TaskRequest): void {
    const executor = this.#choose(request);
    this.#places.set(taskKey(request.id), executor);
    executor.startTask(request);
  }

  async stopTask(id: TaskId, gracefulMs: number): Promise<void> {
    const executor = this.#places.get(taskKey(id));
    this.#places.delete(taskKey(id));
    if (executor === undefined) return;
    await executor.stopTask(id, gracefulMs);
    if (executor instanceof TaskThread && this.#own.delete(executor)) await executor.close(gracefulMs);
  }

  setTarget(connector: string, target: TargetState): void {
    for (const executor of this.#executors()) executor.setTarget(connector, target);
  }

  forgetTopics(connector: string, asOfMs: number): void {
    for (const executor of this.#executors()) executor.forgetTopics(connector, asOfMs);
  }

  get threads(): readonly TaskThread[] {
    return [...this.#shared, ...this.#own];
  }

  /** The thread of a task, for tests that end it. */
  threadOf(id: TaskId): TaskThread | null {
    const executor = this.#places.get(taskKey(id));
    return executor instanceof TaskThread ? executor : null;
  }

  async close(gracefulMs: number): Promise<void> {
    await Promise.all(this.threads.map(thread => thread.close(gracefulMs)));
  }

  #executors(): TaskExecutor[] {
    return [this.#options.host, ...this.threads];
  }

  #choose({ connectorConfig }: TaskRequest): TaskExecutor {
    if (this.#size === 0) return this.#options.host;
    const isolation = connectorConfig['task.isolation'] ?? this.#options.config['task.isolation'];
    if (isolation === 'thread') return this.#thread(this.#own);
    let least: TaskThread | undefined;
    for (const thread of this.#shared) if (least === undefined || thread.taskCount < least.taskCount) least = thread;
    if (least === undefined || (least.taskCount > 0 && this.#shared.size < this.#size))
      return this.#thread(this.#shared);
    return least;
  }

  #thread(group: Set<TaskThread>): TaskThread {
    const { host: _, ...options } = this.#options;
    const thread = new TaskThread({ ...options, onEnded: ended => group.delete(ended) });
    group.add(thread);
    return thread;
  }
}
