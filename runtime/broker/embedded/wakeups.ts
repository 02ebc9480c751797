/** Lets waiting polls of a thread go on when something was committed or a group changed. */
export class Wakeups {
  #waiting = new Set<() => void>();
  /** Set in a process that only reads: nobody tells it of commits, so that it looks by itself this often. */
  readonly #lookAgainMs: number;

  constructor(lookAgainMs: number = Number.POSITIVE_INFINITY) {
    this.#lookAgainMs = lookAgainMs;
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const go of waiting) go();
  }

  /** Resolves on the next `wake`, after the timeout or when the signal aborts; never rejects. */
  wait(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (timeoutMs <= 0 || signal?.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const go = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', go);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, Math.min(timeoutMs, this.#lookAgainMs, 0x7fff_ffff));
      signal?.addEventListener('abort', go, { once: true });
      this.#waiting.add(go);
    });
  }
}
