/**
 * Sends a request on to the worker of the cluster that can do it, and its answer back. At most twice, as in Kafka Connect: `forward=true` comes from the
 * worker that the client called, `forward=false` from the second, which must be the last.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConnectError } from '../api/index.ts';
import type { ForwardRequest } from '../herder/forwardRequest.ts';
import type { Herder } from '../herder/herder.ts';
import type { WorkerAnswer, WorkerClient } from '../herder/workerClient.ts';

const timeoutMs = 90_000;
const passedOn = [
  'content-type',
  'accept',
  'authorization',
  'x-connect-authorization',
  'x-connect-request-signature-algorithm',
];

/** Rejects with REQUEST_CONFLICT for what was sent on twice, CLUSTER_LEADER_UNREACHABLE where the other does not answer. */
export async function forward(
  request: FastifyRequest,
  reply: FastifyReply,
  { url, signal }: ForwardRequest,
  herder: Herder,
  client: WorkerClient,
): Promise<unknown> {
  const target = new URL(request.url.slice(1), url);
  const hops = target.searchParams.get('forward');
  if (hops === 'false') {
    throw new ConnectError(
      'REQUEST_CONFLICT',
      'Cannot complete request because of a conflicting operation (e.g. worker rebalance)',
    );
  }
  target.searchParams.set('forward', hops === null ? 'true' : 'false');
  const headers: Record<string, string> = {};
  for (const name of passedOn) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const body = Buffer.isBuffer(request.body) && request.body.length > 0 ? request.body : null;
  await herder.tellOthers();
  let answer: WorkerAnswer;
  try {
    answer = await client.request(target, {
      method: request.method,
      headers,
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  } catch (error) {
    const { message } = (signal.aborted ? signal.reason : error) as Error;
    throw new ConnectError(
      'CLUSTER_LEADER_UNREACHABLE',
      `the worker at ${url}, which has to do this, does not answer: ${message}. Send the request again in a moment.`,
      { cause: error, retriable: true },
    );
  }
  // What the client asks this worker next shall know of it.
  if (answer.status < 400) await herder.catchUp();
  reply.code(answer.status);
  for (const name of ['content-type', 'retry-after']) {
    const value = answer.headers[name];
    if (value !== undefined) reply.header(name, value);
  }
  const { location } = answer.headers;
  // The client knows this worker, and may not reach the other.
  if (location !== undefined)
    reply.header('location', location.replace(/^\w+:\/\/[^/]+/, `${request.protocol}://${request.host}`));
  return answer.text === '' ? reply.send() : reply.send(answer.text);
}
