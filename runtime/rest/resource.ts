/**
 * Registers a path with all its methods, as Kafka Connect answers: HEAD with every GET, OPTIONS with the methods allowed, 405 for the others, and the
 * checks of media types that come before any handler.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify';
import { httpError } from './errors.ts';
import { accepts, isJson } from './negotiation.ts';

export type Params = Readonly<Record<string, string>>;
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;
export type ResourceRequest = FastifyRequest<{ Params: Params; Querystring: Query }>;
/** What it returns is the body; undefined = it has sent, or there is none. */
export type Handler = (request: ResourceRequest, reply: FastifyReply) => unknown;

export interface Method {
  readonly summary: string;
  readonly handler: Handler;
  /** JSON unless said otherwise. */
  readonly produces?: string;
  /** Shown in the OpenAPI document; not used to check requests. */
  readonly schema?: FastifySchema & { readonly hide?: boolean };
}

export type Methods = Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Method>>>;

const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export function resource(app: FastifyInstance, url: string, tag: string, methods: Methods): void {
  const allowed = Object.keys(methods);
  if (methods.GET) allowed.push('HEAD');
  allowed.push('OPTIONS');
  const allow = allowed.sort().join(',');
  for (const [method, { summary, handler, produces = 'application/json', schema }] of Object.entries(methods)) {
    app.route<{ Params: Params; Querystring: Query }>({
      method: method as HTTPMethods,
      url,
      schema: { summary, tags: [tag], ...schema },
      onRequest: async request => check(request, produces),
      handler: (request, reply) => answer(handler, request, reply),
    });
    if (method !== 'GET') continue;
    app.route<{ Params: Params; Querystring: Query }>({
      method: 'HEAD',
      url,
      schema: { hide: true } as FastifySchema,
      onRequest: async request => check(request, produces),
      handler: (request, reply) => answer(handler, request, reply),
    });
  }
  app.route({
    method: 'OPTIONS',
    url,
    schema: { hide: true } as FastifySchema,
    handler: (_request, reply) => reply.header('allow', allow).type('text/plain').send(allow.replaceAll(',', ', ')),
  });
  app.route({
    method: allMethods.filter(method => !allowed.includes(method)) as HTTPMethods[],
    url,
    schema: { hide: true } as FastifySchema,
    onRequest: async (_request, reply) => {
      reply.header('allow', allow);
      throw httpError(405);
    },
    handler: () => undefined,
  });
}

function check(request: FastifyRequest, produces: string): void {
  const {
    'content-type': contentType,
    'content-length': length,
    'transfer-encoding': chunked,
    accept,
  } = request.headers;
  if (request.method === 'POST' || request.method === 'PUT' || request.method === 'PATCH') {
    const hasBody = (length !== undefined && length !== '0') || chunked !== undefined;
    if (contentType === undefined ? hasBody : !isJson(contentType)) throw httpError(415);
  }
  if (!accepts(accept, produces)) throw httpError(406);
}

async function answer(handler: Handler, request: ResourceRequest, reply: FastifyReply): Promise<unknown> {
  const body = await handler(request, reply);
  if (reply.sent) return reply;
  if (body === undefined) return reply.send();
  return reply.type('application/json').send(body);
}

/** Java's reading of a boolean query parameter: what is not "true" is false. */
export function flag(value: Query[string], otherwise: boolean): boolean {
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined || text === '' ? otherwise : text.toLowerCase() === 'true';
}

export function list(value: Query[string]): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

/** Anything but a non-negative integer is no such resource. */
export function taskId(params: Params): number {
  const text = params.task!;
  if (!/^\d{1,9}$/.test(text)) throw httpError(404);
  return Number(text);
}
