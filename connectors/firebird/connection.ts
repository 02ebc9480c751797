/** Connections to Firebird, for source and sink: one set of options under which values are exact, a bound on every login, errors that say what to change. */

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Firebird from 'node-firebird';
import type { Database, Options, Transaction } from 'node-firebird';
import { ConnectError } from '../../schemas/errors.ts';
import { patchSrpChallenge } from './srpChallenge.ts';

export type { Database, Transaction };

export interface FirebirdAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly role: string | null;
}

const CONNECT_TIMEOUT_MS = 20_000;
const DETACH_TIMEOUT_MS = 3000;
const BLOB_CHUNK_BYTES = 65_535;

const require = createRequire(import.meta.url);
/** The client is loaded when it is first needed, which saves every start the time. */
function firebirdClient(): typeof Firebird {
  patchSrpChallenge(require('node-firebird/lib/wire/serialize.js'));
  return require('node-firebird') as typeof Firebird;
}

/** SNAPSHOT, read only: one moment for as long as it is open. Its four items: version 3, concurrency, wait, read. */
export const snapshotTransaction = (): { isolation: number[]; readOnly: true } => ({
  isolation: [...firebirdClient().ISOLATION_REPEATABLE_READ],
  readOnly: true,
});

export async function connect(address: FirebirdAddress, signal: AbortSignal): Promise<Database> {
  signal.throwIfAborted();
  try {
    return await attach(address, signal);
  } catch (error) {
    throw firebirdError(error, address);
  }
}

/** The client never answers where the server refuses the password: a login is given up after a while, and one that comes late is closed. */
function attach(address: FirebirdAddress, signal: AbortSignal): Promise<Database> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const give = (error: unknown, database: Database | null): void => {
      if (isOver) {
        database?.detach();
        return;
      }
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      if (database === null) reject(error);
      else resolve(database);
    };
    const onAbort = (): void => give(signal.reason, null);
    const timer = setTimeout(() => {
      const why = `the server at ${address.host}:${address.port} did not answer the login of ${address.user} to ${address.database} within ${CONNECT_TIMEOUT_MS} ms, as it does for a wrong password`;
      give(new ConnectError('FB_LOGIN_FAILED', `${why}. Check database.user and database.password.`), null);
    }, CONNECT_TIMEOUT_MS);
    signal.addEventListener('abort', onAbort, { once: true });
    const { host, port, database, user, password, role } = address;
    firebirdClient().attach(
      {
        host,
        port,
        database,
        user,
        password,
        ...(role !== null && { role }),
        numericMode: 'string',
        encoding: 'UTF8',
        blobReadChunkSize: BLOB_CHUNK_BYTES,
        blobChunkSize: BLOB_CHUNK_BYTES,
        // Else the client makes a new connection by itself where one is lost, which nobody knows of. It must still detach.
        isPool: true,
      } as Options,
      (error, attached) => {
        if (error) give(error, null);
        else {
          innerOf(attached).connection!._pooled = false;
          // A connection that is lost while idle says so by an event; the next use of it fails and is dealt with there.
          (attached as Database & NodeJS.EventEmitter).on('error', () => {});
          give(null, attached);
        }
      },
    );
  });
}

/** What the client does not offer: see its wire/connection. */
const innerOf = (database: Database): { connection?: { _socket?: Socket | null; _pooled: boolean } } =>
  database as unknown as { connection?: { _socket?: Socket | null; _pooled: boolean } };

/** Ends the connection at once: the server rolls back what it was doing. Calls that are under way never end. */
export function abandon(database: Database): void {
  innerOf(database).connection?._socket?.destroy();
}

/** Ends the connection, also where the server does not answer any more. */
export async function disconnect(database: Database | null): Promise<void> {
  if (database === null) return;
  const bound = new AbortController();
  const late = delay(DETACH_TIMEOUT_MS, undefined, { signal: bound.signal }).catch(() => {});
  await Promise.race([database.detachAsync(true).catch(() => {}), late]);
  bound.abort();
  abandon(database);
}

const GDS = {
  login: 335544472,
  unavailable: 335544375,
  io: 335544344,
  network: 335544721,
  shutdown: 335544528,
} as const;

export const gdsCode = (error: unknown): number | null => {
  const code = (error as { gdscode?: unknown } | null)?.gdscode;
  return typeof code === 'number' ? code : null;
};

const NETWORK =
  /ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|connection (is |was )?(closed|lost|ended)|socket/i;

export const isConnectionLoss = (error: unknown): boolean =>
  gdsCode(error) === GDS.network ||
  gdsCode(error) === GDS.shutdown ||
  NETWORK.test(`${(error as { code?: unknown } | null)?.code} ${error instanceof Error ? error.message : ''}`);

/** Any failure to connect or to be served, as an error that says what to change. */
export function firebirdError(error: unknown, address: FirebirdAddress): ConnectError {
  if (error instanceof ConnectError) return error;
  const where = `Firebird at ${address.host}:${address.port}`;
  const reason = error instanceof Error ? error.message : String(error);
  const code = gdsCode(error);
  if (code === GDS.login || code === GDS.unavailable || code === GDS.io) {
    return new ConnectError(
      'FB_LOGIN_FAILED',
      `${where} refused user ${address.user} or database ${address.database}: ${reason}. Check database.user, database.password and database.dbname.`,
      { cause: error },
    );
  }
  if (isConnectionLoss(error)) {
    return new ConnectError('FB_UNREACHABLE', `${where} could not be reached: ${reason}.`, {
      cause: error,
      retriable: true,
    });
  }
  return new ConnectError('FB_STATEMENT_REFUSED', `${where} refused a statement: ${reason}.`, { cause: error });
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
