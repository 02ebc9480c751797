/** Connections to the server: one set of session settings, so that result sets have the form that the type readers expect. */
import { readFileSync } from 'node:fs';
import type { Connection, ConnectionOptions } from 'mysql2/promise';
import { ConnectError, type ErrorCode } from '../../../runtime/api/index.ts';
import { ownError } from '../../shared/ownError.ts';
import { PieceSocket } from '../../shared/pieceSocket.ts';
import { createConnection } from '../client.ts';
import type { SourceSettings } from '../config.ts';
import { isConnectionLoss, isTlsRefusal } from '../connectionLoss.ts';

export interface ConnectOptions {
  /** It is to be read by a `RawStream`. */
  readonly isRaw?: boolean;
}

/** Text in UTF-8, times in UTC, backslashes and quotes as the standard modes have them. */
const SESSION = "SET time_zone = '+00:00', sql_mode = '', net_write_timeout = 3600, net_read_timeout = 3600";

export async function connect(settings: SourceSettings, options: ConnectOptions = {}): Promise<Connection> {
  const { mode } = settings.ssl;
  if (mode === 'disabled') return await open(settings, options, false);
  try {
    return await open(settings, options, true);
  } catch (error) {
    if (mode === 'preferred' && isTlsMissing(error)) return await open(settings, options, false);
    throw error;
  }
}

async function open(settings: SourceSettings, { isRaw = false }: ConnectOptions, isTls: boolean): Promise<Connection> {
  const config: ConnectionOptions = {
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password,
    charset: 'utf8mb4',
    connectTimeout: settings.connectTimeoutMs,
    enableKeepAlive: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    // Statements that are sent without the driver are text alone.
    flags: ['-CLIENT_QUERY_ATTRIBUTES'],
    ...(isTls && { ssl: tls(settings) }),
    ...(isRaw && { stream: () => pieceSocket(settings) }),
  };
  const connection = await createConnection(config);
  // A connection that is lost while idle says so by an event; the next use of it fails and is dealt with there.
  connection.on('error', () => {});
  try {
    await connection.query(SESSION);
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

function pieceSocket(settings: SourceSettings): PieceSocket {
  const socket = new PieceSocket();
  socket.connect(settings.port, settings.host);
  socket.setNoDelay(true);
  socket.setKeepAlive(true);
  return socket;
}

function tls(settings: SourceSettings): NonNullable<Exclude<ConnectionOptions['ssl'], string>> {
  const { mode, caFile, certFile, keyFile } = settings.ssl;
  return {
    rejectUnauthorized: mode === 'verify_ca' || mode === 'verify_identity',
    verifyIdentity: mode === 'verify_identity',
    ...(caFile !== null && { ca: pem('database.ssl.ca', caFile) }),
    ...(certFile !== null && { cert: pem('database.ssl.cert', certFile) }),
    ...(keyFile !== null && { key: pem('database.ssl.key', keyFile) }),
  };
}

function pem(key: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConnectError('MYSQL_TLS_FAILED', `${key} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');
export const errnoOf = (error: unknown): number => Number((error as { errno?: unknown } | null)?.errno ?? 0);

const isTlsMissing = (error: unknown): boolean => codeOf(error) === 'HANDSHAKE_NO_SSL_SUPPORT';

/** Whether making the connection again may help. */
export const isOutage = (error: unknown): boolean =>
  error instanceof ConnectError
    ? error.retriable && (error.code === 'MYSQL_UNREACHABLE' || error.code === 'MYSQL_SERVER_ID_TAKEN')
    : isConnectionLoss(error) || /^ER_(CON_COUNT_ERROR|SERVER_SHUTDOWN)$/.test(codeOf(error));

/** What a user can do about an error of the driver or the server. */
export function sourceError(error: unknown, settings: SourceSettings): ConnectError {
  const own = ownError(error);
  if (own !== null) return own;
  const message = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
  const make = (code: ErrorCode, text: string, retriable: boolean): ConnectError =>
    new ConnectError(code, text, { cause: error, retriable });
  if (isOutage(error)) {
    return make(
      'MYSQL_UNREACHABLE',
      `The server at ${settings.host}:${settings.port} does not answer: ${message}.`,
      true,
    );
  }
  if (isTlsRefusal(error)) {
    return make(
      'MYSQL_TLS_FAILED',
      `No TLS connection to ${settings.host}:${settings.port} could be made: ${message}. database.ssl.mode says what is checked, database.ssl.ca names the certificates that the server is checked against.`,
      false,
    );
  }
  switch (errnoOf(error)) {
    case 1045:
    case 1698:
    case 1130:
    case 1251:
      return make('MYSQL_LOGIN_REFUSED', `The server refused the user "${settings.user}": ${message}.`, false);
    case 1142:
    case 1143:
    case 1227:
    case 1044:
      return make('MYSQL_RIGHTS_MISSING', `The user "${settings.user}" lacks a right: ${message}.`, false);
    default:
      return make('MYSQL_STATEMENT_REFUSED', `${message}.`, false);
  }
}
