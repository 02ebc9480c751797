/**
 * One connection to Firebird, opened when it is needed and again after it was lost. Work on it comes one after the other, and ends with the session.
 */
import type { Logger } from '../../runtime/api/index.ts';
import {
  abandon,
  connect,
  type Database,
  disconnect,
  type FirebirdAddress,
  isConnectionLoss,
  isGone,
  whileConnected,
} from './connection.ts';

export interface SessionOptions {
  readonly address: FirebirdAddress;
  readonly logger: Logger;
  /** For messages: what is at the other end. */
  readonly what: string;
  /** What work fails with once the session is closed. */
  readonly stopped: () => Error;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #abort = new AbortController();
  #database: Database | null = null;
  #isBusy = false;
  #lastUsedMs = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Runs work on the connection, when earlier work has ended. */
  use<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#abort.signal.aborted) throw this.#options.stopped();
      if (this.#database !== null && isGone(this.#database)) this.#drop('it was closed while nothing used it');
      this.#database ??= await connect(this.#options.address, this.#abort.signal);
      const database = this.#database;
      this.#isBusy = true;
      try {
        return await this.#untilStopped(whileConnected(database, () => work(database)));
      } catch (error) {
        if (isConnectionLoss(error)) this.#drop(error);
        throw error;
      } finally {
        this.#isBusy = false;
        this.#lastUsedMs = performance.now();
      }
    });
    this.#last = result.catch(() => {
      // Whoever asked for the work gets its error; the next in line does not.
    });
    return result;
  }

  /** Runs DDL on a connection of its own. One that stays after several makes Firebird's next DDL on another connection wait for it without end. */
  runDdl<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    const result = this.#last.then(async () => {
      if (signal.aborted) throw this.#options.stopped();
      const database = await connect(this.#options.address, signal);
      try {
        return await this.#untilStopped(whileConnected(database, () => work(database)));
      } finally {
        if (signal.aborted) abandon(database);
        else await disconnect(database);
      }
    });
    this.#last = result.catch(() => {
      // As above.
    });
    return result;
  }

  /** The client does not end calls of a connection that was given up. */
  #untilStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(this.#options.stopped());
      signal.addEventListener('abort', onAbort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  #drop(reason: unknown): void {
    this.#options.logger.warn({ reason: String(reason) }, `the connection to ${this.#options.what} was lost`);
    const database = this.#database;
    this.#database = null;
    // Without a goodbye: a server that has ended the session does not answer one.
    if (database !== null) abandon(database);
  }

  /** Gives the connection up if nothing used it for so long; the next use makes another. */
  async rest(idleMs: number): Promise<void> {
    if (this.#database === null || this.#isBusy || performance.now() - this.#lastUsedMs < idleMs) return;
    const database = this.#database;
    this.#database = null;
    await disconnect(database);
  }

  /** Drops the connection; what is not committed does not come about. */
  async close(): Promise<void> {
    const isBusy = this.#isBusy;
    this.#abort.abort();
    const database = this.#database;
    this.#database = null;
    if (isBusy && database !== null) abandon(database);
    else await disconnect(database);
  }
}
