/** Lets waiting polls of a thread go on when something was committed to their topics or their group changed. */
export class Wakeups {
  #waiting = new Map<() => void, ReadonlySet<string>>();
  /** Set in a process that only reads: nobody tells it of commits, so that it looks by itself this often. */
  readonly #lookAgainMs: number;

  constructor(lookAgainMs: number = Number.POSITIVE_INFINITY) {
    this.#lookAgainMs = lookAgainMs;
  }

  /** Those that wait for one of `topics`; without it, all. */
  wake(topics?: readonly string[]): void {
    for (const [go, awaited] of [...this.#waiting])
      if (topics === undefined || topics.some(topic => awaited.has(topic))) go();
  }

  /** Resolves on the next `wake` for one of `topics`, after the timeout or when the signal aborts; never rejects. */
  wait(topics: ReadonlySet<string>, timeoutMs: number, signal?: AbortSignal): Promise<void> {
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
      this.#waiting.set(go, topics);
    });
  }
}
