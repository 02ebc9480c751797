/** What an error of Firebird, or of the connection to it, means for a sink. */
import { ConnectError } from '../../../runtime/api/index.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';
import { gdsCode, isConnectionLoss } from '../connection.ts';

/** Deadlock, lock conflict, update conflict, lock timeout, object in use, concurrent transaction. */
const TRANSIENT = new Set([335544336, 335544345, 335544451, 335544510, 335544453, 335544878]);
/** Constraints, conversion, truncation, overflow, malformed text, user exceptions. */
const RECORD = new Set([
  335544665, 335544349, 335544466, 335544347, 335544558, 335544321, 335544334, 335544914, 335544916, 335544517,
  335544849, 335544565, 335544879, 335544838, 335544778, 335545033,
]);
/** "Dynamic SQL Error" stands before the reason. */
const DYNAMIC_SQL = 335544569;
const RECORD_TEXT = /string truncation|numeric overflow|conversion error|malformed string|cannot transliterate/i;
/** Of the client, which looks at lengths before it sends a batch. */
const TOO_LONG = /^Batch value for column \d+ is \d+ bytes/;
const NO_PRIVILEGE = 335544352;

export function classifyFailure(error: unknown): FailureClass {
  if (error instanceof ConnectError) return error.retriable ? 'transient' : 'fatal';
  const code = gdsCode(error);
  if (code !== null && TRANSIENT.has(code)) return 'transient';
  if (isConnectionLoss(error)) return 'transient';
  if (code === null && error instanceof Error && TOO_LONG.test(error.message)) return 'record';
  if (code === DYNAMIC_SQL) return RECORD_TEXT.test(String(error)) ? 'record' : 'fatal';
  return code !== null && RECORD.has(code) ? 'record' : 'fatal';
}

/** "unsuccessful metadata update", for whatever reason, which its text tells. */
const METADATA_UPDATE = 335544351;
const THERE_ALREADY = /already exists|duplicate value|UNIQUE KEY constraint/i;
/** Unique violations of the catalogue. */
const RACED: readonly number[] = [335544665, 335544349];

/** Of DDL: another task did the same at the same time. */
export function isThereAlready(error: unknown): boolean {
  const code = gdsCode(error);
  if (code === null || isConnectionLoss(error)) return false;
  return code === METADATA_UPDATE ? THERE_ALREADY.test(String(error)) : RACED.includes(code);
}

export const isPrivilege = (error: unknown): boolean => gdsCode(error) === NO_PRIVILEGE;

/** The database's reason without the values in it. */
export const reasonOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replace(/Problematic key value is [\s\S]*/, '')
    .replace(/conversion error from string "[\s\S]*"/, 'conversion error from string')
    .replace(/value "[\s\S]*"/, 'value')
    .trim();
};

/** An error that stops the task, with what to change. */
export function asSinkError(error: unknown): ConnectError {
  if (error instanceof ConnectError) {
    if (error.code === 'FB_LOGIN_FAILED') return new ConnectError('SINK_LOGIN_FAILED', error.message, { cause: error });
    if (error.code === 'FB_UNREACHABLE') return new ConnectError('SINK_UNAVAILABLE', error.message, { cause: error });
    return error;
  }
  const reason = reasonOf(error);
  const options = { cause: error };
  if (isPrivilege(error)) return new ConnectError('SINK_PRIVILEGE', `the target refused a write: ${reason}`, options);
  if (classifyFailure(error) === 'transient')
    return new ConnectError('SINK_UNAVAILABLE', `the target did not take a write: ${reason}`, options);
  return new ConnectError('SINK_WRITE_FAILED', `the target refused a write: ${reason}`, options);
}
