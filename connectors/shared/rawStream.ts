/**
 * The bytes of a connection without a parser between: a driver that makes an object of each message costs more than all the rest of the decoding.
 * Encryption and login stay the driver's; the connection must be idle when taken.
 *
 * The socket is read only while a reader waits. A server may send each change by itself: a reader that takes each as it comes is woken for every one,
 * and the server pays for waking it. Between reads the kernel gathers them.
 */
import type { Duplex } from 'node:stream';
import { PieceSocket } from './pieceSocket.ts';

const END_TIMEOUT_MS = 1000;
const LEAST_BYTES = 64 * 1024;
/** A read ends here and leaves the rest to the next: between reads the records go out. */
const MOST_BYTES = 256 * 1024;
/** A larger buffer, for a large row, is not kept. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

type DataListener = (chunk: Buffer) => void;

export interface RawStreamOptions {
  /** What is read holds until the next read but one, and its memory is used again; else it is the reader's. */
  readonly isReused: boolean;
  /** What a reader gets when the server ends the connection. */
  readonly closed: () => Error;
}

export class RawStream {
  private readonly socket: Duplex;
  private readonly options: RawStreamOptions;
  private readonly driverListeners: DataListener[];
  /** What the next read gives: `length` bytes of `bytes`. The other buffer holds what the last one gave. */
  private bytes: Buffer = EMPTY;
  private length = 0;
  private other: Buffer = EMPTY;
  private hasRest = false;
  private failure: Error | null = null;
  private waiter: (() => void) | null = null;
  /** Bytes without which a reader cannot go on; they may pass the bound. */
  private wanted = 1;
  private lastReadMs = 0;
  /** There was more than the last read took. */
  private isCut = false;
  private stoppedMs = Date.now();
  private lastReceivedMs = Date.now();
  private isReading = false;

  constructor(socket: Duplex, options: RawStreamOptions) {
    this.socket = socket;
    this.options = options;
    this.driverListeners = socket.listeners('data') as DataListener[];
    for (const listener of this.driverListeners) socket.off('data', listener);
    socket.pause();
    if (socket instanceof PieceSocket) socket.onPiece = this.onPiece;
    else socket.on('data', this.onPiece);
    socket.on('error', this.onError);
    socket.on('close', this.onClose);
  }

  /** How long nothing came although it was waited for. */
  get silentMs(): number {
    return (this.isReading ? Date.now() : this.stoppedMs) - this.lastReceivedMs;
  }

  write(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  /** Ends reads with an error that the socket does not know of. */
  fail(error: Error): void {
    this.onError(error);
  }

  /**
   * All bytes there are, behind `rest`, what an earlier read could not use; null where `wanted` did not come within `timeoutMs`. Not before `gatherMs` after
   * the last read: each read has a price of its own.
   */
  async read(
    rest: Buffer,
    wanted: number,
    timeoutMs: number,
    gatherMs: number,
    signal: AbortSignal,
  ): Promise<Buffer | null> {
    if (!this.hasRest) {
      this.length = 0;
      // As large as the last one, so that it need not grow.
      this.makeRoom(Math.max(rest.length + wanted, LEAST_BYTES, Math.min(this.other.length, MOST_KEPT_BYTES)));
      this.length = rest.copy(this.bytes);
      this.hasRest = true;
    }
    this.wanted = rest.length + wanted;
    const waitMs = this.isCut ? 0 : this.lastReadMs + gatherMs - performance.now();
    if (waitMs > 0 && this.failure === null) await this.wait(waitMs, signal, false);
    this.isCut = false;
    if (this.failure === null && this.length < this.wanted) await this.wait(timeoutMs, signal, true);
    this.lastReadMs = performance.now();
    if (this.length < this.wanted) {
      if (this.failure !== null) throw this.failure;
      return null;
    }
    const { bytes, other } = this;
    this.hasRest = false;
    this.bytes = this.options.isReused && other.length <= MOST_KEPT_BYTES ? other : EMPTY;
    this.other = bytes;
    return bytes.subarray(0, this.length);
  }

  /** Ends early for an error, and where it reads, once the bytes wanted are there and all that came with them is taken. */
  private wait(timeoutMs: number, signal: AbortSignal, isReading: boolean): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.waiter = null;
        if (isReading) this.stopReading();
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal.addEventListener('abort', done, { once: true });
      this.waiter = done;
      if (isReading) this.startReading();
    });
  }

  private startReading(): void {
    // What is not read says nothing of the server.
    this.lastReceivedMs += Date.now() - this.stoppedMs;
    this.isReading = true;
    this.socket.resume();
  }

  private stopReading(): void {
    this.isReading = false;
    this.stoppedMs = Date.now();
    this.socket.pause();
  }

  private readonly onPiece = (piece: Buffer): void => {
    this.lastReceivedMs = Date.now();
    const hadEnough = this.length >= this.wanted;
    this.makeRoom(this.length + piece.length);
    piece.copy(this.bytes, this.length);
    this.length += piece.length;
    if (this.length < this.wanted) return;
    this.isCut = this.length >= MOST_BYTES;
    if (this.isCut) this.waiter?.();
    else if (!hadEnough) setImmediate(() => this.waiter?.());
  };

  private makeRoom(length: number): void {
    if (length <= this.bytes.length) return;
    const wider = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
    this.bytes.copy(wider, 0, 0, this.length);
    this.bytes = wider;
  }

  private readonly onError = (error: Error): void => {
    this.failure ??= error;
    this.waiter?.();
  };
  private readonly onClose = (): void => {
    this.failure ??= this.options.closed();
    this.waiter?.();
  };

  /** Gives the connection back to its driver; it must be idle again. */
  release(): void {
    this.detach();
    if (this.socket instanceof PieceSocket) this.socket.onPiece = null;
    for (const listener of this.driverListeners) this.socket.on('data', listener);
    this.socket.resume();
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
    if (this.socket instanceof PieceSocket) this.socket.onPiece = () => {};
    this.socket.off('data', this.onPiece);
    this.socket.off('error', this.onError);
    this.socket.off('close', this.onClose);
  }
}
