/**
 * A task thread as the main thread sees it. When it ends unasked, or does not answer a stop, its tasks fail with WORKER_THREAD_ENDED, to be
 * started again on another thread.
 */
import type { Worker as Thread } from 'node:worker_threads';
import { asConnectError, ConnectError, type Logger } from '../../api/index.ts';
import { startThread } from '../../broker/startThread.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { TaskSnapshot } from '../../metrics/taskMeter.ts';
import { failureReport } from '../errors/failureReport.ts';
import type { DeclaredModule } from '../pluginRegistry.ts';
import type { TaskExecutor } from '../taskExecutor.ts';
import {
  type TargetState,
  type TaskGuard,
  type TaskId,
  type TaskListener,
  type TaskRequest,
  taskKey,
} from '../types.ts';
import type { FromThread, ToThread } from './messages.ts';

export interface TaskThreadOptions {
  readonly config: WorkerConfig;
  readonly pluginModules: readonly DeclaredModule[];
  readonly listener: TaskListener;
  readonly guard: TaskGuard;
  readonly onMetrics: (id: TaskId, snapshot: TaskSnapshot) => void;
  /** The thread has ended, asked or not. */
  readonly onEnded: (thread: TaskThread) => void;
  readonly logger: Logger;
}

/** Beyond the time of a graceful stop, for the answer of a thread that is not stuck. */
const answerMs = 3_000;
/** A thread that says nothing for so long is kept busy by one of its tasks. */
const silenceMs = 30_000;
const lookMs = 5_000;

export class TaskThread implements TaskExecutor {
  readonly #options: TaskThreadOptions;
  readonly #thread: Thread;
  readonly #tasks = new Map<string, TaskId>();
  readonly #calls = new Map<number, () => void>();
  #lastCall = 0;
  #error: unknown;
  #ended = false;
  #heardAt = Date.now();
  #toldSilent = false;
  readonly #watch: NodeJS.Timeout;

  constructor(options: TaskThreadOptions) {
    this.#options = options;
    this.#thread = startThread('./taskThreadMain', import.meta.url, {});
    this.#thread.on('message', (message: FromThread) => this.#receive(message));
    this.#thread.on('error', error => {
      this.#error = error;
    });
    this.#thread.on('exit', code => this.#exited(code));
    this.#watch = setInterval(() => this.#lookForSilence(), lookMs).unref();
    const { config, pluginModules } = options;
    this.#post({ type: 'init', config, pluginModules });
  }

  get taskCount(): number {
    return this.#tasks.size;
  }

  startTask(request: TaskRequest): void {
    if (this.#ended) {
      this.#taskFailed(request.id);
      return;
    }
    this.#tasks.set(taskKey(request.id), request.id);
    this.#post({ type: 'start', request });
  }

  setTarget(connector: string, target: TargetState): void {
    this.#post({ type: 'target', connector, target });
  }

  forgetTopics(connector: string, asOfMs: number): void {
    this.#post({ type: 'forgetTopics', connector, asOfMs });
  }

  async stopTask(id: TaskId, gracefulMs: number): Promise<void> {
    if (!this.#tasks.has(taskKey(id)) || this.#ended) return;
    const answered = await this.#call(call => ({ type: 'stop', call, id, gracefulMs }), gracefulMs + answerMs);
    this.#tasks.delete(taskKey(id));
    if (answered) return;
    this.#error = new Error(
      `it did not answer within ${gracefulMs + answerMs} ms when ${id.connector}-${id.task} was stopped`,
    );
    await this.terminate();
  }

  async close(gracefulMs: number): Promise<void> {
    if (this.#ended) return;
    const answered = await this.#call(call => ({ type: 'close', call, gracefulMs }), gracefulMs + answerMs);
    if (!answered) this.#options.logger.warn({}, 'a task thread did not stop in time and is terminated');
    this.#tasks.clear();
    await this.#thread.terminate();
  }

  /** Ends the thread at once, whatever it does. */
  async terminate(): Promise<void> {
    await this.#thread.terminate();
  }

  #lookForSilence(): void {
    const silentMs = Date.now() - this.#heardAt;
    if (silentMs < silenceMs) {
      this.#toldSilent = false;
      return;
    }
    if (this.#toldSilent) return;
    this.#toldSilent = true;
    this.#options.logger.error(
      { silentMs, tasks: [...this.#tasks.values()] },
      'a task thread does not answer: one of its tasks does not let go of it. Restart that task, or give it a thread of its own by task.isolation=thread',
    );
  }

  #receive(message: FromThread): void {
    this.#heardAt = Date.now();
    const { listener, onMetrics, logger } = this.#options;
    switch (message.type) {
      case 'taskState':
        if (message.state === 'FAILED' || message.state === 'UNASSIGNED') this.#tasks.delete(taskKey(message.id));
        listener.taskState(message.id, message.state, message.failure);
        return;
      case 'topicUsed':
        listener.topicUsed(message.id, message.topic);
        return;
      case 'metrics':
        onMetrics(message.id, message.snapshot);
        return;
      case 'log':
        logger[message.level](message.fields, message.message);
        return;
      case 'ask':
        void this.#answer(message);
        return;
      case 'alive':
        return;
      case 'done':
        this.#calls.get(message.call)?.();
        return;
    }
  }

  async #answer({ question, what, id, generation }: Extract<FromThread, { type: 'ask' }>): Promise<void> {
    try {
      await this.#options.guard.ask(what, id, generation);
      this.#post({ type: 'answer', question, error: null });
    } catch (reason) {
      const { code, message, retriable } = asConnectError(reason, 'TASK_FAILED');
      this.#post({ type: 'answer', question, error: { code, message, retriable } });
    }
  }

  #exited(code: number): void {
    this.#ended = true;
    clearInterval(this.#watch);
    const tasks = [...this.#tasks.values()];
    this.#tasks.clear();
    this.#options.onEnded(this);
    for (const answered of this.#calls.values()) answered();
    if (tasks.length > 0) this.#options.logger.error({ err: this.#error, code, tasks }, 'a task thread ended');
    for (const id of tasks) this.#taskFailed(id);
  }

  #taskFailed(id: TaskId): void {
    const why =
      this.#error === undefined ? '' : `: ${this.#error instanceof Error ? this.#error.message : String(this.#error)}`;
    const error = new ConnectError('WORKER_THREAD_ENDED', `The thread that ran this task ended${why}`, {
      cause: this.#error,
      retriable: true,
    });
    this.#options.listener.taskState(id, 'FAILED', failureReport(error, { connector: id.connector, task: id.task }));
  }

  /** False = no answer in time. */
  async #call(message: (call: number) => ToThread, timeoutMs: number): Promise<boolean> {
    const call = ++this.#lastCall;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<boolean>(resolve => {
        this.#calls.set(call, () => resolve(true));
        timer = setTimeout(() => resolve(false), timeoutMs);
        this.#post(message(call));
      });
    } finally {
      clearTimeout(timer);
      this.#calls.delete(call);
    }
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message);
  }
}
