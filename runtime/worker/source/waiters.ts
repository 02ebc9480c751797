/** Those who wait for something to change, and look again when it has. */
export class Waiters {
  #waiters = new Set<() => void>();

  /** Resolves with the next `wake`; rejects when the signal aborts. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        this.#waiters.delete(done);
        reject(signal.reason);
      };
      const done = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(done);
    });
  }

  wake(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const waiter of waiters) waiter();
  }
}
