/** Errors that end a replication stream, by what a user can do about them. */
import { ConnectError, type ErrorCode } from '../../../runtime/api/index.ts';

/** The error itself where connecting again may help: the server goes down, or the slot is still in use. */
export function streamError(error: Error): Error {
  const code = (error as { code?: string }).code ?? '';
  if (/^(57P0|08|55006)/.test(code)) return error;
  const say = (of: ErrorCode, what: string): ConnectError =>
    new ConnectError(of, `${what}: ${error.message}.`, { cause: error });
  if (code === '42704' && /publication/.test(error.message)) {
    return say('PG_PUBLICATION_MISSING', 'The stream cannot go on');
  }
  if (code === '42704') return say('PG_SLOT_MISSING', 'The replication slot is gone');
  if (code === '55000' || /requested WAL segment|can no longer|invalidated/.test(error.message)) {
    return say('PG_SLOT_LOST', 'The replication slot cannot be read any more');
  }
  return say('PG_STREAM_FAILED', 'PostgreSQL ended the replication stream');
}
