/** Connections to Firebird, for source and sink: one set of options under which values are exact, a bound on every login, errors that say what to change. */

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Firebird from 'node-firebird';
import type { Database, Options, Transaction } from 'node-firebird';
import { ConnectError } from '../../schemas/errors.ts';
import { ownError } from '../shared/ownError.ts';
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
/** A right password was seen to be refused now and then, by a server that had just started; what is proved is new in each login. */
const LOGIN_ATTEMPTS = 3;
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
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await attach(address, signal);
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw firebirdError(error, address);
      if (attempt < LOGIN_ATTEMPTS) continue;
      const { host, port, user } = address;
      const why = `Firebird at ${host}:${port} refused the user ${user} or the password`;
      throw new ConnectError('FB_LOGIN_FAILED', `${why}. Check database.user and database.password.`);
    }
  }
}

class LoginRefused extends Error {}

/** A login is given up after a while, and one that comes late is closed. */
function attach(address: FirebirdAddress, signal: AbortSignal): Promise<Database> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let stopWatching = (): void => {};
    let made: Inner | null = null;
    const give = (error: unknown, database: Database | null): void => {
      if (isOver) {
        database?.detach();
        return;
      }
      isOver = true;
      stopWatching();
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      made?._socket?.removeListener('close', onClose);
      if (database !== null) {
        resolve(database);
        return;
      }
      // The client keeps the connection of a login that failed.
      made?._socket?.destroy();
      reject(error);
    };
    const onAbort = (): void => give(signal.reason, null);
    // The client waits on, or begins a login on the closed connection.
    const onClose = (): void => give(new ConnectionLost(), null);
    const timer = setTimeout(() => {
      const why = `the server at ${address.host}:${address.port} did not answer the login of ${address.user} to ${address.database} within ${CONNECT_TIMEOUT_MS} ms`;
      give(new ConnectError('FB_UNREACHABLE', `${why}.`, { retriable: true }), null);
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
    made = connectionBeingMade();
    made._socket?.addListener('close', onClose);
    stopWatching = whenRefused(made, () => give(new LoginRefused(), null));
  });
}

/** The client keeps it for its tests. */
const connectionBeingMade = (): Inner => (firebirdClient() as unknown as { readonly connection: Inner }).connection;

const OP_CONT_AUTH = 92;
/** A challenge has salt and key; a server's proof is shorter. */
const MIN_CHALLENGE_BYTES = 200;

/**
 * Where a server refuses a user or a password it offers its next way to log in. The client takes such an offer for something else: it waits for ever, or
 * throws where nobody can catch it. So what comes while the login is under way, in plain bytes, passes through here first.
 */
function whenRefused(connection: Inner, refused: () => void): () => void {
  const socket = connection._socket!;
  const readers = socket.listeners('data') as ((bytes: Buffer) => void)[];
  const challenges = new Set<string>();
  const onData = (bytes: Buffer): void => {
    if (isRefusal(bytes, challenges)) {
      refused();
      return;
    }
    for (const read of readers) read(bytes);
  };
  socket.removeAllListeners('data');
  // The client's own `on` would decrypt once more.
  socket.addListener('data', onData);
  return () => {
    socket.removeListener('data', onData);
    for (const read of readers) socket.addListener('data', read);
  };
}

/** An offer of SRP without a challenge, or with another one after it was answered. */
function isRefusal(bytes: Buffer, challenges: Set<string>): boolean {
  if (bytes.length < 16 || bytes.readInt32BE(0) !== OP_CONT_AUTH) return false;
  const length = bytes.readInt32BE(4);
  // What follows is padded to four bytes.
  const at = 8 + ((length + 3) & ~3);
  if (length < 0 || at + 4 > bytes.length) return false;
  const plugin = bytes.toString('latin1', at + 4, at + 4 + bytes.readInt32BE(at));
  if (!plugin.startsWith('Srp')) return false;
  if (length === 0 || (length > MIN_CHALLENGE_BYTES && challenges.has(plugin))) return true;
  challenges.add(plugin);
  return false;
}

/** What the client does not offer: see its wire/connection. */
interface Inner {
  readonly _socket?: Socket | null;
  _pooled: boolean;
  readonly _isClosed: boolean;
}

const innerOf = (database: Database): { connection?: Inner } => database as unknown as { connection?: Inner };

class ConnectionLost extends Error {
  constructor() {
    super('the connection was lost');
  }
}

export function isGone(database: Database): boolean {
  const { connection } = innerOf(database);
  const socket = connection?._socket;
  return connection === undefined || connection._isClosed || socket == null || socket.destroyed;
}

/** Work on a connection; it fails as soon as that is lost, with an error that says so, whatever the client makes of its calls. */
export function whileConnected<T>(database: Database, work: () => Promise<T>): Promise<T> {
  if (isGone(database)) return Promise.reject(new ConnectionLost());
  const socket = innerOf(database).connection!._socket!;
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new ConnectionLost());
    socket.addListener('close', onClose);
    work()
      .then(resolve, (error: unknown) =>
        reject(isGone(database) && !isConnectionLoss(error) ? new ConnectionLost() : error),
      )
      .finally(() => socket.removeListener('close', onClose));
  });
}

/** Ends the connection at once: the server rolls back what it was doing. Calls that are under way never end. */
export function abandon(database: Database): void {
  innerOf(database).connection?._socket?.destroy();
}

/** Ends the connection, also where the server does not answer any more. */
export async function disconnect(database: Database | null): Promise<void> {
  if (database === null) return;
  const bound = new AbortController();
  const late = delay(DETACH_TIMEOUT_MS, undefined, { signal: bound.signal }).catch(() => {});
  const detached = whileConnected(database, () => database.detachAsync(true)).catch(() => {});
  await Promise.race([detached, late]);
  bound.abort();
  abandon(database);
}

const GDS = {
  login: 335544472,
  unavailable: 335544375,
  io: 335544344,
  network: 335544721,
  shutdown: 335544528,
  attachmentShutdown: 335544856,
} as const;

export const gdsCode = (error: unknown): number | null => {
  const code = (error as { gdscode?: unknown } | null)?.gdscode;
  return typeof code === 'number' ? code : null;
};

const NETWORK =
  /ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|connection (is |was )?(closed|lost|ended)|server was lost|connection shutdown|socket/i;

const LOSSES: readonly (number | null)[] = [GDS.network, GDS.shutdown, GDS.attachmentShutdown];

export const isConnectionLoss = (error: unknown): boolean =>
  LOSSES.includes(gdsCode(error)) ||
  NETWORK.test(`${(error as { code?: unknown } | null)?.code} ${error instanceof Error ? error.message : ''}`);

/** Any failure to connect or to be served, as an error that says what to change. */
export function firebirdError(error: unknown, address: FirebirdAddress): ConnectError {
  const own = ownError(error);
  if (own !== null) return own;
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
