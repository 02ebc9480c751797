/** A way to a server that can be cut as a network is: nothing gets through and nobody is told; what was under way arrives when it is whole again. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class CutProxy {
  readonly port: number;
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#targetPort = targetPort;
    this.#server = createServer(socket => this.#join(socket));
  }

  static async listen(port: number, targetPort: number): Promise<CutProxy> {
    const proxy = new CutProxy(port, targetPort);
    proxy.#server.listen(port, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    const server = connect(this.#targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('data', bytes => {
        if (to.write(bytes)) return;
        from.pause();
        to.once('drain', () => {
          if (!this.#isCut) from.resume();
        });
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isCut) from.pause();
    }
  }
}
