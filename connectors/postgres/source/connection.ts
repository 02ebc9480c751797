/** Connections to the source: one set of session settings, so that every text form is the one the type readers expect. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';
import { ownError } from '../../shared/ownError.ts';
import { PieceSocket } from '../../shared/pieceSocket.ts';
import type { SourceSettings } from '../config.ts';

const SESSION =
  '-c DateStyle=ISO -c IntervalStyle=iso_8601 -c TimeZone=UTC -c extra_float_digits=3 -c bytea_output=hex';
const CONNECT_TIMEOUT_MS = 30_000;

export interface ConnectOptions {
  /** It speaks the replication protocol and plain SQL both. */
  readonly replication?: boolean;
  /** It is to be read by a `RawStream`. */
  readonly isRaw?: boolean;
}

export async function connect(
  settings: SourceSettings,
  purpose: string,
  options: ConnectOptions = {},
): Promise<pg.Client> {
  const { mode } = settings.ssl;
  const isPlainFirst = mode === 'allow' || mode === 'disable';
  try {
    return await open(settings, purpose, options, isPlainFirst ? false : tls(settings));
  } catch (error) {
    if (mode === 'prefer' && isTlsRefused(error)) return await open(settings, purpose, options, false);
    if (mode === 'allow' && isPlainRefused(error)) return await open(settings, purpose, options, tls(settings));
    throw error;
  }
}

async function open(
  settings: SourceSettings,
  purpose: string,
  options: ConnectOptions,
  ssl: false | ConnectionOptions,
): Promise<pg.Client> {
  const config: pg.ClientConfig & { replication?: string } = {
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password,
    database: settings.database,
    ssl,
    keepAlive: settings.tcpKeepAlive,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: `millrace ${purpose} ${settings.prefix}`.slice(0, 63),
    options: SESSION,
    ...(options.replication && { replication: 'database' }),
    ...(options.isRaw && { stream: () => new PieceSocket() }),
  };
  const client = new pg.Client(config);
  // A connection that is lost while idle says so by an event; the next use of it fails and is dealt with there.
  client.on('error', () => {});
  try {
    await client.connect();
    for (const statement of settings.initialStatements) await client.query(statement);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

function tls(settings: SourceSettings): ConnectionOptions {
  const { mode, rootCertFile, certFile, keyFile, keyPassword } = settings.ssl;
  const isVerified = mode === 'verify-ca' || mode === 'verify-full';
  return {
    rejectUnauthorized: isVerified,
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(rootCertFile !== null && { ca: readFileSync(rootCertFile) }),
    ...(certFile !== null && { cert: readFileSync(certFile) }),
    ...(keyFile !== null && { key: readFileSync(keyFile) }),
    ...(keyPassword !== null && { passphrase: keyPassword }),
  };
}

const isTlsRefused = (error: unknown): boolean => /does not support SSL/.test(String(error));
const isPlainRefused = (error: unknown): boolean => sqlState(error) === '28000';

export function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  // Each has a digit; EPIPE is of the system.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Any failure to connect or to be served, as an error that says what to change. */
export function sourceError(error: unknown, settings: SourceSettings): ConnectError {
  const own = ownError(error);
  if (own !== null) return own;
  const where = `${settings.host}:${settings.port}`;
  const reason = error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error);
  switch (sqlState(error)) {
    case '28P01':
    case '28000':
      return new ConnectError(
        'PG_LOGIN_REFUSED',
        `PostgreSQL at ${where} refused user "${settings.user}": ${reason}. Check database.user, database.password and pg_hba.conf (replication connections too).`,
        { cause: error },
      );
    case '3D000':
      return new ConnectError('PG_DATABASE_MISSING', `PostgreSQL at ${where}: ${reason}. Check database.dbname.`, {
        cause: error,
      });
    case '55006':
      return new ConnectError('PG_SLOT_ACTIVE', `${reason}. Give each connector its own slot.name.`, {
        cause: error,
        retriable: true,
      });
    default:
      if (!isConnectionLoss(error)) {
        return new ConnectError('PG_STATEMENT_REFUSED', `PostgreSQL at ${where} refused a statement: ${reason}.`, {
          cause: error,
        });
      }
      return new ConnectError(
        'PG_UNREACHABLE',
        `PostgreSQL at ${where} could not be reached: ${reason}. Check database.hostname, database.port, database.sslmode and that the server runs.`,
        { cause: error, retriable: true },
      );
  }
}

const NETWORK_CODES =
  /^(ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/;

/** Whether a new connection may help: the socket ended, the server went down or comes up. What the client itself finds has only a text. */
export function isConnectionLoss(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(57P0|08|53300|XX000)/.test(state);
  if (error instanceof ConnectError) return error.code === 'PG_UNREACHABLE';
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss);
  if (NETWORK_CODES.test(String((error as { code?: unknown } | null)?.code))) return true;
  return /connection (terminated|error|ended)|not queryable|socket|timeout|\b(ended|closed)\b/i.test(String(error));
}

/** An SQL identifier or literal, quoted. */
export const quoteName = (name: string): string => `"${name.replace(/"/g, '""')}"`;
export const quoteText = (text: string): string =>
  `${text.includes('\\') ? ' E' : ''}'${text.replace(/'/g, "''").replace(/\\/g, '\\\\')}'`;
