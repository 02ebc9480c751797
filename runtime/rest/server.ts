/**
 * The REST server: Kafka Connect's API with OpenAPI document, metrics, health and the status page. Listens before the worker is ready, so that
 * health can be asked; until then every other request gets 503. Up to three applications: the API, on any number of listeners; /admin, where it has
 * addresses of its own; and the API without changes.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from '../api/index.ts';
import type { RegistryRoute } from '../broker/embedded/registryApi.ts';
import { serverTls } from '../config/restTls.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import { ForwardRequest } from '../herder/forwardRequest.ts';
import type { Herder, WorkerStage } from '../herder/herder.ts';
import { WorkerClient } from '../herder/workerClient.ts';
import type { LogLevels } from '../metrics/logLevels.ts';
import type { WorkerMetrics } from '../metrics/workerMetrics.ts';
import { addBasicAuth, type Users, usersOf } from './basicAuth.ts';
import { type RestContext, starting } from './context.ts';
import { addCors } from './cors.ts';
import { httpError, sendError, statusOf } from './errors.ts';
import { forward } from './forward.ts';
import { HttpServer } from './httpServer.ts';
import { type Listener, listenersOf, type Scheme } from './listeners.ts';
import { openApiDocument } from './openApi.ts';
import { addReadOnly } from './readOnly.ts';
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
  readonly #options: RestOptions;
  readonly #users: Users | null;
  readonly #client: WorkerClient;
  readonly #apps: FastifyInstance[] = [];
  readonly #servers: HttpServer[] = [];
  #advertised!: HttpServer;
  #herder: Herder | null = null;
  #starting: WorkerStage = stageOf('reading plugins');
  #document: Promise<unknown> | null = null;

  private constructor(options: RestOptions) {
    this.#options = options;
    this.#users = usersOf(options.config);
    this.#client = new WorkerClient(options.config);
  }

  /** Rejects with CONFIG_INVALID. */
  static async start(options: RestOptions): Promise<RestServer> {
    const { config } = options;
    const listeners = listenersOf(config);
    const server = new RestServer(options);
    const adminKey = config['admin.listeners'];
    try {
      const main = await server.#listen(listeners.main, app => {
        server.#addApi(app);
        if (adminKey === null) loggerRoutes(app, server.#context());
      });
      server.#advertised = main[listeners.main.indexOf(listeners.advertised)]!;
      if (listeners.admin.length > 0) {
        await server.#listen(listeners.admin, app => loggerRoutes(app, server.#context()), 'admin');
      }
      if (listeners.readOnly.length > 0) {
        await server.#listen(listeners.readOnly, app => {
          addReadOnly(app);
          server.#addApi(app);
        });
      }
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  /** What the worker does before it is ready, for /health. */
  starting(description: string): void {
    this.#starting = stageOf(description);
  }

  /** Begins to answer for this worker. */
  ready(herder: Herder): void {
    this.#herder = herder;
  }

  /** Where other workers and users are sent. */
  get url(): string {
    return this.#advertised.url;
  }

  get scheme(): Scheme {
    return this.#advertised.listener.scheme;
  }

  get port(): number {
    return this.#advertised.port;
  }

  /** Of all listeners. */
  get urls(): readonly string[] {
    return this.#servers.map(({ url }) => url);
  }

  async close(): Promise<void> {
    await Promise.all(this.#apps.map(app => app.close()));
    await Promise.all(this.#servers.map(server => server.close()));
  }

  async #listen(
    listeners: readonly Listener[],
    addRoutes: (app: FastifyInstance) => void,
    kind: 'main' | 'admin' = 'main',
  ): Promise<HttpServer[]> {
    const { config } = this.#options;
    const app = this.#application();
    this.#apps.push(app);
    addRoutes(app);
    await app.ready();
    const servers: HttpServer[] = [];
    for (const listener of listeners) {
      const tls = () => serverTls(config, kind);
      const server = await HttpServer.listen(listener, tls, (request, reply) => app.routing(request, reply));
      servers.push(server);
      this.#servers.push(server);
    }
    return servers;
  }

  /** With what holds for every request, and no routes yet. */
  #application(): FastifyInstance {
    const { config, logger } = this.#options;
    const app = Fastify({
      bodyLimit: bodyLimitBytes,
      exposeHeadRoutes: false,
      routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxNameLength },
      frameworkErrors: (_error, _request, reply) => void sendError(reply, httpError(400)),
    });
    app.setValidatorCompiler(() => () => true);
    app.setSerializerCompiler(() => body => JSON.stringify(body));
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    app.setErrorHandler(async (thrown, request, reply) => {
      let error: unknown = thrown;
      if (error instanceof ForwardRequest) {
        try {
          return await forward(request, reply, error, this.#requireHerder(), this.#client);
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
    if (this.#users !== null) addBasicAuth(app, this.#users);
    return app;
  }

  #addApi(app: FastifyInstance): void {
    const context = this.#context();
    rootRoutes(app, context);
    connectorRoutes(app, context);
    lifecycleRoutes(app, context);
    offsetRoutes(app, context);
    pluginRoutes(app, context);
    resource(app, '/openapi.json', 'worker', {
      GET: { summary: 'This document', handler: () => this.#openApi() },
    });
    registryRoutes(app, this.#options.registry);
  }

  #openApi(): Promise<unknown> {
    this.#document ??= openApiDocument(this.#application(), app => {
      this.#addApi(app);
      if (this.#options.config['admin.listeners'] === null) loggerRoutes(app, this.#context());
    });
    return this.#document;
  }

  #context(): RestContext {
    return {
      herder: () => this.#requireHerder(),
      stage: () => this.#herder?.stage() ?? this.#starting,
      isReady: () => this.#herder !== null,
      metrics: this.#options.metrics,
      levels: this.#options.levels,
    };
  }

  #requireHerder(): Herder {
    if (this.#herder === null) throw starting();
    return this.#herder;
  }
}

function stageOf(description: string): WorkerStage {
  return { description, startedMs: Date.now(), completedMs: null };
}
