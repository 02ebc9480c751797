/** What the worker says of itself: version, health, metrics. */
import type { FastifyInstance } from 'fastify';
import { commit, version } from '../../config/version.ts';
import type { RestContext } from '../context.ts';
import { isBrowser } from '../negotiation.ts';
import { stageText } from '../requestTimeout.ts';
import { resource } from '../resource.ts';
import { statusPage } from '../statusPage.ts';

const stuckMs = 10_000;

export function rootRoutes(app: FastifyInstance, context: RestContext): void {
  resource(app, '/', 'worker', {
    GET: {
      summary: 'Version of the worker and id of its cluster; for browsers the status page',
      handler: (request, reply) => {
        const herder = context.herder();
        if (isBrowser(request.headers.accept)) return sendPage(reply, context);
        return { version, commit, kafka_cluster_id: herder.clusterId };
      },
    },
  });
  resource(app, '/ui', 'worker', {
    GET: {
      summary: 'Status page for browsers',
      produces: 'text/html',
      handler: (_request, reply) => sendPage(reply, context),
    },
  });
  resource(app, '/health', 'worker', {
    GET: { summary: 'Whether the worker can handle requests', handler: (_request, reply) => health(reply, context) },
  });
  resource(app, '/metrics', 'worker', {
    GET: {
      summary: 'Metrics in the text format of Prometheus',
      produces: 'text/plain',
      handler: async (_request, reply) =>
        reply.type('text/plain; version=0.0.4; charset=utf-8').send(await context.metrics.render()),
    },
  });
}

type Reply = Parameters<import('../resource.ts').Handler>[1];

function sendPage(reply: Reply, context: RestContext): unknown {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'")
    .send(statusPage(context.herder(), context.metrics));
}

function health(reply: Reply, context: RestContext): unknown {
  const stage = context.stage();
  if (!context.isReady()) {
    reply.code(503).header('retry-after', '1');
    return { status: 'starting', message: `Worker is still starting up. ${stageText(stage)}` };
  }
  if (stage.completedMs === null && Date.now() - stage.startedMs >= stuckMs) {
    reply.code(500);
    const message = `Worker was unable to handle this request and may be unable to handle other requests. ${stageText(stage)}`;
    return { status: 'unhealthy', message };
  }
  return { status: 'healthy', message: 'Worker has completed startup and is ready to handle requests.' };
}
