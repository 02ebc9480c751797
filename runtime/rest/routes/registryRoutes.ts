/**
 * The embedded schema registry under `/registry`, in Confluent's REST API: set `schema.registry.url` of other tools to `http://<worker>/registry`. A prefix,
 * since the API has a `/config` of its own and more.
 */
import type { FastifyInstance } from 'fastify';
import type { RegistryRoute } from '../../broker/embedded/registryApi.ts';

const prefix = '/registry';
const contentType = 'application/vnd.schemaregistry.v1+json';
/** Confluent's code for a body that cannot be read. */
const unprocessableCode = 42201;

export function registryRoutes(app: FastifyInstance, routes: readonly RegistryRoute[]): void {
  for (const { method, path, summary, handle } of routes) {
    app.route<{ Params: Record<string, string>; Querystring: Record<string, unknown> }>({
      method,
      url: prefix + path,
      schema: { summary, tags: ['registry'] },
      handler: async (request, reply) => {
        reply.type(contentType);
        let body: unknown;
        try {
          body = parsed(request.body);
        } catch (error) {
          const message = `The request body is not valid JSON: ${(error as Error).message}`;
          return reply.code(422).send(JSON.stringify({ error_code: unprocessableCode, message }));
        }
        const answer = await handle({ params: request.params, query: request.query, body });
        return reply.code(answer.status).send(JSON.stringify(answer.body));
      },
    });
  }
}

function parsed(body: unknown): unknown {
  return Buffer.isBuffer(body) && body.length > 0 ? JSON.parse(body.toString('utf8')) : undefined;
}
