/** One connection of a sink to its target, opened when it is needed and again after it was lost. */
import { Client, type ClientConfig } from 'pg';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import { isState } from './pgFailure.ts';

/** Values that the server casts from text must not depend on the settings of user or database. */
const SETTINGS =
  "set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'iso_8601'; set bytea_output = 'hex'";

/** So that a write of a worker that is gone does not wait for a lock and come about after newer ones. From PostgreSQL 14, not on every platform. */
const NOTICE_LOSS =
  "select set_config(name, '1s', false) from pg_settings where name = 'client_connection_check_interval'";
const CANCEL_TIMEOUT_MS = 2000;

/** How the target sees what the session writes; null = as user and database have it. */
export interface SessionMarks {
  /** session_replication_role */
  readonly replicationRole: string | null;
  /** The replication origin that its changes have. No two sessions at a time may have the same. */
  readonly origin: string | null;
}

export class Session {
  readonly #options: ClientConfig;
  readonly #marks: SessionMarks;
  readonly #logger: Logger;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #isClosed = false;
  #isBusy = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ClientConfig, marks: SessionMarks, logger: Logger) {
    this.#options = options;
    this.#marks = marks;
    this.#logger = logger;
  }

  async #open(): Promise<Client> {
    if (this.#isClosed) throw new ConnectError('SINK_UNAVAILABLE', 'the task was stopped');
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
      const { replicationRole, origin } = this.#marks;
      if (replicationRole !== null) await setReplicationRole(client, replicationRole);
      if (origin !== null) await setOrigin(client, origin);
      await client.query(NOTICE_LOSS).catch(error => {
        this.#logger.debug({ reason: String(error) }, 'the target cannot notice the loss of its client');
      });
    } catch (error) {
      await client.end().catch(() => {
        // It never came to be; the error that matters is the one above.
      });
      throw error;
    }
    this.#client = client;
    return client;
  }

  /** Drops the connection; what it is doing is cancelled, and does not come about. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client ?? (await this.#connecting?.catch(() => null));
    this.#client = null;
    if (!client) return;
    if (this.#isBusy) await this.#cancel(client);
    await client.end();
  }

  /** Runs work on the connection, when earlier work has ended. It does not outlive the session. */
  use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      const client = await this.#open();
      this.#isBusy = true;
      try {
        return await work(client);
      } finally {
        this.#isBusy = false;
      }
    });
    this.#last = result.catch(() => {
      // Whoever asked for the work gets its error; the next in line does not.
    });
    return result;
  }

  async #cancel(client: Client): Promise<void> {
    const { processID } = client as unknown as { processID: number };
    const canceller = new Client({ ...this.#options, connectionTimeoutMillis: CANCEL_TIMEOUT_MS });
    try {
      await canceller.connect();
      await canceller.query('select pg_cancel_backend($1)', [processID]);
    } catch (error) {
      this.#logger.warn({ reason: String(error) }, 'a write that was under way could not be cancelled');
    } finally {
      await canceller.end().catch(() => {
        // It was of use or it was not; there is nothing left to do for it.
      });
    }
  }
}

async function setReplicationRole(client: Client, role: string): Promise<void> {
  await client.query(`select set_config('session_replication_role', $1, false)`, [role]).catch(error => {
    if (!isState(error, '42501')) throw error;
    throw new ConnectError(
      'SINK_PRIVILEGE',
      `the user of the sink may not set session_replication_role, as session.replication.role=${role} asks; run GRANT SET ON PARAMETER session_replication_role TO it (from PostgreSQL 15, else it must be a superuser), or leave the key out`,
      { cause: error },
    );
  });
}

/** Where a session before this one has it still, because the server has not noticed its end, the error is one that passes. */
async function setOrigin(client: Client, origin: string): Promise<void> {
  try {
    const { rows } = await client.query('select pg_replication_origin_oid($1) is null as missing', [origin]);
    if (rows[0].missing) {
      await client.query('select pg_replication_origin_create($1)', [origin]).catch(error => {
        // Another task made it at the same time.
        if (!isState(error, '23505', '42710')) throw error;
      });
    }
    await client.query('select pg_replication_origin_session_setup($1)', [origin]);
  } catch (error) {
    if (!isState(error, '42501')) throw error;
    throw new ConnectError(
      'SINK_PRIVILEGE',
      `the user of the sink may not set a replication origin, as replication.origin asks; run GRANT EXECUTE ON FUNCTION pg_replication_origin_oid(text), pg_replication_origin_create(text), pg_replication_origin_session_setup(text) TO it, or leave the key out`,
      { cause: error },
    );
  }
}
