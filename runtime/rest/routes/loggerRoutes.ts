/** Log levels at run time. */
import type { FastifyInstance } from 'fastify';
import { ConnectError } from '../../api/index.ts';
import { LogLevels } from '../../metrics/logLevels.ts';
import { jsonObject } from '../body.ts';
import type { RestContext } from '../context.ts';
import { list, resource } from '../resource.ts';

const tag = 'loggers';

export function loggerRoutes(app: FastifyInstance, { levels, herder }: RestContext): void {
  resource(app, '/admin/loggers', tag, {
    GET: { summary: 'Levels of all loggers', handler: () => levels.list() },
  });
  resource(app, '/admin/loggers/:logger', tag, {
    GET: {
      summary: 'Level of a logger',
      handler: request => {
        const name = request.params.logger!;
        const level = levels.get(name);
        if (level === null) throw new ConnectError('RESOURCE_UNKNOWN', `Logger ${name} not found.`);
        return level;
      },
    },
    PUT: {
      summary: 'Sets the level of a logger and of all below it',
      schema: {
        querystring: { type: 'object', properties: { scope: { type: 'string', enum: ['worker', 'cluster'] } } },
        body: { type: 'object', properties: { level: { type: 'string' } } },
      },
      handler: async (request, reply) => {
        const { level: text } = jsonObject(request.body);
        if (text === undefined || text === null) {
          throw new ConnectError('REQUEST_INVALID', "Desired 'level' parameter was not specified in request.");
        }
        if (typeof text === 'object') throw new ConnectError('REQUEST_INVALID', 'The field "level" must be a string.');
        const level = LogLevels.parse(String(text));
        if (level === null) throw new ConnectError('RESOURCE_UNKNOWN', `invalid log level '${String(text)}'.`);
        const changed = levels.set(request.params.logger!, level);
        if (list(request.query.scope)[0]?.toLowerCase() === 'cluster') {
          await herder().announceLogLevel(request.params.logger!, level);
          return reply.code(204).send();
        }
        return changed;
      },
    },
  });
}
