/**
 * TRANSACTION_PAYLOAD (binlog_transaction_compression): the events of a whole transaction in one, mostly under zstd. Fields of type, length, value: 1 size
 * of the payload, 2 compression (0 zstd, 255 none), 3 size before compression, 0 end; the payload follows. Decompressed piece by piece: a transaction
 * may be larger than memory.
 */
import { Decompress } from 'fzstd';
import { ConnectError } from '../../../runtime/api/index.ts';
import { ByteReader } from './byteReader.ts';

const PIECE_BYTES = 64 * 1024;

export class PayloadReader {
  private readonly payload: Buffer;
  private readonly decompressor: Decompress | null;
  private readonly pieces: Uint8Array[] = [];
  private at = 0;

  constructor(bytes: Buffer, body: number, end: number) {
    const reader = new ByteReader(bytes, body, end);
    let compression = 0;
    for (let field = reader.packed(); field !== 0; field = reader.packed()) {
      const length = reader.packed();
      if (field === 2) compression = reader.packed();
      else reader.skip(length);
    }
    if (compression !== 0 && compression !== 255) {
      throw new ConnectError(
        'MYSQL_EVENT_UNSUPPORTED',
        `A transaction is compressed in the unknown way ${compression}. Set binlog_transaction_compression=OFF on the server.`,
      );
    }
    // The received bytes are used again before the payload is read to its end.
    this.payload = Buffer.from(reader.rest());
    this.decompressor = compression === 0 ? new Decompress(piece => this.pieces.push(piece)) : null;
  }

  /** What follows, behind `rest` of the piece before; null at the end. */
  next(rest: Buffer): Buffer | null {
    const { payload, decompressor } = this;
    while (this.pieces.length === 0 && this.at < payload.length) {
      const end = Math.min(this.at + PIECE_BYTES, payload.length);
      const piece = payload.subarray(this.at, end);
      this.at = end;
      if (decompressor === null) this.pieces.push(piece);
      else decompressor.push(piece, end === payload.length);
    }
    if (this.pieces.length === 0) return null;
    return Buffer.concat([rest, ...this.pieces.splice(0)]);
  }
}
