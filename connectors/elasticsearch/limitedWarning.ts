/** A warning that may come up for every record: logged at most once a minute, with how often it came up meanwhile. */
import type { Logger } from '../../runtime/api/index.ts';

const INTERVAL_MS = 60_000;

export class LimitedWarning {
  readonly #logger: Logger;
  readonly #message: string;
  #nextMs = 0;
  #unsaid = 0;

  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  warn(details: Readonly<Record<string, unknown>>): void {
    const now = performance.now();
    if (now < this.#nextMs) {
      this.#unsaid++;
      return;
    }
    this.#logger.warn({ ...details, ...(this.#unsaid > 0 ? { andBefore: this.#unsaid } : {}) }, this.#message);
    this.#unsaid = 0;
    this.#nextMs = now + INTERVAL_MS;
  }
}
