/**
 * MySQL's packets: 3 bytes of length, a sequence number, the payload. A payload of 2^24 - 1 bytes or more goes on in the next packet; its parts are
 * moved together where they lie, so that readers see one piece.
 */

const HEADER_BYTES = 4;
const LONGEST = 0xffffff;

export class PacketReader {
  /** The payload last read is bytes[start, end); the next packet is at `next`. */
  start = 0;
  end = 0;
  next = 0;
  /** After a failed read: bytes that are lacking at the least. */
  missing = 1;

  /** Whether the packet at `p` is there as a whole. */
  read(bytes: Buffer, p: number): boolean {
    if (p + HEADER_BYTES > bytes.length) return this.lacks(p + HEADER_BYTES - bytes.length);
    const length = bytes.readUIntLE(p, 3);
    const start = p + HEADER_BYTES;
    if (start + length > bytes.length) return this.lacks(start + length - bytes.length);
    this.start = start;
    this.end = start + length;
    this.next = this.end;
    return length < LONGEST || this.join(bytes);
  }

  private join(bytes: Buffer): boolean {
    let q = this.end;
    for (let length = LONGEST; length === LONGEST; q += length) {
      if (q + HEADER_BYTES > bytes.length) return this.lacks(q + HEADER_BYTES - bytes.length);
      length = bytes.readUIntLE(q, 3);
      q += HEADER_BYTES;
      if (q + length > bytes.length) return this.lacks(q + length - bytes.length);
    }
    let { end } = this;
    for (q = end; ; ) {
      const length = bytes.readUIntLE(q, 3);
      bytes.copyWithin(end, q + HEADER_BYTES, q + HEADER_BYTES + length);
      end += length;
      q += HEADER_BYTES + length;
      if (length < LONGEST) break;
    }
    this.end = end;
    this.next = q;
    return true;
  }

  private lacks(bytes: number): false {
    this.missing = bytes;
    return false;
  }
}

/** A command as a packet. */
export function commandPacket(command: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.writeUIntLE(body.length + 1, 0, 3);
  head[4] = command;
  return Buffer.concat([head, body]);
}

/** The error that an ERR packet's payload tells: 0xff, code, '#' and SQL state, message. With mysql2's property names. */
export function serverError(bytes: Buffer, start: number, end: number): Error & { errno: number; sqlState: string } {
  const errno = bytes.readUInt16LE(start + 1);
  const hasState = bytes[start + 3] === 0x23;
  const message = bytes.toString('utf8', start + (hasState ? 9 : 3), end);
  const sqlState = hasState ? bytes.toString('latin1', start + 4, start + 9) : '';
  return Object.assign(new Error(message), { errno, sqlState });
}
