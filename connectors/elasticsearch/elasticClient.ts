/** Requests to the nodes of a cluster: in turn, leaving out for a while those that do not answer. Knows HTTP, not what is asked. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { SinkValues } from './config.ts';
import { tlsOptions } from './tlsOptions.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface Request {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Buffer | string;
  readonly type?: 'application/json' | 'application/x-ndjson';
}

/** No node gave an answer. */
export class NoAnswer extends Error {
  constructor(node: string, cause: unknown) {
    super(`no answer from ${node}: ${reasonOf(cause)}`, { cause });
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
};

/** How long a node is left alone that did not answer, while there are others. */
const REST_MS = 10_000;
/** Shorter bodies are not worth it. */
const COMPRESSED_FROM_BYTES = 1024;

interface Node {
  /** As shown: without a password. */
  readonly origin: string;
  readonly prefix: string;
  readonly dispatcher: Dispatcher;
  readonly authorization: string | null;
  restsUntilMs: number;
}

export class ElasticClient {
  readonly #nodes: readonly Node[];
  readonly #compresses: boolean;
  readonly #signal: AbortSignal;
  #turn = 0;

  /** All requests end when the signal is aborted. */
  constructor(values: SinkValues, signal: AbortSignal, limitMs = Number.POSITIVE_INFINITY) {
    this.#signal = signal;
    this.#compresses = values['connection.compression'];
    const authorization = authorizationOf(values);
    this.#nodes = values['connection.url'].map(text => {
      const url = new URL(text);
      const own =
        url.username === '' ? null : basic(decodeURIComponent(url.username), decodeURIComponent(url.password));
      return {
        origin: url.origin,
        prefix: url.pathname.replace(/\/$/, ''),
        dispatcher: dispatcherOf(url.origin, values, limitMs),
        authorization: authorization ?? own,
        restsUntilMs: 0,
      };
    });
    // Once for all: requests would each add a listener of their own.
    signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  /** Rejects with NoAnswer where no node gives one; every answer counts as one. */
  async send(request: Request): Promise<Answer> {
    this.#signal.throwIfAborted();
    const { body: given = null } = request;
    const body = typeof given === 'string' ? Buffer.from(given) : given;
    const isCompressed = this.#compresses && body !== null && body.length >= COMPRESSED_FROM_BYTES;
    const sent = isCompressed ? await compress(body, { level: 1 }) : body;
    let failure: unknown;
    for (let tries = 0; tries < this.#nodes.length; tries++) {
      const node = this.#next();
      try {
        const answer = await this.#ask(node, request, sent, isCompressed);
        node.restsUntilMs = 0;
        return answer;
      } catch (error) {
        this.#signal.throwIfAborted();
        node.restsUntilMs = performance.now() + REST_MS;
        failure = new NoAnswer(node.origin, error);
      }
    }
    throw failure;
  }

  async #ask(node: Node, request: Request, body: Buffer | null, isCompressed: boolean): Promise<Answer> {
    const response = await node.dispatcher.request({
      origin: node.origin,
      method: request.method,
      path: `${node.prefix}${request.path}`,
      headers: {
        accept: 'application/json',
        ...(this.#compresses ? { 'accept-encoding': 'gzip' } : {}),
        ...(node.authorization === null ? {} : { authorization: node.authorization }),
        ...(body === null ? {} : { 'content-type': request.type ?? 'application/json' }),
        ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
      },
      body,
    });
    const raw = Buffer.from(await response.body.arrayBuffer());
    const isPacked = response.headers['content-encoding'] === 'gzip' && raw.length > 0;
    return { status: response.statusCode, body: isPacked ? await decompress(raw) : raw };
  }

  /** The next one that does not rest, else the one that has rested the longest. */
  #next(): Node {
    const now = performance.now();
    for (let i = 0; i < this.#nodes.length; i++) {
      const node = this.#nodes[this.#turn++ % this.#nodes.length]!;
      if (node.restsUntilMs <= now) return node;
    }
    return this.#nodes.reduce((a, b) => (b.restsUntilMs < a.restsUntilMs ? b : a));
  }

  /** Requests under way fail. */
  async close(): Promise<void> {
    await Promise.all(this.#nodes.map(node => node.dispatcher.destroy()));
  }
}

function dispatcherOf(origin: string, values: SinkValues, limitMs: number): Dispatcher {
  const tls = tlsOptions(values);
  const timeout = Math.min(values['connection.timeout.ms'], limitMs);
  const readMs = Math.min(values['read.timeout.ms'], limitMs);
  const options = {
    connections: values['max.in.flight.requests'] + 1,
    headersTimeout: readMs,
    bodyTimeout: readMs,
    keepAliveTimeout: values['max.connection.idle.time.ms'],
    keepAliveMaxTimeout: values['max.connection.idle.time.ms'],
  };
  const host = values['proxy.host'];
  if (host === '') return new Pool(origin, { ...options, connect: { ...tls, timeout } });
  const user = values['proxy.username'];
  const token = user === '' ? {} : { token: basic(user, values['proxy.password']?.reveal() ?? '') };
  return new ProxyAgent({
    ...options,
    ...token,
    uri: `http://${host}:${values['proxy.port']}`,
    requestTls: { ...tls, timeout },
  });
}

function authorizationOf(values: SinkValues): string | null {
  const apiKey = values['connection.api.key'];
  if (apiKey !== null) return `ApiKey ${apiKey.reveal()}`;
  const user = values['connection.username'];
  return user === null ? null : basic(user, values['connection.password']?.reveal() ?? '');
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
