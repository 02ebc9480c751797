/** What an error of PostgreSQL, or of the connection to it, means for a sink. */
import { DatabaseError } from 'pg';
import { ConnectError, type ErrorPlace } from '../../../runtime/api/index.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';

/** Classes 08 connection, 40 rollback (deadlock, serialization), 53 resources, 57 operator intervention, 58 system error. */
const TRANSIENT_CLASSES = new Set(['08', '40', '53', '57', '58']);
/** Lock not available, object in use, read-only (no longer the primary). */
const TRANSIENT_STATES = new Set(['55P03', '55006', '25006']);
/** Classes 21 cardinality, 22 data, 23 constraint, 44 check option, 54 limits, P0 raised by triggers. */
const RECORD_CLASSES = new Set(['21', '22', '23', '44', '54', 'P0', '38', '39']);

export const FOREIGN_KEY_VIOLATION = '23503';
export const UNIQUE_VIOLATION = '23505';
export const EXCLUSION_VIOLATION = '23P01';

const sqlState = (error: unknown): string | null =>
  error instanceof DatabaseError && error.code !== undefined ? error.code : null;

export const isState = (error: unknown, ...states: readonly string[]): boolean => {
  const state = sqlState(error);
  return state !== null && states.includes(state);
};

export function classifyPgFailure(error: unknown): FailureClass {
  if (error instanceof ConnectError) return error.retriable ? 'transient' : 'fatal';
  const state = sqlState(error);
  if (state === null) return isConnectionError(error) ? 'transient' : 'fatal';
  const kind = state.slice(0, 2);
  if (TRANSIENT_CLASSES.has(kind) || TRANSIENT_STATES.has(state)) return 'transient';
  return RECORD_CLASSES.has(kind) ? 'record' : 'fatal';
}

/** Deadlocks, serialization failures, locks that were not to be had. */
export const isContention = (error: unknown): boolean => isState(error, '40P01', '40001', '55P03');

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOTFOUND',
]);

/** Of the client: errors of the socket have codes, those it makes itself only texts. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== undefined && NETWORK_CODES.has(code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  return /connection terminated|timeout expired|connection error|not queryable|client was closed/i.test(error.message);
}

/** The database's reason without the values in it. */
export const reasonOf = (error: unknown): string => {
  // Where a name has several addresses, the error of all of them has a code and no text.
  const message =
    error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
  const text = message.replace(/: "[\s\S]*"$/, '').replace(/(value) "[\s\S]*?" (is out of range)/, '$1 $2');
  const column = error instanceof DatabaseError ? (error.column ?? error.constraint) : undefined;
  const state = sqlState(error);
  return `${text}${column && !text.includes(column) ? ` (${column})` : ''}${state ? ` [${state}]` : ''}`;
};

/** The column whose value was refused. Where the server names its type only, the columns of that type. */
export function refusedColumn(
  error: unknown,
  columns: readonly { readonly name: string; readonly displayType: string }[],
): string | undefined {
  if (!(error instanceof DatabaseError)) return undefined;
  if (error.column !== undefined) return error.column;
  const precision = /precision (\d+), scale (-?\d+)/.exec(error.detail ?? '');
  const type = precision ? `numeric(${precision[1]},${precision[2]})` : /type (.+)$/.exec(error.message)?.[1];
  const names = columns.filter(c => c.displayType === type).map(c => c.name);
  return names.length === 0 ? undefined : names.join(' or ');
}

/** An error that stops the task, with what to change. */
export function asSinkError(error: unknown, place: ErrorPlace = {}): ConnectError {
  if (error instanceof ConnectError) return error.at(place);
  const state = sqlState(error);
  const reason = reasonOf(error);
  const options = { cause: error, place };
  if (state === '42501') return new ConnectError('SINK_PRIVILEGE', `the target refused a write: ${reason}`, options);
  if (state !== null && (state.startsWith('28') || state === '3D000'))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `the target refused the login: ${reason}; check connection.url, connection.user and connection.password`,
      options,
    );
  if (classifyPgFailure(error) === 'transient')
    return new ConnectError(
      'SINK_UNAVAILABLE',
      `the target could not be reached or did not take a write: ${reason}`,
      options,
    );
  return new ConnectError('SINK_WRITE_FAILED', `the target refused a write: ${reason}`, options);
}
