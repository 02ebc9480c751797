/** Makes the trace of a failed connector or task: one line that says what to do, then stack and causes. */
import { asConnectError, ConnectError, type ErrorPlace } from '../../api/index.ts';
import type { FailureReport } from '../types.ts';

export function failureReport(error: unknown, place: ErrorPlace): FailureReport {
  const failure = asConnectError(error, 'TASK_FAILED').at(place);
  const lines = [failure.describe(), stackOf(failure)];
  const seen = new Set<unknown>([failure]);
  for (let cause = failure.cause; cause !== undefined && cause !== null && !seen.has(cause); ) {
    seen.add(cause);
    const text = cause instanceof ConnectError ? `${cause.describe()}\n${stackOf(cause)}` : inFull(cause);
    lines.push(`Caused by: ${text}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return { trace: lines.filter(line => line !== '').join('\n'), retriable: failure.retriable };
}

/** The frames alone: the message is said already. */
function stackOf(error: Error): string {
  const frames = (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line));
  return frames.join('\n');
}

function inFull(cause: unknown): string {
  if (cause instanceof AggregateError) {
    return [`${cause.name}: ${cause.message}`, ...cause.errors.map(e => `  ${String(e)}`), stackOf(cause)].join('\n');
  }
  return cause instanceof Error ? `${cause.name}: ${cause.message}\n${stackOf(cause)}` : String(cause);
}
