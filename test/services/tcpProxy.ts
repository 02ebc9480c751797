/**
 * A network of the test's own between a client and a server: passes bytes on, keeps each for a while (a server that is far away), cuts what is open, and takes nobody for a
 * time, or falls silent. Bytes keep their order; a side that is not read from stops the other one.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Most that is under way in one direction of a connection while it is delayed. */
const MOST_DELAYED_BYTES = 16 * 1024 * 1024;

export class TcpProxy {
  /** Of the connections to come. */
  targetPort: number;
  readonly #server: Server;
  readonly #delayMs: number;
  readonly #open = new Set<Socket>();
  #isDown = false;

  private constructor(targetPort: number, delayMs: number) {
    this.targetPort = targetPort;
    this.#delayMs = delayMs;
    // half-open sockets: the end of one direction is passed on behind its bytes
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
      if (this.#isDown) client.resetAndDestroy();
      else
        this.#join(client, connect({ host: '127.0.0.1', port: this.targetPort, allowHalfOpen: true, noDelay: true }));
    });
  }

  /** `delayMs`: how long each byte is under way, in both directions. */
  static async open(targetPort: number, delayMs = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort, delayMs);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections; returns how many there were. Until `restore` no other comes through. */
  cut(): number {
    this.#isDown = true;
    const count = this.#open.size / 2;
    for (const socket of this.#open) socket.resetAndDestroy();
    return count;
  }

  /** Takes nobody until `restore`; what is open stays. */
  refuse(): void {
    this.#isDown = true;
  }

  /** Nothing more comes through on the connections that are open, which stay so: the other side has fallen silent. */
  hold(): void {
    for (const socket of this.#open) socket.pause();
  }

  restore(): void {
    this.#isDown = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #join(client: Socket, server: Socket): void {
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from);
      // the other side learns of it by the reset below
      from.on('error', () => {});
      from.on('close', () => {
        this.#open.delete(from);
        to.destroy();
      });
      if (this.#delayMs > 0) passLater(from, to, this.#delayMs);
      else from.pipe(to);
    }
  }
}

/** Chunks with the time at which they arrive; one timer for all that arrive together. */
function passLater(from: Socket, to: Socket, delayMs: number): void {
  const underWay: { readonly at: number; readonly chunk: Buffer | null }[] = [];
  let byteLength = 0;
  let timer: NodeJS.Timeout | null = null;
  const arrive = (): void => {
    timer = null;
    const now = performance.now();
    while (underWay.length > 0 && underWay[0]!.at <= now) {
      const { chunk } = underWay.shift()!;
      if (chunk === null) {
        to.end();
        return;
      }
      byteLength -= chunk.length;
      to.write(chunk);
    }
    if (byteLength + to.writableLength < MOST_DELAYED_BYTES) from.resume();
    if (underWay.length > 0) timer = setTimeout(arrive, Math.max(1, underWay[0]!.at - performance.now()));
  };
  const add = (chunk: Buffer | null): void => {
    underWay.push({ at: performance.now() + delayMs, chunk });
    byteLength += chunk?.length ?? 0;
    if (byteLength + to.writableLength >= MOST_DELAYED_BYTES) from.pause();
    timer ??= setTimeout(arrive, delayMs);
  };
  from.on('data', add);
  to.on('drain', () => from.resume());
  from.on('end', () => add(null));
  from.on('close', () => timer !== null && clearTimeout(timer));
}
