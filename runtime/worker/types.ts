/** What the parts of the worker say to each other and to the herder. Plain data: it crosses threads. */
import type { Config } from '../api/index.ts';

export interface TaskId {
  readonly connector: string;
  readonly task: number;
}

export const taskKey = (id: TaskId): string => `${id.task}:${id.connector}`;

/** What is wanted of a connector and its tasks; a stopped connector has no tasks. */
export type TargetState = 'STARTED' | 'PAUSED' | 'STOPPED';

export type TaskState = 'RUNNING' | 'PAUSED' | 'FAILED' | 'UNASSIGNED';
export type ConnectorState = 'RUNNING' | 'PAUSED' | 'STOPPED' | 'FAILED' | 'UNASSIGNED';

export interface TaskRequest {
  readonly id: TaskId;
  /** Resolved: no placeholders. */
  readonly connectorConfig: Config;
  readonly taskConfig: Config;
  readonly target: TargetState;
  /** Of the set of task configs, for exactly-once delivery of a source; absent = at least once. */
  readonly generation?: number;
}

/** What a task that delivers exactly once has to know before it writes, asked in this order around the making of its producer. */
export type TaskQuestion =
  /** Resolves when no task of an earlier set of task configs can write any more. */
  | 'fenced'
  /** Rejects where the task is no longer this worker's, or newer task configs are there. */
  | 'current';

export interface TaskGuard {
  ask(question: TaskQuestion, id: TaskId, generation: number): Promise<void>;
}

export interface FailureReport {
  /** `error.describe()`, then stack and causes. */
  readonly trace: string;
  /** A restart may help without any change by the user. */
  readonly retriable: boolean;
}

/** Told by running tasks. `failure` is given with FAILED only. A task reports UNASSIGNED when it has stopped as asked. */
export interface TaskListener {
  taskState(id: TaskId, state: TaskState, failure: FailureReport | null): void;
  topicUsed(id: TaskId, topic: string): void;
}
