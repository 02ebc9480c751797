/**
 * Answers the tasks of this worker that deliver exactly once: whether earlier tasks are fenced, for which it asks the leader, and whether the task is still the
 * one to run. While the cluster rebalances it asks again, for a bounded time.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { asConnectError, ConnectError, type Logger } from '../../api/index.ts';
import type { TaskGuard, TaskId, TaskQuestion } from '../../worker/types.ts';
import type { ConfigStore } from '../stores/configStore.ts';

export interface SourceTaskGuardOptions {
  readonly configs: ConfigStore;
  readonly owns: (connector: string, task: number) => boolean;
  /** Fences where this worker leads, else asks the leader to. False = no leader is known. */
  readonly fence: (connector: string, signal: AbortSignal) => Promise<boolean>;
  readonly syncTimeoutMs: number;
  readonly logger: Logger;
}

const firstBackoffMs = 100;
const maxBackoffMs = 2_000;
const patienceMs = 30_000;
/** A leader that does not answer may have been replaced meanwhile. */
const attemptMs = 10_000;

export class SourceTaskGuard implements TaskGuard {
  readonly #options: SourceTaskGuardOptions;
  readonly #closing = new AbortController();

  constructor(options: SourceTaskGuardOptions) {
    this.#options = options;
  }

  ask(question: TaskQuestion, id: TaskId, generation: number): Promise<void> {
    switch (question) {
      case 'fenced':
        return this.#fenced(id, generation);
      case 'current':
        return this.#current(id, generation);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #fenced(id: TaskId, generation: number): Promise<void> {
    const { fence, logger } = this.#options;
    const { signal } = this.#closing;
    const deadline = Date.now() + patienceMs;
    let reason: unknown = null;
    for (let backoffMs = firstBackoffMs; ; backoffMs = Math.min(2 * backoffMs, maxBackoffMs)) {
      this.#requireCurrent(id, generation);
      try {
        if (await fence(id.connector, AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]))) return;
      } catch (error) {
        reason = error;
        logger.debug({ err: error, ...id }, 'earlier tasks could not be fenced, it is tried again');
      }
      signal.throwIfAborted();
      if (Date.now() > deadline) break;
      await wait(backoffMs, undefined, { signal });
    }
    const why = reason === null ? 'no leader is known' : asConnectError(reason, 'CLUSTER_FENCING_FAILED').message;
    throw new ConnectError(
      'CLUSTER_FENCING_FAILED',
      `Earlier tasks of connector ${id.connector} could not be fenced: ${why}`,
      { cause: reason, retriable: true },
    );
  }

  /** What every other worker may have been told by now counts. */
  async #current(id: TaskId, generation: number): Promise<void> {
    await this.#options.configs.readToEnd(this.#options.syncTimeoutMs);
    this.#requireCurrent(id, generation);
  }

  #requireCurrent({ connector, task }: TaskId, generation: number): void {
    const { owns, configs } = this.#options;
    if (!owns(connector, task)) {
      throw superseded(`Task ${connector}-${task} cannot start: it is not assigned to this worker any more`);
    }
    if (configs.state.taskGeneration(connector) === generation) return;
    throw superseded(`Task ${connector}-${task} cannot start: its connector has generated new task configs`);
  }
}

const superseded = (message: string): ConnectError =>
  new ConnectError('SOURCE_TASK_SUPERSEDED', message, { retriable: true });
