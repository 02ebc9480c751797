/** One connection of a sink to its target, opened when it is needed and again after it was lost. */
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import { abandon, connect, type Database, disconnect, type FirebirdAddress, isConnectionLoss } from '../connection.ts';

export class Session {
  readonly #address: FirebirdAddress;
  readonly #logger: Logger;
  readonly #abort = new AbortController();
  #database: Database | null = null;
  #isBusy = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(address: FirebirdAddress, logger: Logger) {
    this.#address = address;
    this.#logger = logger;
  }

  /** Runs work on the connection, when earlier work has ended. */
  use<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#abort.signal.aborted) throw new ConnectError('SINK_UNAVAILABLE', 'the task was stopped');
      this.#database ??= await connect(this.#address, this.#abort.signal);
      this.#isBusy = true;
      try {
        return await this.#untilStopped(work(this.#database));
      } catch (error) {
        if (isConnectionLoss(error)) await this.#drop(error);
        throw error;
      } finally {
        this.#isBusy = false;
      }
    });
    this.#last = result.catch(() => {
      // Whoever asked for the work gets its error; the next in line does not.
    });
    return result;
  }

  /** The client does not end calls of a connection that was given up. */
  #untilStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(new ConnectError('SINK_UNAVAILABLE', 'the task was stopped'));
      signal.addEventListener('abort', onAbort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  async #drop(error: unknown): Promise<void> {
    this.#logger.warn({ reason: String(error) }, 'the connection to the target was lost');
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
