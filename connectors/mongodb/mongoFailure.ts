/** What an error of the server, or of the connection to it, means for the sink. */
import {
  BSON,
  MongoBulkWriteError,
  MongoError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type WriteError,
} from 'mongodb';
import { ConnectError } from '../../runtime/api/index.ts';
import { ownError } from '../shared/ownError.ts';
import type { FailureClass } from '../shared/retryTransient.ts';

/**
 * Errors that pass by themselves: no primary, a server that stops or starts, hosts and sockets, time limits, locks and write conflicts, catalogs that move, a
 * write concern that was not met in time, a full disk, requests that come too fast.
 */
const TRANSIENT = new Set([
  6, 7, 24, 46, 50, 63, 64, 89, 91, 100, 112, 133, 134, 150, 189, 202, 225, 251, 262, 317, 384, 9001, 10058, 10107,
  11600, 11602, 13388, 13435, 13436, 14031, 16500,
]);
/** Not of one document: rights, names that cannot be, views, commands that are not there, a cluster that is set up wrong. */
const FATAL = new Set([8, 11, 13, 18, 20, 26, 33, 59, 72, 73, 79, 115, 166, 323, 8000]);
const UNAUTHORIZED = 13;
const LOGIN = new Set([11, 18, 33, 8000]);
/** Of a whole command, because of a document in it: bad values, documents and keys that are too large, keys of shards. */
const RECORD = new Set([
  2, 9, 14, 22, 52, 54, 55, 56, 57, 61, 66, 121, 10334, 11000, 11001, 12582, 17280, 17419, 17420,
]);
const DUPLICATE_KEY = new Set([11000, 11001, 12582]);
const FAILED_VALIDATION = 121;
const RETRYABLE = ['RetryableWriteError', 'TransientTransactionError', 'RetryableError', 'SystemOverloadedError'];

export const isDuplicateKey = ({ code }: ServerReason): boolean => DUPLICATE_KEY.has(Number(code));

/** What ended a bulk write, where it was nothing that the server said of it: the driver wraps such errors, whatever they are. */
export const withoutWrap = (error: unknown): unknown =>
  error instanceof MongoBulkWriteError && error.errorResponse instanceof Error ? error.errorResponse : error;

/** Errors of single documents, with their places among those that were sent; empty for an error of all. */
export const writeErrorsOf = (error: MongoBulkWriteError): readonly WriteError[] => [error.writeErrors].flat();

export function classifyMongoFailure(error: unknown): FailureClass {
  if (error instanceof ConnectError) return error.retriable ? 'transient' : 'fatal';
  // A member that the driver takes for a mark of its own types.
  if (error instanceof BSON.BSONError) return 'record';
  // Errors of sockets come through as they are, now and then.
  if (!(error instanceof MongoError)) return error instanceof Error && 'syscall' in error ? 'transient' : 'fatal';
  if (error instanceof MongoBulkWriteError) {
    if (error.result.getWriteConcernError() !== undefined) return 'transient';
    const classes = new Set(writeErrorsOf(error).map(({ code }) => classOfCode(Number(code))));
    for (const each of ['transient', 'fatal', 'record'] as const) if (classes.has(each)) return each;
  }
  if (isPassing(error)) return 'transient';
  if (isTooLarge(error)) return 'record';
  if (error instanceof MongoServerError) return RECORD.has(Number(error.code)) ? 'record' : 'fatal';
  return 'fatal';
}

/** What the driver says of a statement, filter and document together, before it sends any of a bulk write. */
const isTooLarge = (error: MongoError): boolean =>
  error instanceof MongoInvalidArgumentError && /larger than the maximum size/i.test(error.message);

/** Of an error that the server told of one document. */
const classOfCode = (code: number): FailureClass =>
  TRANSIENT.has(code) ? 'transient' : FATAL.has(code) ? 'fatal' : 'record';

function isPassing(error: MongoError): boolean {
  if (RETRYABLE.some(label => error.hasErrorLabel(label)) || TRANSIENT.has(Number(error.code))) return true;
  if (error instanceof MongoServerSelectionError) return !isTlsRefusal(error);
  // Waits for a connection of the pool, a pool that was emptied: by name, as not all of these classes are public.
  return error instanceof MongoNetworkError || /WaitQueueTimeout|PoolCleared|OperationTimeout/.test(error.name);
}

const isTlsRefusal = (error: Error): boolean =>
  /certificate|self-signed|SSL routines|altnames|tlsv1 alert/i.test(error.message);

export interface ServerReason {
  readonly code?: number | string | undefined;
  readonly codeName?: string | undefined;
  readonly errmsg?: string | undefined;
  readonly message?: string | undefined;
}

/** Why a document was refused, without the values in it: the server quotes them in most of its messages. */
export function documentReason({ code, codeName, errmsg = '' }: ServerReason): string {
  const number = Number(code);
  const shown = ` [${code}${codeName ? `, ${codeName}` : ''}]`;
  if (isDuplicateKey({ code })) {
    const index = /index: (\S+)/.exec(errmsg)?.[1];
    return `another document has the same value in unique index ${index ?? 'of the collection'}${shown}`;
  }
  if (number === FAILED_VALIDATION) return `the document fails the validation of the collection${shown}`;
  return `${withoutValues(errmsg) || 'no reason given'}${shown}`;
}

/** Server messages put documents in braces and values in quotes. From the first that opens to the last that may close it: rather a word too much than a value. */
const withoutValues = (message: string): string =>
  message
    .replace(/\{[\s\S]*\}|\{[\s\S]*$/g, '…')
    .replace(/"[\s\S]*"|"[\s\S]*$/g, '…')
    .replace(/(?<![\p{L}\p{N}])'[\s\S]*'|(?<![\p{L}\p{N}])'[\s\S]*$/gu, '…')
    .trim();

export function reasonOf(error: unknown): string {
  if (error instanceof MongoBulkWriteError) {
    const [first] = writeErrorsOf(error);
    const concern = error.result.getWriteConcernError();
    if (first === undefined && concern !== undefined)
      return `the write concern was not met: ${concern.errmsg} [${concern.code}]`;
    return documentReason(first ?? { code: error.code, errmsg: error.message });
  }
  if (error instanceof MongoServerError) return documentReason({ ...error, code: error.code, errmsg: error.errmsg });
  return error instanceof Error ? error.message : String(error);
}

export function asSinkError(error: unknown): ConnectError {
  const own = ownError(error);
  if (own !== null) return own;
  const reason = reasonOf(error);
  // No cause where the server speaks: its message has values of documents.
  const options = error instanceof MongoServerError ? {} : { cause: error };
  const code = error instanceof MongoError ? Number(error.code) : Number.NaN;
  if (LOGIN.has(code))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `the server refused the login: ${reason}; check user, password and authSource in connection.uri`,
      options,
    );
  if (code === UNAUTHORIZED)
    return new ConnectError(
      'SINK_PRIVILEGE',
      `the user of connection.uri lacks a right: ${reason}; grant it readWrite on the database`,
      options,
    );
  if (error instanceof MongoServerSelectionError && isTlsRefusal(error))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `no TLS connection could be made: ${reason}; check tls, tlsCAFile and the host names in connection.uri`,
      options,
    );
  if (classifyMongoFailure(error) === 'transient')
    return new ConnectError(
      'SINK_UNAVAILABLE',
      `the server could not be reached or did not take a write: ${reason}; check connection.uri and the server`,
      options,
    );
  return new ConnectError('SINK_WRITE_FAILED', `the server refused a write: ${reason}`, options);
}
