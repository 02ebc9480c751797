/**
 * A TCP socket that reads into one buffer, in pieces as large as there are. A stream of its own makes new memory for each read, which costs more than
 * the reading. pg gets its own copies by 'data' events; `onPiece` takes them in place of it.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';

const READ_BYTES = 256 * 1024;

export class PieceSocket extends Socket {
  /** A piece holds until the call returns. */
  onPiece: ((piece: Buffer) => void) | null = null;

  constructor() {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      const piece = buffer.subarray(0, length);
      if (this.onPiece === null) this.emit('data', Buffer.from(piece));
      else this.onPiece(piece);
      return true;
    };
    // The types know it of connect's options only.
    super({ onread: { buffer, callback } } as SocketConstructorOpts);
  }
}
