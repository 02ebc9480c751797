/** Connectors: list, create, read, change, delete. */
import type { FastifyInstance } from 'fastify';
import type { ConnectorInfo, ConnectorStateInfo, Herder } from '../../herder/herder.ts';
import { configBody, createBody, named, otherName } from '../body.ts';
import type { RestContext } from '../context.ts';
import { withTimeout } from '../requestTimeout.ts';
import { list, type ResourceRequest, resource, taskId } from '../resource.ts';

const tag = 'connectors';
const config = { type: 'object', additionalProperties: { type: 'string' } };

export function connectorRoutes(app: FastifyInstance, context: RestContext): void {
  resource(app, '/connectors', tag, {
    GET: {
      summary: 'Names of all connectors; with expand their status and info',
      schema: {
        querystring: { type: 'object', properties: { expand: { type: 'string', enum: ['status', 'info'] } } },
      },
      handler: request => listConnectors(context.herder(), list(request.query.expand)),
    },
    POST: {
      summary: 'Creates a connector',
      schema: {
        body: {
          type: 'object',
          required: ['name', 'config'],
          properties: {
            name: { type: 'string' },
            config,
            initial_state: { type: 'string', enum: ['RUNNING', 'PAUSED', 'STOPPED'] },
          },
        },
      },
      handler: async (request, reply) => {
        const herder = context.herder();
        const info = await withTimeout(herder, herder.createConnector(createBody(request.body)));
        reply.code(201).header('location', locationOf(request, info.name));
        return info;
      },
    },
  });
  resource(app, '/connectors/:name', tag, {
    GET: {
      summary: 'Config and tasks of a connector',
      handler: request => context.herder().connectorInfo(request.params.name!),
    },
    DELETE: {
      summary: 'Deletes a connector; its offsets are kept',
      handler: async (request, reply) => {
        const herder = context.herder();
        await withTimeout(herder, herder.deleteConnector(request.params.name!));
        return reply.code(204).send();
      },
    },
  });
  resource(app, '/connectors/:name/config', tag, {
    GET: {
      summary: 'Config of a connector',
      handler: request => context.herder().connectorInfo(request.params.name!).config,
    },
    PUT: {
      summary: 'Creates a connector, or replaces its config',
      schema: { body: config },
      handler: async (request, reply) => {
        const herder = context.herder();
        const name = request.params.name!;
        const operation = herder.putConfig(name, named(configBody(request.body, false), name));
        const { created, info } = await withTimeout(herder, operation);
        if (created) reply.code(201).header('location', locationOf(request, name));
        return info;
      },
    },
    PATCH: {
      summary: 'Changes some keys of a config; null removes a key',
      schema: { body: { type: 'object', additionalProperties: { type: 'string', nullable: true } } },
      handler: request => {
        const herder = context.herder();
        const name = request.params.name!;
        const patch = configBody(request.body, true);
        if (patch.name !== undefined && patch.name !== name) throw otherName(patch.name, name);
        return withTimeout(herder, herder.patchConfig(name, patch));
      },
    },
  });
  resource(app, '/connectors/:name/status', tag, {
    GET: {
      summary: 'States of a connector and its tasks',
      handler: request => context.herder().connectorStatus(request.params.name!),
    },
  });
  resource(app, '/connectors/:name/tasks/:task/status', tag, {
    GET: {
      summary: 'State of a task',
      handler: request => context.herder().taskStatus(request.params.name!, taskId(request.params)),
    },
  });
  resource(app, '/connectors/:name/topics', tag, {
    GET: {
      summary: 'Topics that a connector has used',
      handler: request => {
        const name = request.params.name!;
        return { [name]: { topics: context.herder().activeTopics(name) } };
      },
    },
  });
  resource(app, '/connectors/:name/topics/reset', tag, {
    PUT: {
      summary: 'Forgets the topics that a connector has used',
      handler: async (request, reply) => {
        await context.herder().resetActiveTopics(request.params.name!);
        return reply.code(202).send();
      },
    },
  });
}

function listConnectors(herder: Herder, expand: readonly string[]): unknown {
  if (expand.length === 0) return herder.connectors();
  const shown: Record<string, { status?: ConnectorStateInfo; info?: ConnectorInfo }> = {};
  for (const name of herder.connectors()) {
    shown[name] = {
      ...(expand.includes('status') ? { status: statusIfAny(herder, name) } : {}),
      ...(expand.includes('info') ? { info: herder.connectorInfo(name) } : {}),
    };
  }
  return shown;
}

/** A connector just made has none yet. */
function statusIfAny(herder: Herder, name: string): ConnectorStateInfo {
  try {
    return herder.connectorStatus(name);
  } catch {
    const connector = { state: 'UNASSIGNED', worker_id: herder.workerId, version: null } as const;
    return { name, connector, tasks: [], type: herder.connectorInfo(name).type };
  }
}

function locationOf(request: ResourceRequest, name: string): string {
  return `${request.protocol}://${request.host}/connectors/${encodeURIComponent(name)}`;
}
