/** Cross-origin access by `access.control.allow.origin` and `access.control.allow.methods`. */
import type { FastifyInstance } from 'fastify';

const defaultMethods = 'GET,POST,HEAD';

export function addCors(app: FastifyInstance, allowedOrigins: string, allowedMethods: string): void {
  const origins = allowedOrigins.split(',').map(origin => origin.trim());
  if (allowedOrigins.trim() === '') return;
  app.addHook('onRequest', async (request, reply) => {
    const { origin, 'access-control-request-method': wanted } = request.headers;
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return;
    reply.header('access-control-allow-origin', origin).header('vary', 'Origin');
    if (request.method !== 'OPTIONS' || wanted === undefined) return;
    reply
      .header('access-control-allow-methods', allowedMethods.trim() === '' ? defaultMethods : allowedMethods)
      .header('access-control-allow-headers', 'Origin,Content-Type,Accept')
      .header('access-control-max-age', '1800');
    return reply.code(200).send();
  });
}
