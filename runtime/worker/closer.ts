/** Closes resources in reverse order of their making. What fails to close is logged: it must not hide why the task ended. */
import type { Logger } from '../api/index.ts';

export class Closer implements AsyncDisposable {
  readonly #logger: Logger;
  readonly #closers: (() => unknown)[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        this.#logger.warn({ err: error }, 'a resource of the task did not close');
      }
    }
  }
}
