import type { TargetState, TaskId, TaskRequest } from './types.ts';

/** Where tasks run: this thread (TaskHost), or a thread of the pool (TaskThread). */
export interface TaskExecutor {
  readonly taskCount: number;
  /** Returns at once; how it goes is told to the listener. */
  startTask(request: TaskRequest): void;
  setTarget(connector: string, target: TargetState): void;
  /** Resolves when the task has ended, or was given up at the end of its time. */
  stopTask(id: TaskId, gracefulMs: number): Promise<void>;
  /** Topics that a connector goes on using are reported again. */
  forgetTopics(connector: string, asOfMs: number): void;
  close(gracefulMs: number): Promise<void>;
}
