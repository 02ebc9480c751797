/** What starts, pauses and ends a task, the same for sources and sinks. */
import type { TaskMeter } from '../metrics/taskMeter.ts';
import type { TargetState, TaskId, TaskListener } from './types.ts';

export interface TaskRunner {
  readonly meter: TaskMeter;
  readonly control: TaskControl;
  /** Resolves when the task has stopped as asked; rejects with what ended it. */
  run(): Promise<void>;
}

export class TaskControl {
  readonly id: TaskId;
  readonly #listener: TaskListener;
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  /** When each topic was last used, in ms. */
  readonly #topics = new Map<string, number>();
  #target: TargetState;
  #wake: (() => void) | null = null;
  #reported: 'RUNNING' | 'PAUSED' | null = null;

  constructor(id: TaskId, target: TargetState, listener: TaskListener) {
    this.id = id;
    this.#target = target;
    this.#listener = listener;
  }

  /** Aborted when the task is to stop. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when the time for a graceful stop is over: nothing may be waited for. */
  get cancelled(): AbortSignal {
    return this.#cancel.signal;
  }

  get paused(): boolean {
    return this.#target === 'PAUSED';
  }

  setTarget(target: TargetState): void {
    this.#target = target;
    this.#wake?.();
  }

  stop(): void {
    this.#stop.abort();
    this.#wake?.();
  }

  cancel(): void {
    this.stop();
    this.#cancel.abort();
  }

  /** Runs a wait that ends early, by its signal, when the task is to stop, or its target changes. */
  async interruptible<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const interrupt = new AbortController();
    if (this.stopping.aborted) interrupt.abort();
    this.#wake = () => interrupt.abort();
    try {
      return await wait(interrupt.signal);
    } finally {
      this.#wake = null;
    }
  }

  /** The task is up; says whether it runs or is paused. */
  started(): void {
    this.report(this.paused ? 'PAUSED' : 'RUNNING');
  }

  report(state: 'RUNNING' | 'PAUSED'): void {
    if (state === this.#reported || this.stopping.aborted) return;
    this.#reported = state;
    this.#listener.taskState(this.id, state, null);
  }

  /** Reports each topic once. */
  topicUsed(topic: string): void {
    const isKnown = this.#topics.has(topic);
    this.#topics.set(topic, Date.now());
    if (!isKnown) this.#listener.topicUsed(this.id, topic);
  }

  /** Those used after this time, which the word of it took to come here, are reported again at once: their next record may be long in coming. */
  forgetTopics(asOfMs: number): void {
    for (const [topic, usedMs] of this.#topics) {
      if (usedMs > asOfMs) this.#listener.topicUsed(this.id, topic);
      else this.#topics.delete(topic);
    }
  }

  /** Waits while the task is paused. False = stop. */
  async mayRun(): Promise<boolean> {
    while (this.paused && !this.stopping.aborted) {
      this.report('PAUSED');
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
    if (this.stopping.aborted) return false;
    this.report('RUNNING');
    return true;
  }
}
