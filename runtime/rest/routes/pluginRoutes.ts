/** Installed plugins, their keys, and validation of configs. */
import type { FastifyInstance } from 'fastify';
import { configBody } from '../body.ts';
import type { RestContext } from '../context.ts';
import { withTimeout } from '../requestTimeout.ts';
import { flag, list, resource } from '../resource.ts';

const tag = 'plugins';

export function pluginRoutes(app: FastifyInstance, context: RestContext): void {
  resource(app, '/connector-plugins', tag, {
    GET: {
      summary: 'Installed plugins',
      schema: { querystring: { type: 'object', properties: { connectorsOnly: { type: 'boolean', default: true } } } },
      handler: request => {
        const all = context.herder().plugins();
        if (!flag(request.query.connectorsOnly, true)) return all;
        return all.filter(plugin => plugin.type === 'source' || plugin.type === 'sink');
      },
    },
  });
  resource(app, '/connector-plugins/:plugin/config', tag, {
    GET: {
      summary: 'Configuration keys of a plugin',
      schema: { querystring: { type: 'object', properties: { version: { type: 'string' } } } },
      handler: request => context.herder().pluginConfig(request.params.plugin!, list(request.query.version)[0] ?? null),
    },
  });
  resource(app, '/connector-plugins/:plugin/config/validate', tag, {
    PUT: {
      summary: 'Checks a connector config',
      schema: { body: { type: 'object', additionalProperties: { type: 'string' } } },
      handler: request => {
        const herder = context.herder();
        return withTimeout(herder, herder.validateConfig(request.params.plugin!, configBody(request.body, false)));
      },
    },
  });
}
