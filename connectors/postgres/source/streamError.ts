/** What ends a replication stream, by what a user can do about it. */
import { ConnectError, type ErrorCode } from '../../../runtime/api/index.ts';

/** The error itself where connecting again may help: the server goes down, or the slot is still in use. */
export function streamError(error: Error): Error {
  const code = (error as { code?: string }).code ?? '';
  if (/^(57P0|08|55006)/.test(code)) return error;
  const say = (of: ErrorCode, what: string): ConnectError =>
    new ConnectError(of, `${what}: ${error.message}.`, { cause: error });
  if (code === '42704' && /publication/.test(error.message)) return publicationGap(error);
  if (code === '42704') return say('PG_SLOT_MISSING', 'The replication slot is gone');
  if (code === '55000' || /requested WAL segment|can no longer|invalidated/.test(error.message)) {
    return say('PG_SLOT_LOST', 'The replication slot cannot be read any more');
  }
  return say('PG_STREAM_FAILED', 'PostgreSQL ended the replication stream');
}

/**
 * An internal error of the server's decoding. It decodes open transactions with what it knows of tables by then, and where a part that made a table's file anew
 * (TRUNCATE, a rewriting ALTER TABLE) was rolled back, it may fail; committed ones it decodes without.
 */
export const isDecodingFailure = (error: unknown): boolean =>
  error instanceof ConnectError &&
  error.code === 'PG_STREAM_FAILED' &&
  (error.cause as { code?: string } | undefined)?.code === 'XX000';

/** From version 18 the server leaves out changes from a time without the publication, and says so by a warning alone. */
export function streamWarning(warning: Error): ConnectError | null {
  return (warning as { code?: string }).code === '55000' ? publicationGap(warning) : null;
}

/** The server looks publications up as they were when a change was made: one that is created later does not bring it back. */
function publicationGap(reason: Error): ConnectError {
  return new ConnectError(
    'PG_PUBLICATION_MISSING',
    `Changes were made while the publication did not exist and cannot be read: ${reason.message}. Create the publication, then stop the connector, drop its slot and reset its offsets, so that all rows are read again.`,
    { cause: reason },
  );
}
