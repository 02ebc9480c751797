/**
 * The REST server: Kafka Connect's API with OpenAPI document, metrics, health and the status page. Listens before the worker is ready, so that
 * health can be asked; until then every other request gets 503.
 */
import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { ConnectError, type Logger } from '../api/index.ts';
import type { RegistryRoute } from '../broker/embedded/registryApi.ts';
import { version } from '../config/version.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import { ForwardRequest } from '../herder/forwardRequest.ts';
import type { Herder } from '../herder/herder.ts';
import type { LogLevels } from '../metrics/logLevels.ts';
import type { WorkerMetrics } from '../metrics/workerMetrics.ts';
import { type RestContext, starting } from './context.ts';
import { addCors } from './cors.ts';
import { httpError, sendError, statusOf } from './errors.ts';
import { forward } from './forward.ts';
import { type ListenAddress, listenAddress } from './listenAddress.ts';
import { resource } from './resource.ts';
import { addResponseHeaders } from './responseHeaders.ts';
import { connectorRoutes } from './routes/connectorRoutes.ts';
import { lifecycleRoutes } from './routes/lifecycleRoutes.ts';
import { loggerRoutes } from './routes/loggerRoutes.ts';
import { offsetRoutes } from './routes/offsetRoutes.ts';
import { pluginRoutes } from './routes/pluginRoutes.ts';
import { registryRoutes } from './routes/registryRoutes.ts';
import { rootRoutes } from './routes/rootRoutes.ts';

export interface RestOptions {
  readonly config: WorkerConfig;
  readonly metrics: WorkerMetrics;
  readonly levels: LogLevels;
  readonly logger: Logger;
  /** The embedded schema registry's API, where there is one. */
  readonly registry: readonly RegistryRoute[];
}

const bodyLimitBytes = 16 * 1024 * 1024;
const maxNameLength = 4096;

export class RestServer {
  readonly #app: FastifyInstance;
  readonly #address: ListenAddress;
  #herder: Herder | null = null;

  private constructor(app: FastifyInstance, address: ListenAddress) {
    this.#app = app;
    this.#address = address;
  }

  static async start(options: RestOptions): Promise<RestServer> {
    const { config, logger } = options;
    const address = listenAddress(config);
    const app = Fastify({
      bodyLimit: bodyLimitBytes,
      exposeHeadRoutes: false,
      forceCloseConnections: true,
      routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxNameLength },
      frameworkErrors: (_error, _request, reply) => void sendError(reply, httpError(400)),
    });
    const server = new RestServer(app, address);
    app.setValidatorCompiler(() => () => true);
    app.setSerializerCompiler(() => body => JSON.stringify(body));
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    app.setErrorHandler(async (thrown, request, reply) => {
      let error: unknown = thrown;
      if (error instanceof ForwardRequest) {
        try {
          return await forward(request, reply, error, server.#requireHerder());
        } catch (failure) {
          error = failure;
        }
      }
      if (statusOf(error) === 500)
        logger.error({ err: error, method: request.method, url: request.url }, 'request failed');
      return sendError(reply, error);
    });
    app.setNotFoundHandler((_request, reply) => sendError(reply, httpError(404)));
    addCors(app, config['access.control.allow.origin'], config['access.control.allow.methods']);
    addResponseHeaders(app, config['response.http.headers.config']);
    await app.register(swagger, {
      openapi: {
        info: {
          title: 'Millrace',
          description: 'REST API of a Millrace worker: Kafka Connect’s, and a little more.',
          version,
        },
      },
    });
    const context: RestContext = {
      herder: () => server.#requireHerder(),
      metrics: options.metrics,
      levels: options.levels,
    };
    rootRoutes(app, context);
    connectorRoutes(app, context);
    lifecycleRoutes(app, context);
    offsetRoutes(app, context);
    pluginRoutes(app, context);
    if (config['admin.listeners'] !== '') loggerRoutes(app, context);
    resource(app, '/openapi.json', 'worker', {
      GET: { summary: 'This document', handler: () => app.swagger() },
    });
    registryRoutes(app, options.registry);
    try {
      await app.listen({ host: address.host, port: address.port });
    } catch (error) {
      throw new ConnectError(
        'CONFIG_INVALID',
        `cannot listen on ${address.host}:${address.port}: ${error instanceof Error ? error.message : String(error)}; choose another address by --listen`,
        { cause: error },
      );
    }
    return server;
  }

  /** Begins to answer for this worker. */
  ready(herder: Herder): void {
    this.#herder = herder;
  }

  get url(): string {
    return `http://${this.#address.shown}:${this.port}`;
  }

  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#address.port;
  }

  async close(): Promise<void> {
    await this.#app.close();
  }

  #requireHerder(): Herder {
    if (this.#herder === null) throw starting();
    return this.#herder;
  }
}
