/** One connection of a sink to its target, opened when it is needed and again after it was lost. */
import type { Connection, ConnectionOptions, RowDataPacket } from 'mysql2/promise';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import { createConnection } from '../client.ts';
import { isConnectionLoss } from '../connectionLoss.ts';

/**
 * Values must be taken as they are, or refused: strict mode, no zero as "the next number", UTC, and our literals' way of escaping. Zero dates are
 * allowed, since a source may have them.
 */
const SETTINGS =
  "set session sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION', session time_zone = '+00:00', session autocommit = 1";
/** Long lists of keys must be looked up, however many they are. */
const MYSQL_SETTINGS = 'set session range_optimizer_max_mem_size = 0';
const READ_COMMITTED = 'set session transaction isolation level read committed';
const VARIABLES = "show session variables where variable_name in ('version', 'max_allowed_packet', 'binlog_format')";
const CANCEL_TIMEOUT_MS = 2000;

export interface ServerFacts {
  readonly isMariaDb: boolean;
  readonly version: string;
  readonly maxAllowedPacket: number;
}

export interface OpenSession {
  readonly connection: Connection;
  readonly server: ServerFacts;
}

export class Session {
  readonly #options: ConnectionOptions;
  readonly #logger: Logger;
  #open: OpenSession | null = null;
  #connecting: Promise<OpenSession> | null = null;
  #isClosed = false;
  /** Rejects the work that is under way; null = there is none. */
  #abandonWork: ((error: Error) => void) | null = null;
  #isMariaDb = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  async #opened(): Promise<OpenSession> {
    if (this.#isClosed) throw new ConnectError('SINK_UNAVAILABLE', 'the task was stopped');
    if (this.#open) return this.#open;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<OpenSession> {
    const connection = await createConnection(this.#options);
    connection.on('error', (error: Error) => this.#lose(connection, error.message));
    connection.on('end', () => this.#lose(connection, 'closed'));
    try {
      await connection.query(SETTINGS);
      const facts = await readVariables(connection);
      const version = facts.get('version') ?? '';
      // Fewer locks, so fewer deadlocks; a log of statements does not allow it.
      if (facts.get('binlog_format') !== 'STATEMENT') await connection.query(READ_COMMITTED);
      const isMariaDb = /mariadb/i.test(version);
      if (!isMariaDb) await connection.query(MYSQL_SETTINGS);
      this.#isMariaDb = isMariaDb;
      const server = { isMariaDb, version, maxAllowedPacket: Number(facts.get('max_allowed_packet')) };
      this.#open = { connection, server };
      return this.#open;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  #lose(connection: Connection, reason: string): void {
    if (this.#open?.connection !== connection) return;
    this.#open = null;
    if (!this.#isClosed) this.#logger.warn({ reason }, 'the connection to the target was lost');
  }

  /** Drops the connection; what it is doing is killed, and does not come about. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = this.#open ?? (await this.#connecting?.catch(() => null));
    this.#open = null;
    if (!open) return;
    const abandon = this.#abandonWork;
    if (abandon) await this.#kill(open.connection);
    open.connection.destroy();
    // The client tells nobody who waits for an answer that it was destroyed.
    abandon?.(new ConnectError('SINK_UNAVAILABLE', 'the task was stopped'));
  }

  /** Runs work on the connection, when earlier work has ended. It does not outlive the session. */
  use<T>(work: (open: OpenSession) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      const open = await this.#opened();
      try {
        return await new Promise<T>((resolve, reject) => {
          this.#abandonWork = reject;
          work(open).then(resolve, reject);
        });
      } catch (error) {
        // Where a statement waits for its answer, the client tells that statement alone.
        if (isConnectionLoss(error)) this.#lose(open.connection, (error as Error).message);
        throw error;
      } finally {
        this.#abandonWork = null;
      }
    });
    this.#last = result.catch(() => {
      // Whoever asked for the work gets its error; the next in line does not.
    });
    return result;
  }

  /** Of the server of the last connection. */
  get isMariaDb(): boolean {
    return this.#isMariaDb;
  }

  /** Forgets a connection whose state nobody knows any more. */
  discard(connection: Connection): void {
    if (this.#open?.connection === connection) this.#open = null;
    connection.destroy();
  }

  async #kill(connection: Connection): Promise<void> {
    try {
      const killer = await createConnection({ ...this.#options, connectTimeout: CANCEL_TIMEOUT_MS });
      try {
        await killer.query(`kill ${Number(connection.threadId)}`);
      } finally {
        killer.destroy();
      }
    } catch (error) {
      this.#logger.warn({ reason: String(error) }, 'a write that was under way could not be cancelled');
    }
  }
}

async function readVariables(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const [rows] = await connection.query<RowDataPacket[]>(VARIABLES);
  return new Map(rows.map(row => [String(row.Variable_name), String(row.Value)]));
}
