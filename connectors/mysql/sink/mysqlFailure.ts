/** What an error of MySQL or MariaDB, or of the connection to it, means for a sink. */
import { ConnectError, type ErrorPlace } from '../../../runtime/api/index.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';
import { isConnectionLoss, isTlsRefusal } from '../connectionLoss.ts';

/**
 * Errors that pass by themselves: lock wait timeout and deadlock; a server that is full, stops, or may not write for now (read-only, no primary);
 * a statement that was killed; a table changed meanwhile; disk and memory full.
 */
const TRANSIENT = new Set([
  1020, 1021, 1037, 1038, 1040, 1041, 1047, 1053, 1129, 1135, 1152, 1158, 1159, 1160, 1161, 1180, 1203, 1205, 1206,
  1213, 1226, 1290, 1317, 1412, 1614, 1637, 1792, 1836, 1927, 1969, 3024, 3058, 3101, 3169, 3572, 4031,
]);
/** States of record errors: cardinality, data, constraint, check option, raised by a trigger. */
const RECORD_STATES = new Set(['21', '22', '23', '44', '45']);
/**
 * Record errors under the general state: truncated value, unknown value for a type, no default, no partition, view check, check constraints,
 * generated columns, row or packet too large, signals.
 */
const RECORD = new Set([
  1048, 1062, 1105, 1118, 1153, 1264, 1265, 1292, 1301, 1364, 1366, 1367, 1369, 1411, 1406, 1416, 1526, 1644, 1690,
  1713, 1748, 3105, 3140, 3156, 3819, 3903, 4025, 4078,
]);
const PRIVILEGE = new Set([1142, 1143, 1227, 1370]);
const LOGIN = new Set([1044, 1045, 1049, 1102, 1251, 1698, 1862, 3118, 3878]);

export const DUPLICATE_ENTRY = 1062;
/** A scalar subquery gave two rows: how our own statements tell that a row would be put in the place of another one. */
export const SUBQUERY_ROWS = 1242;

/** A child without its parent, a parent that has children. */
export const FOREIGN_KEY_ERRORS = [1216, 1217, 1451, 1452];

/** A row that no statement can hold. */
export class RowTooLarge extends Error {
  constructor(bytes: number, maxAllowedPacket: number) {
    super(
      `the row is ${bytes} bytes as SQL and max_allowed_packet of the server is ${maxAllowedPacket}; raise it (SET GLOBAL max_allowed_packet, at most 1 GiB)`,
    );
  }
}

export interface ServerError extends Error {
  readonly errno: number;
  readonly sqlState: string;
}

/** An error that the server sent; those of sockets and of the client have negative numbers or none, and no state. */
export const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error &&
  typeof (error as Partial<ServerError>).errno === 'number' &&
  typeof (error as Partial<ServerError>).sqlState === 'string' &&
  (error as ServerError).sqlState !== '';

export const isErrno = (error: unknown, ...numbers: readonly number[]): boolean =>
  isServerError(error) && numbers.includes(error.errno);

/** Deadlocks, locks that were not to be had in time. */
export const isContention = (error: unknown): boolean => isErrno(error, 1205, 1213, 3572);

export const isPrivilegeError = (error: unknown): boolean => isServerError(error) && PRIVILEGE.has(error.errno);

export function classifyMysqlFailure(error: unknown): FailureClass {
  if (error instanceof RowTooLarge) return 'record';
  if (error instanceof ConnectError) return error.retriable ? 'transient' : 'fatal';
  if (!isServerError(error)) return isConnectionLoss(error) ? 'transient' : 'fatal';
  if (TRANSIENT.has(error.errno)) return 'transient';
  if (PRIVILEGE.has(error.errno) || LOGIN.has(error.errno)) return 'fatal';
  return RECORD.has(error.errno) || RECORD_STATES.has(error.sqlState.slice(0, 2)) ? 'record' : 'fatal';
}

/** The database's reason without the values in it: MySQL quotes them, at its own places in each message. */
export function reasonOf(error: unknown): string {
  if (!isServerError(error)) {
    // Where a name has several addresses, the error of all of them has a code and no text.
    return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
  }
  return `${withoutValues(error)} [${error.errno}, ${error.sqlState}]`;
}

function withoutValues({ errno, message }: ServerError): string {
  switch (errno) {
    case DUPLICATE_ENTRY:
      return message.replace(/entry '[\s\S]*' for key '([^']*)'$/, "entry for key '$1'");
    case SUBQUERY_ROWS:
      return 'a unique index other than the key has its value in another row already, which would be overwritten';
    default:
      // Incorrect integer value: 'x' for column `d`.`t`.`c` at row 1; Truncated incorrect DOUBLE value: 'x'
      return message.replace(/ value: '[\s\S]*?'(?= for column |$)/, ' value').replace(/\n[\s\S]*/, '');
  }
}

/** The column whose value was refused, where the message names it. */
export function refusedColumn(error: unknown, columns: readonly { readonly name: string }[]): string | undefined {
  if (!isServerError(error) || error.errno === DUPLICATE_ENTRY) return undefined;
  // column 'c', column `d`.`t`.`c`, column 't.c', CONSTRAINT `t.c` failed
  const named = /(?:column|Field|CONSTRAINT) ([`'][^`']+[`'](?:\.`[^`]+`)*)/i
    .exec(error.message)?.[1]
    ?.replace(/[`']/g, '');
  return columns.find(c => named === c.name || named?.endsWith(`.${c.name}`))?.name;
}

/** An error that stops the task, with what to change. */
export function asSinkError(error: unknown, place: ErrorPlace = {}): ConnectError {
  if (error instanceof ConnectError) return error.at(place);
  const reason = reasonOf(error);
  const options = { cause: error, place };
  if (isPrivilegeError(error))
    return new ConnectError('SINK_PRIVILEGE', `the target refused a write: ${reason}`, options);
  if (isServerError(error) && LOGIN.has(error.errno))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `the target refused the login: ${reason}; check connection.url, connection.user and connection.password`,
      options,
    );
  if (isTlsRefusal(error))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `no TLS connection could be made: ${reason}; check sslMode and sslCa in connection.url`,
      options,
    );
  if (classifyMysqlFailure(error) === 'transient')
    return new ConnectError(
      'SINK_UNAVAILABLE',
      `the target could not be reached or did not take a write: ${reason}`,
      options,
    );
  return new ConnectError('SINK_WRITE_FAILED', `the target refused a write: ${reason}`, options);
}
