/**
 * The OpenAPI document of the routes. Made when it is first asked for, from routes of its own that serve nothing: what makes it takes longer to load, and to
 * look at each route, than the whole API.
 */
import type {} from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { version } from '../config/version.ts';

/** `app`: without routes. */
export async function openApiDocument(
  app: FastifyInstance,
  addRoutes: (app: FastifyInstance) => void,
): Promise<unknown> {
  const { default: swagger } = await import('@fastify/swagger');
  await app.register(swagger, {
    openapi: {
      info: {
        title: 'Millrace',
        description: 'REST API of a Millrace worker: Kafka Connect’s, and a little more.',
        version,
      },
    },
  });
  addRoutes(app);
  await app.ready();
  try {
    return app.swagger();
  } finally {
    await app.close();
  }
}
