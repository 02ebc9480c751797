/** From errors to answers: Kafka Connect's error body with the status that fits the code. */
import type { FastifyReply } from 'fastify';
import { ConnectError, type ErrorCode } from '../api/index.ts';

const statuses: Partial<Record<ErrorCode, number>> = {
  CONFIG_INVALID: 400,
  PLUGIN_NOT_FOUND: 400,
  REQUEST_INVALID: 400,
  OFFSETS_INVALID: 400,
  PG_OFFSET_INVALID: 400,
  REQUEST_FORBIDDEN: 403,
  RESOURCE_UNKNOWN: 404,
  REQUEST_CONFLICT: 409,
  BROKER_GROUP_NOT_EMPTY: 409,
  CLUSTER_LEADER_UNREACHABLE: 503,
  WORKER_STARTING: 503,
};

/** An answer of the routing layer, in Kafka Connect's words. */
export class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
};

export function httpError(status: keyof typeof reasons): HttpError {
  return new HttpError(status, `HTTP ${status} ${reasons[status]}`);
}

export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  if (error instanceof ConnectError) return statuses[error.code] ?? 500;
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' && status >= 400 ? status : 500;
}

export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const status = statusOf(error);
  if (status === 503) reply.header('retry-after', '1');
  // The text of the body is Kafka Connect's: what would be taken stands where HTTP has it.
  if (status === 415) reply.header('accept', 'application/json');
  const message = error instanceof Error ? error.message : String(error);
  return reply.code(status).type('application/json').send({ error_code: status, message });
}
