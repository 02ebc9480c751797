/** What can be done to a connector that exists: pause, resume, stop, restart. And the calls that only workers of a cluster make. */
import type { FastifyInstance } from 'fastify';
import type { SignatureAlgorithm } from '../../config/signatureAlgorithms.ts';
import { isSignedBy } from '../../herder/distributed/sessionKeys.ts';
import type { Herder, InternalRequests } from '../../herder/herder.ts';
import { taskConfigsBody } from '../body.ts';
import type { RestContext } from '../context.ts';
import { HttpError } from '../errors.ts';
import { withTimeout } from '../requestTimeout.ts';
import { flag, type Handler, type ResourceRequest, resource, taskId } from '../resource.ts';

const tag = 'lifecycle';
/** Said of a worker alone, which takes none. */
const defaultAlgorithms: readonly SignatureAlgorithm[] = ['HmacSHA256'];

export function lifecycleRoutes(app: FastifyInstance, context: RestContext): void {
  const verb = (status: number, call: (herder: Herder, name: string) => Promise<void>): Handler => {
    return async (request, reply) => {
      const herder = context.herder();
      await withTimeout(herder, call(herder, request.params.name!));
      return reply.code(status).send();
    };
  };
  resource(app, '/connectors/:name/pause', tag, {
    PUT: {
      summary: 'Pauses a connector and its tasks',
      handler: verb(202, (herder, name) => herder.pauseConnector(name)),
    },
  });
  resource(app, '/connectors/:name/resume', tag, {
    PUT: {
      summary: 'Resumes a paused or stopped connector',
      handler: verb(202, (herder, name) => herder.resumeConnector(name)),
    },
  });
  resource(app, '/connectors/:name/stop', tag, {
    PUT: {
      summary: 'Stops a connector and ends its tasks',
      handler: verb(204, (herder, name) => herder.stopConnector(name)),
    },
  });
  resource(app, '/connectors/:name/restart', tag, {
    POST: {
      summary: 'Restarts a connector, and with includeTasks its tasks',
      schema: {
        querystring: {
          type: 'object',
          properties: { includeTasks: { type: 'boolean' }, onlyFailed: { type: 'boolean' } },
        },
      },
      handler: async (request, reply) => {
        const herder = context.herder();
        const name = request.params.name!;
        const includeTasks = flag(request.query.includeTasks, false);
        const onlyFailed = flag(request.query.onlyFailed, false);
        if (!includeTasks && !onlyFailed) {
          await withTimeout(herder, herder.restartConnector(name));
          return reply.code(204).send();
        }
        const plan = await withTimeout(herder, herder.restartWithTasks(name, { includeTasks, onlyFailed }));
        reply.code(202);
        return plan;
      },
    },
  });
  resource(app, '/connectors/:name/tasks/:task/restart', tag, {
    POST: {
      summary: 'Restarts a task',
      handler: async (request, reply) => {
        const herder = context.herder();
        await withTimeout(herder, herder.restartTask(request.params.name!, taskId(request.params)));
        return reply.code(204).send();
      },
    },
  });
  const putTasks: Handler = async (request, reply) => {
    const herder = context.herder();
    const internal = requireSigned(request, herder.internal);
    await withTimeout(herder, internal.putTaskConfigs(request.params.name!, taskConfigsBody(request.body)));
    return reply.code(204).send();
  };
  resource(app, '/connectors/:name/tasks', tag, {
    GET: { summary: 'Configs of the tasks', handler: request => context.herder().taskConfigs(request.params.name!) },
    POST: { summary: 'Used between workers of a cluster', schema: { hide: true }, handler: putTasks },
  });
  resource(app, '/connectors/:name/fence', tag, {
    PUT: {
      summary: 'Used between workers of a cluster',
      schema: { hide: true },
      handler: async (request, reply) => {
        const herder = context.herder();
        const internal = requireSigned(request, herder.internal);
        await withTimeout(herder, internal.fenceSourceTasks(request.params.name!));
        return reply.code(204).send();
      },
    },
  });
}

/** Throws unless another worker of the cluster has sent it. A worker alone has no key, so that no signature can be valid. */
function requireSigned(request: ResourceRequest, internal: InternalRequests | null): InternalRequests {
  const sessionKey = internal === null ? null : internal.sessionKey();
  if (internal !== null && sessionKey === 'unsigned') return internal;
  const { 'x-connect-authorization': signature, 'x-connect-request-signature-algorithm': given } = request.headers;
  if (signature === undefined || given === undefined) {
    throw new HttpError(400, 'Internal request missing required signature');
  }
  const algorithms = internal?.algorithms ?? defaultAlgorithms;
  const algorithm = algorithms.find(known => known === given);
  if (algorithm === undefined) {
    throw new HttpError(
      400,
      `This worker does not support the '${String(given)}' key signing algorithm used by other workers. This worker is currently configured to use: [${algorithms.join(', ')}]. Check that all workers' configuration files permit the same set of signature algorithms, and correct any misconfigured worker and restart it.`,
    );
  }
  if (internal === null) throw new HttpError(403, 'Internal request contained invalid signature.');
  if (sessionKey === null || sessionKey === 'unsigned') {
    throw new HttpError(
      503,
      'This worker is still starting up and has not been able to read a session key from the config topic yet.',
    );
  }
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!isSignedBy(sessionKey, algorithm, body, String(signature))) {
    throw new HttpError(403, 'Internal request contained invalid signature.');
  }
  return internal;
}
