/**
 * Zigzag varints of record batches. Writers return the position behind; the reader keeps its position in a cursor, so that reading allocates nothing.
 */

/** Bytes that `value`, an int32, takes. */
export function varintBytes(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  while (zigzag > 0x7f) {
    bytes[position++] = (zigzag & 0x7f) | 0x80;
    zigzag >>>= 7;
  }
  bytes[position++] = zigzag;
  return position;
}

/** Bytes that `value`, a safe integer, takes as a varlong. */
export function varlongBytes(value: number): number {
  if (value === (value | 0)) return varintBytes(value);
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  let count = 1;
  while (rest > 0x7f) {
    rest = Math.floor(rest / 128);
    count++;
  }
  return count;
}

export function writeVarlong(bytes: Uint8Array, position: number, value: number): number {
  if (value === (value | 0)) return writeVarint(bytes, position, value);
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  while (rest > 0x7f) {
    bytes[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  bytes[position++] = rest;
  return position;
}

/** Thrown for bytes that are not what they should be; readers turn it into an error that says where. */
export class MalformedBytes extends Error {}

/** Reads within [position, limit). */
export class VarintCursor {
  bytes: Uint8Array;
  position: number;
  limit: number;

  constructor(bytes: Uint8Array, position: number, limit: number) {
    this.bytes = bytes;
    this.position = position;
    this.limit = limit;
  }

  varint(): number {
    const bytes = this.bytes;
    let position = this.position;
    const limit = this.limit;
    if (position >= limit) throw new MalformedBytes('a number is cut off');
    let byte = bytes[position++];
    let zigzag = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      if (position >= limit) throw new MalformedBytes('a number is cut off');
      byte = bytes[position++];
      if (shift > 28 || (shift === 28 && byte > 0x0f)) throw new MalformedBytes('a number is longer than 32 bits');
      zigzag |= (byte & 0x7f) << shift;
    }
    this.position = position;
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  /** A varlong that fits a safe integer. */
  varlong(): number {
    const bytes = this.bytes;
    let position = this.position;
    const limit = this.limit;
    let low = 0;
    let scale = 1;
    for (;;) {
      if (position >= limit) throw new MalformedBytes('a number is cut off');
      const byte = bytes[position++];
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
      if (scale > 0x40_0000_0000_0000) throw new MalformedBytes('a number is longer than 54 bits');
    }
    if (low > Number.MAX_SAFE_INTEGER) throw new MalformedBytes('a number is longer than 53 bits');
    this.position = position;
    return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
  }

  /** Steps over `count` bytes and returns where they start. */
  skip(count: number): number {
    const start = this.position;
    if (count < 0 || count > this.limit - start) throw new MalformedBytes(`a length of ${count} leads past the end`);
    this.position = start + count;
    return start;
  }
}
