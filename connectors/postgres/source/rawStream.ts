/**
 * The bytes of a connection while it copies, without a parser between: chunks as the socket gives them, joined when asked for. pg makes an object of
 * each CopyData message, which costs more than all the rest of the decoding. Encryption and login stay pg's; the connection must be idle when taken.
 * Bounded: above `maxBytes` the socket is paused.
 */
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';

const END_TIMEOUT_MS = 1000;

type DataListener = (chunk: Buffer) => void;
interface Waiter {
  resolve(): void;
}

export interface Linger {
  readonly bytes: number;
  readonly ms: number;
}
export const NO_LINGER: Linger = { bytes: 0, ms: 0 };

export class RawStream {
  private readonly socket: Duplex;
  private readonly maxBytes: number;
  private readonly pgListeners: DataListener[];
  private chunks: Buffer[] = [];
  private bytes = 0;
  private failure: Error | null = null;
  private waiter: Waiter | null = null;
  /** Bytes without which a reader cannot go on; they may pass the bound. */
  private wanted = 1;
  lastReceivedMs = Date.now();

  private constructor(socket: Duplex, maxBytes: number) {
    this.socket = socket;
    this.maxBytes = maxBytes;
    this.pgListeners = socket.listeners('data') as DataListener[];
    for (const listener of this.pgListeners) socket.off('data', listener);
    socket.on('data', this.onData);
    socket.on('error', this.onError);
    socket.on('close', this.onClose);
  }

  static take(client: pg.Client, maxBytes: number): RawStream {
    // pg's types leave the connection out.
    const { connection } = client as unknown as { connection: { stream: Duplex } };
    return new RawStream(connection.stream, maxBytes);
  }

  write(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  /** Not reading: silence says nothing. */
  get isPaused(): boolean {
    return this.socket.isPaused();
  }

  /** Ends reads with an error that the socket does not know of. */
  fail(error: Error): void {
    this.onError(error);
  }

  /** Sends a simple query. */
  query(sql: string): void {
    const text = Buffer.from(sql, 'utf8');
    const message = Buffer.alloc(text.length + 6);
    message[0] = 0x51;
    message.writeInt32BE(text.length + 5, 1);
    text.copy(message, 5);
    this.write(message);
  }

  /**
   * All bytes there are, behind `rest`, what an earlier read could not use; null where `wanted` did not come within `timeoutMs`. `linger` = after that,
   * some time for more to come.
   */
  async read(
    rest: Buffer,
    wanted: number,
    timeoutMs: number,
    linger: Linger,
    signal: AbortSignal,
  ): Promise<Buffer | null> {
    await this.waitFor(wanted, timeoutMs, signal);
    if (this.bytes >= wanted && linger.ms > 0) await this.waitFor(linger.bytes, linger.ms, signal);
    if (this.bytes < wanted) {
      if (this.failure !== null) throw this.failure;
      return null;
    }
    const parts = rest.length === 0 ? this.chunks : [rest, ...this.chunks];
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts, rest.length + this.bytes);
    this.chunks = [];
    this.bytes = 0;
    if (this.socket.isPaused()) this.socket.resume();
    return all;
  }

  private async waitFor(wanted: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    this.wanted = wanted;
    if (this.bytes >= wanted || this.failure !== null) return;
    if (this.socket.isPaused()) this.socket.resume();
    await this.wait(timeoutMs, signal);
  }

  private wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.waiter = null;
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal.addEventListener('abort', done, { once: true });
      this.waiter = { resolve: done };
    });
  }

  private readonly onData = (chunk: Buffer): void => {
    this.lastReceivedMs = Date.now();
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes > this.maxBytes && this.bytes >= this.wanted) this.socket.pause();
    if (this.bytes >= this.wanted) this.waiter?.resolve();
  };
  private readonly onError = (error: Error): void => {
    this.failure ??= error;
    this.waiter?.resolve();
  };
  private readonly onClose = (): void => {
    this.failure ??= new ConnectError('PG_UNREACHABLE', 'the server closed the connection', { retriable: true });
    this.waiter?.resolve();
  };

  /** Gives the connection back to pg; it must be idle again. */
  release(): void {
    this.detach();
    for (const listener of this.pgListeners) this.socket.on('data', listener);
    if (this.socket.isPaused()) this.socket.resume();
  }

  /** Sends what is written, then `last`, and ends the connection; what still comes is not read. */
  end(last: Buffer): void {
    this.detach();
    const { socket } = this;
    socket.on('error', () => {});
    socket.resume();
    socket.end(last);
    setTimeout(() => socket.destroy(), END_TIMEOUT_MS).unref();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.detach();
    this.socket.destroy();
  }

  private detach(): void {
    this.socket.off('data', this.onData);
    this.socket.off('error', this.onError);
    this.socket.off('close', this.onClose);
  }
}

/** Bytes that the message at `p` lacks; at least 1. */
export function missingBytes(bytes: Buffer, p: number): number {
  return p + 5 > bytes.length ? 1 : Math.max(1, p + 1 + bytes.readInt32BE(p + 1) - bytes.length);
}

/** An ErrorResponse's fields (bytes after the length) as pg's errors have them: message, code, detail. */
export function serverError(bytes: Buffer, start: number, end: number): Error {
  const fields = new Map<string, string>();
  for (let p = start; p < end && bytes[p] !== 0; ) {
    const stop = bytes.indexOf(0, p + 1);
    fields.set(String.fromCharCode(bytes[p]!), bytes.toString('utf8', p + 1, stop));
    p = stop + 1;
  }
  return Object.assign(new Error(fields.get('M') ?? 'unknown error of the server'), {
    code: fields.get('C'),
    detail: fields.get('D'),
  });
}
