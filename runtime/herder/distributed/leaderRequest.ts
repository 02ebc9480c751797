/** A request of one worker to the leader of the cluster, signed where the group's protocol has a key for it (KIP-507). */
import { ConnectError } from '../../api/index.ts';
import type { SignatureAlgorithm } from '../../config/signatureAlgorithms.ts';
import type { SessionKey } from '../stores/configState.ts';
import type { WorkerClient } from '../workerClient.ts';
import { sign } from './sessionKeys.ts';

export interface LeaderRequest {
  readonly client: WorkerClient;
  /** Of the leader, with a slash at its end. */
  readonly url: string;
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  /** Sent as JSON; undefined = no body. */
  readonly body?: unknown;
  /** null = unsigned. */
  readonly sessionKey: SessionKey | null;
  readonly algorithm: SignatureAlgorithm;
  readonly signal: AbortSignal;
}

const requestTimeoutMs = 30_000;

/** Rejects with CLUSTER_REQUEST_REFUSED for any answer but success. */
export async function askLeader(request: LeaderRequest): Promise<void> {
  const { client, url, method, path, body, sessionKey, algorithm, signal } = request;
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const headers: Record<string, string> = bytes === null ? {} : { 'content-type': 'application/json' };
  if (sessionKey !== null) {
    headers['x-connect-authorization'] = sign(sessionKey, algorithm, bytes ?? Buffer.alloc(0));
    headers['x-connect-request-signature-algorithm'] = algorithm;
  }
  const answer = await client.request(url + path, {
    method,
    headers,
    body: bytes,
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
  });
  if (answer.status >= 400) {
    throw new ConnectError('CLUSTER_REQUEST_REFUSED', `the worker at ${url} answered ${answer.status}: ${answer.text}`);
  }
}
