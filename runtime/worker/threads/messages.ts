/** What the main thread and a task thread say to each other. */
import type { Logger } from '../../api/index.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { TaskSnapshot } from '../../metrics/taskMeter.ts';
import type { DeclaredModule } from '../pluginRegistry.ts';
import type { FailureReport, TargetState, TaskId, TaskRequest, TaskState } from '../types.ts';

export type ToThread =
  /** Always the first. Secrets are in the config, so that it comes by message and not on a command line. */
  | { readonly type: 'init'; readonly config: WorkerConfig; readonly pluginModules: readonly DeclaredModule[] }
  | { readonly type: 'start'; readonly request: TaskRequest }
  | { readonly type: 'target'; readonly connector: string; readonly target: TargetState }
  | { readonly type: 'forgetTopics'; readonly connector: string }
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
  /** Every second. */
  | { readonly type: 'alive' }
  | { readonly type: 'done'; readonly call: number };
