/** For listeners of `read.only.listeners`: what changes anything is refused. */
import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

const harmless = ['GET', 'HEAD', 'OPTIONS'];
/** They change nothing: connector configs and schemas are only checked. */
const checks = /^\/(connector-plugins\/[^/]+\/config\/validate|registry\/compatibility\/[^?]*)\/?(\?|$)/;

export function addReadOnly(app: FastifyInstance): void {
  app.addHook('onRequest', async request => {
    if (harmless.includes(request.method) || checks.test(request.url)) return;
    throw new HttpError(403, 'This listener is read-only; send changes to one of `listeners`.');
  });
}
