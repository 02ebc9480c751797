/** One waiter and many that wake it: a wake-up while nobody waits is kept for the next wait. */
export class Wakeup {
  #pending = false;
  #resolve: (() => void) | null = null;

  wake(): void {
    if (this.#resolve !== null) this.#resolve();
    else this.#pending = true;
  }

  /** Until woken, `ms` are over, or the signal aborts. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#pending || signal?.aborted) {
      this.#pending = false;
      return;
    }
    await new Promise<void>(resolve => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.#resolve = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
      this.#resolve = done;
    });
  }
}
