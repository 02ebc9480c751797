/** One listener: an HTTP or HTTPS server that hands its requests to an application. Several may serve the same application. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { ConnectError } from '../api/index.ts';
import type { Listener } from './listeners.ts';

/** Longer than clients keep idle connections, so that none is closed under a request. */
const keepAliveMs = 72_000;

export class HttpServer {
  readonly listener: Listener;
  readonly #server: Server;

  private constructor(listener: Listener, server: Server) {
    this.listener = listener;
    this.#server = server;
  }

  /** `tls`: for a listener with https. Rejects with CONFIG_INVALID where the address cannot be had. */
  static async listen(listener: Listener, tls: () => TlsOptions, onRequest: RequestListener): Promise<HttpServer> {
    let server: Server;
    try {
      server = listener.scheme === 'https' ? createTlsServer(tls(), onRequest) : createServer(onRequest);
    } catch (error) {
      if (error instanceof ConnectError) throw error;
      throw new ConnectError(
        'CONFIG_INVALID',
        `the certificate for https listeners cannot be used: ${(error as Error).message}; check ssl.keystore.location and its passwords`,
        { cause: error },
      );
    }
    server.keepAliveTimeout = keepAliveMs;
    server.listen(listener.port, listener.host);
    try {
      await once(server, 'listening');
    } catch (error) {
      throw new ConnectError(
        'CONFIG_INVALID',
        `cannot listen on ${listener.host}:${listener.port}: ${error instanceof Error ? error.message : String(error)}; choose another address by --listen`,
        { cause: error },
      );
    }
    return new HttpServer(listener, server);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : this.listener.port;
  }

  get url(): string {
    return `${this.listener.scheme}://${this.listener.shown}:${this.port}`;
  }

  /** Takes no more connections and ends those that there are. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
