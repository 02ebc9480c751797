import { asConnectError, ConnectError } from '../../schemas/errors.ts';

/** An error that is told already, or one of the program itself (TASK_FAILED), which must not be told as one of the server; null = neither. */
export function ownError(error: unknown): ConnectError | null {
  if (error instanceof ConnectError) return error;
  const isOfProgram = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return isOfProgram ? asConnectError(error, 'TASK_FAILED') : null;
}
