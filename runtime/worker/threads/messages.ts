/** What the main thread and a task thread say to each other. */
import type { ErrorCode, Logger } from '../../api/index.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { TaskSnapshot } from '../../metrics/taskMeter.ts';
import type { DeclaredModule } from '../pluginRegistry.ts';
import type { FailureReport, TargetState, TaskId, TaskQuestion, TaskRequest, TaskState } from '../types.ts';

/** An error on its way to another thread. */
export interface ErrorMessage {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retriable: boolean;
}

export type ToThread =
  /** Always the first. Secrets are in the config, so that it comes by message and not on a command line. */
  | { readonly type: 'init'; readonly config: WorkerConfig; readonly pluginModules: readonly DeclaredModule[] }
  | { readonly type: 'start'; readonly request: TaskRequest }
  | { readonly type: 'target'; readonly connector: string; readonly target: TargetState }
  | { readonly type: 'forgetTopics'; readonly connector: string; readonly asOfMs: number }
  /** To `ask`; null = yes. */
  | { readonly type: 'answer'; readonly question: number; readonly error: ErrorMessage | null }
  /** Answered by `done`. */
  | { readonly type: 'stop'; readonly call: number; readonly id: TaskId; readonly gracefulMs: number }
  | { readonly type: 'close'; readonly call: number; readonly gracefulMs: number };

export type FromThread =
  | {
      readonly type: 'taskState';
      readonly id: TaskId;
      readonly state: TaskState;
      readonly failure: FailureReport | null;
    }
  | { readonly type: 'topicUsed'; readonly id: TaskId; readonly topic: string }
  | { readonly type: 'metrics'; readonly id: TaskId; readonly snapshot: TaskSnapshot }
  | { readonly type: 'log'; readonly level: keyof Logger; readonly fields: object; readonly message: string }
  /** Answered by `answer`. */
  | {
      readonly type: 'ask';
      readonly question: number;
      readonly what: TaskQuestion;
      readonly id: TaskId;
      readonly generation: number;
    }
  /** Every second. */
  | { readonly type: 'alive' }
  | { readonly type: 'done'; readonly call: number };
