/** What an answer of the target, or none, means for the sink. */
import { ConnectError, type ErrorPlace } from '../../runtime/api/index.ts';
import type { FailureClass } from '../shared/retryTransient.ts';
import { type Answer, NoAnswer } from './elasticClient.ts';

/** An answer that is an error. */
export class ErrorAnswer extends Error {
  readonly status: number;
  readonly type: string;

  constructor(asked: string, status: number, type: string, reason: string) {
    super(`${asked} was answered with ${status}${type === '' ? '' : ` ${type}`}${reason === '' ? '' : `: ${reason}`}`);
    this.status = status;
    this.type = type;
  }
}

/** Items of a bulk request that the target could not take for now. */
export class BusyTarget extends Error {
  constructor(items: number, reason: string) {
    super(`${items} documents of a bulk request were not taken for now: ${reason}`);
  }
}

export const isTransientStatus = (status: number): boolean =>
  status === 429 || status === 408 || (status >= 500 && status !== 501 && status !== 505);

export interface ErrorCause {
  readonly type?: string;
  readonly reason?: string;
  readonly caused_by?: ErrorCause;
}

/** The target's reason without the values in it: it quotes them, and shows the beginning of what it could not parse. */
export function reasonOf(error: ErrorCause): string {
  const own = `${error.type ?? 'error'}: ${withoutValues(error.reason ?? '')}`;
  const cause = error.caused_by;
  return cause?.type === undefined || cause.type === error.type ? own : `${own} (${cause.type})`;
}

/**
 * `failed to parse field [qty] of type [integer] in document with id '7'. Preview of field's value: 'x'`; `For input string: "x"`. Names of fields,
 * types and indices stand in brackets and tell what to correct, and stay.
 */
const withoutValues = (reason: string): string =>
  reason
    .replace(/ in document with id '[\s\S]*/, '')
    .replace(/\.? ?Preview of field's value: [\s\S]*/, '')
    .replace(/^\[[\s\S]*\](?=: version conflict)/, 'the document')
    .replace(/\n[\s\S]*/, '')
    .replace(/"[^"]*"/g, '"…"')
    .replace(/'[^']*'/g, "'…'");

/** The answer as JSON; throws ErrorAnswer for one that is an error. */
export function okAnswer(asked: string, answer: Answer): unknown {
  const text = answer.body.toString();
  if (answer.status < 300) return text === '' ? null : JSON.parse(text);
  throw errorAnswer(asked, answer);
}

export function errorAnswer(asked: string, { status, body }: Answer): ErrorAnswer {
  const cause = causeIn(body.toString());
  return new ErrorAnswer(asked, status, cause?.type ?? '', cause === null ? '' : withoutValues(cause.reason ?? ''));
}

/** Proxies and security plugins answer with texts of their own. */
function causeIn(text: string): ErrorCause | null {
  try {
    const { error } = JSON.parse(text) as { error?: ErrorCause | string };
    return typeof error === 'object' ? error : null;
  } catch {
    return null;
  }
}

export function classifyElasticFailure(error: unknown): FailureClass {
  if (error instanceof ConnectError) return error.retriable ? 'transient' : 'fatal';
  if (error instanceof NoAnswer) return isTlsRefusal(error) ? 'fatal' : 'transient';
  if (error instanceof BusyTarget) return 'transient';
  return error instanceof ErrorAnswer && isTransientStatus(error.status) ? 'transient' : 'fatal';
}

/** A certificate that does not hold, or TLS where there is none. */
export const isTlsRefusal = ({ cause }: NoAnswer): boolean => {
  const code = cause instanceof Error ? String((cause as NodeJS.ErrnoException).code ?? '') : '';
  return /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
};

/** An error that stops the task, with what to change. */
export function asSinkFailure(error: unknown, place: ErrorPlace = {}): ConnectError {
  if (error instanceof ConnectError) return error.at(place);
  const options = { cause: error, place };
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof ErrorAnswer && error.status === 401)
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `the target refused the login: ${reason}; check connection.username and connection.password, or connection.api.key`,
      options,
    );
  if (error instanceof ErrorAnswer && error.status === 403)
    return new ConnectError(
      'SINK_PRIVILEGE',
      `the target refused a request: ${reason}; give the user of connection.username (or connection.api.key) the right to it, or lift the block of the index`,
      options,
    );
  if (error instanceof ErrorAnswer && error.type === 'index_not_found_exception')
    return new ConnectError('SINK_INDEX_MISSING', `${reason}; restart the task, which makes the index anew`, options);
  if (error instanceof NoAnswer && isTlsRefusal(error))
    return new ConnectError(
      'SINK_LOGIN_FAILED',
      `no TLS connection could be made: ${reason}; check connection.url and elastic.https.ssl.truststore.location`,
      options,
    );
  if (classifyElasticFailure(error) === 'transient')
    return new ConnectError(
      'SINK_UNAVAILABLE',
      `the target could not be reached or did not take a write: ${reason}`,
      options,
    );
  return new ConnectError('SINK_WRITE_FAILED', `the target refused a write: ${reason}`, options);
}
