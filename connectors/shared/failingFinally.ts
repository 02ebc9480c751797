import { ConnectError } from '../../runtime/api/index.ts';

/** Does the work of a sink task. Its failure is the task's: retries are made within, so that to get the same records again would help nothing. */
export async function failingFinally<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  asFailure: (error: unknown) => ConnectError,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    const failure = asFailure(error);
    if (!failure.retriable) throw failure;
    throw new ConnectError(failure.code, failure.message, { cause: failure, place: failure.place });
  }
}
