/** Offsets of a connector: read, alter, reset. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { stringifyJson } from '../../../schemas/json/exactJson.ts';
import { offsetsBody } from '../body.ts';
import type { RestContext } from '../context.ts';
import { withTimeout } from '../requestTimeout.ts';
import { resource } from '../resource.ts';

export function offsetRoutes(app: FastifyInstance, context: RestContext): void {
  resource(app, '/connectors/:name/offsets', 'offsets', {
    GET: {
      summary: 'Offsets of a connector',
      handler: async (request, reply) => {
        const herder = context.herder();
        const offsets = await withTimeout(herder, herder.connectorOffsets(request.params.name!));
        return sendExact(reply, { offsets });
      },
    },
    PATCH: {
      summary: 'Alters offsets of a stopped connector; a null offset resets its partition',
      schema: {
        body: {
          type: 'object',
          properties: {
            offsets: {
              type: 'array',
              items: {
                type: 'object',
                properties: { partition: { type: 'object' }, offset: { type: 'object', nullable: true } },
              },
            },
          },
        },
      },
      handler: async request => {
        const herder = context.herder();
        const change = herder.alterOffsets(request.params.name!, offsetsBody(request.body));
        return { message: await withTimeout(herder, change) };
      },
    },
    DELETE: {
      summary: 'Resets all offsets of a stopped connector',
      handler: async request => {
        const herder = context.herder();
        return { message: await withTimeout(herder, herder.alterOffsets(request.params.name!, null)) };
      },
    },
  });
}

/** Positions may be beyond 2^53. */
function sendExact(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.type('application/json').send(stringifyJson(body));
}
