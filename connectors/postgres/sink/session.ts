/** One connection of a sink to its target, opened when it is needed and again after it was lost. */
import { Client, type ClientConfig } from 'pg';
import type { Logger } from '../../../runtime/api/index.ts';

/** Values that the server casts from text must not depend on the settings of user or database. */
const SETTINGS =
  "set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'iso_8601'; set bytea_output = 'hex'";

export class Session {
  readonly #options: ClientConfig;
  readonly #logger: Logger;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #isClosed = false;

  constructor(options: ClientConfig, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  async client(): Promise<Client> {
    if (this.#client) return this.#client;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Client> {
    const client = new Client(this.#options);
    const lost = (error?: Error): void => {
      if (this.#client !== client) return;
      this.#client = null;
      if (!this.#isClosed)
        this.#logger.warn({ reason: error?.message ?? 'closed' }, 'the connection to the target was lost');
    };
    client.on('error', lost);
    client.on('end', () => lost());
    try {
      await client.connect();
      await client.query(SETTINGS);
    } catch (error) {
      await client.end().catch(() => {
        // It never came to be; the error that matters is the one above.
      });
      throw error;
    }
    this.#client = client;
    return client;
  }

  /** Drops the connection, whatever it is doing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client ?? (await this.#connecting?.catch(() => null));
    this.#client = null;
    await client?.end();
  }
}
