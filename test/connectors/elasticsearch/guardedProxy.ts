/** A TLS proxy before a real server that asks for a login, as the security plugins do; what it lets through goes to the server as it is. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const tls = (name: string): string => join(import.meta.dirname, '../../fixtures/tls', name);
export const CA_FILE = tls('ca.pem');

export class GuardedProxy implements AsyncDisposable {
  readonly #server: Server;
  /** What was let through. */
  requests = 0;
  compressed = 0;

  private constructor(target: string, authorization: string) {
    const pem = readFileSync(tls('server.pem'));
    this.#server = createServer({ key: pem, cert: pem }, (from, to) => {
      if (from.headers.authorization !== authorization) {
        to.writeHead(401, { 'content-type': 'text/plain' }).end('Unauthorized');
        from.resume();
        return;
      }
      this.requests++;
      if (from.headers['content-encoding'] === 'gzip') this.compressed++;
      const { host, authorization: _, ...headers } = from.headers;
      const onward = request(`${target}${from.url}`, { method: from.method, headers }, answer => {
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(to);
      });
      onward.on('error', () => to.destroy());
      from.pipe(onward);
    });
  }

  static async open(target: string, authorization: string): Promise<GuardedProxy> {
    const proxy = new GuardedProxy(target, authorization);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}
