/**
 * Avro's binary encoding of single values, for the generated encoders and decoders. Writers get a buffer with room enough and return the
 * next position. Readers may run past `end`: reading beyond a buffer gives undefined, thus 0, and the caller checks the position.
 */
const int64 = new BigInt64Array(1);
const int32 = new Int32Array(int64.buffer);
const low = new Uint8Array(new Uint32Array([1]).buffer)[0];
/** Indexes of the lower and upper half of a 64-bit integer in `int32`. */
const LOW = low === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** Writes a zigzag-encoded 32-bit integer as a varint. */
export function writeVarint(b: Buffer, p: number, zigzag: number): number {
  let n = zigzag >>> 0;
  while (n > 127) {
    b[p++] = (n & 127) | 128;
    n >>>= 7;
  }
  b[p++] = n;
  return p;
}

/** Writes a long given as bigint or number; -1 if it is neither or beyond 64 bits (a number: beyond 2^53). */
export function writeLong(b: Buffer, p: number, value: unknown): number {
  if (typeof value === 'number') {
    if ((value | 0) === value) return writeVarint(b, p, (value << 1) ^ (value >> 31));
    if (!Number.isSafeInteger(value)) return -1;
    int64[0] = BigInt(value);
  } else if (typeof value === 'bigint') {
    int64[0] = value;
    if (int64[0] !== value) return -1;
  } else return -1;
  const lower = int32[LOW];
  const upper = int32[HIGH];
  const sign = upper >> 31;
  let lo = ((lower << 1) ^ sign) >>> 0;
  let hi = (((upper << 1) | (lower >>> 31)) ^ sign) >>> 0;
  while (hi !== 0) {
    b[p++] = (lo & 127) | 128;
    lo = ((lo >>> 7) | (hi << 25)) >>> 0;
    hi >>>= 7;
  }
  while (lo > 127) {
    b[p++] = (lo & 127) | 128;
    lo >>>= 7;
  }
  b[p++] = lo;
  return p;
}

const varintLength = (n: number): number => (n < 64 ? 1 : n < 8192 ? 2 : n < 1048576 ? 3 : n < 134217728 ? 4 : 5);

/** Writes length and UTF-8 bytes. Needs room for 3 bytes per UTF-16 unit and 5 more. */
export function writeString(b: Buffer, p: number, text: string): number {
  const length = text.length;
  if (length < 24) {
    // Short ASCII: cheaper here than a call out of JavaScript.
    let q = p + 1;
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) break;
      b[q++] = code;
    }
    if (i === length) {
      b[p] = length << 1;
      return q;
    }
  }
  const guess = varintLength(length);
  const written = b.write(text, p + guess, 'utf8');
  const actual = varintLength(written);
  if (actual !== guess) b.copyWithin(p + actual, p + guess, p + guess + written);
  return writeVarint(b, p, written << 1) + written;
}

export function writeBytes(b: Buffer, p: number, bytes: Uint8Array): number {
  const start = writeVarint(b, p, bytes.length << 1);
  b.set(bytes, start);
  return start + bytes.length;
}

const f32 = new Float32Array(1);
const f64 = new Float64Array(1);
const floatBytes = new Uint8Array(f32.buffer);
const doubleBytes = new Uint8Array(f64.buffer);

export function writeFloat(b: Buffer, p: number, value: number): number {
  if (LOW === 1) return b.writeFloatLE(value, p);
  f32[0] = value;
  b[p] = floatBytes[0];
  b[p + 1] = floatBytes[1];
  b[p + 2] = floatBytes[2];
  b[p + 3] = floatBytes[3];
  return p + 4;
}

export function writeDouble(b: Buffer, p: number, value: number): number {
  if (LOW === 1) return b.writeDoubleLE(value, p);
  f64[0] = value;
  for (let i = 0; i < 8; i++) b[p + i] = doubleBytes[i];
  return p + 8;
}

/** Where a reader stands. `fail` is called, and throws, for bytes that cannot be. */
export interface ReadState {
  b: Buffer;
  p: number;
  /** End of the value being read. */
  e: number;
  /** For messages: where the value starts, and which record of a batch it is (-1 = not of a batch). */
  start: number;
  index: number;
  fail(what: string, at: number): never;
}

/** A 32-bit integer, zigzag undone. */
export function readInt(s: ReadState): number {
  const { b } = s;
  const start = s.p;
  let p = start;
  let byte = b[p++];
  let n = byte & 127;
  let shift = 7;
  while (byte > 127) {
    if (shift > 28) s.fail('an int of more than 5 bytes', start);
    byte = b[p++];
    if (shift === 28 && byte > 15) s.fail('an int beyond 32 bits', start);
    n |= (byte & 127) << shift;
    shift += 7;
  }
  s.p = p;
  return (n >>> 1) ^ -(n & 1);
}

/** Fills `int32` with the 64-bit integer at the position. */
function readHalves(s: ReadState): void {
  const { b } = s;
  const start = s.p;
  let p = start;
  let byte = b[p++];
  let lo = byte & 127;
  let hi = 0;
  let shift = 7;
  while (byte > 127) {
    byte = b[p++];
    if (shift < 28) lo |= (byte & 127) << shift;
    else if (shift === 28) {
      lo |= (byte & 127) << 28;
      hi = (byte & 127) >>> 4;
    } else if (shift < 63) hi |= (byte & 127) << (shift - 32);
    else {
      if (byte > 1) s.fail('a long beyond 64 bits', start);
      hi |= byte << 31;
    }
    shift += 7;
  }
  s.p = p;
  const sign = -(lo & 1);
  int32[LOW] = ((lo >>> 1) | (hi << 31)) ^ sign;
  int32[HIGH] = (hi >>> 1) ^ sign;
}

export function readLong(s: ReadState): bigint {
  readHalves(s);
  return int64[0];
}

/** Longs of one byte, by that byte. */
export const smallLongs: readonly bigint[] = Array.from({ length: 128 }, (_, n) => BigInt((n >>> 1) ^ -(n & 1)));

/** A length or count. Fails where it is negative or more than the bytes left. */
export function readLength(s: ReadState): number {
  const start = s.p;
  const byte = s.b[start];
  if (byte < 128 && (byte & 1) === 0) {
    s.p = start + 1;
    const length = byte >>> 1;
    if (length > s.e - s.p) s.fail(`a length of ${length} with ${s.e - s.p} bytes left`, start);
    return length;
  }
  readHalves(s);
  if (int32[HIGH] !== 0 || int32[LOW] < 0 || int32[LOW] > s.e - s.p)
    s.fail(`a length of ${int64[0]} with ${s.e - s.p} bytes left`, start);
  return int32[LOW];
}

export function readString(s: ReadState): string {
  const length = readLength(s);
  const { b } = s;
  const start = s.p;
  const end = start + length;
  s.p = end;
  return utf8Text(b, start, end);
}

/** The string that b[start, end) is. */
export function utf8Text(b: Buffer, start: number, end: number): string {
  return shortString(b, start, end - start) ?? b.toString('utf8', start, end);
}

/** Short ASCII is built here, cheaper than by a call out of JavaScript; null for all else. */
function shortString(b: Buffer, p: number, length: number): string | null {
  if (length === 0) return '';
  if (length > 12) return null;
  let seen = 0;
  for (let i = 0; i < length; i++) seen |= b[p + i];
  if (seen > 127) return null;
  let text = '';
  let i = 0;
  for (; i + 4 <= length; i += 4) text += String.fromCharCode(b[p + i], b[p + i + 1], b[p + i + 2], b[p + i + 3]);
  for (; i < length; i++) text += String.fromCharCode(b[p + i]);
  return text;
}

/** A copy: the value outlives the batch it was read from. */
export function readBytes(s: ReadState): Buffer {
  const length = readLength(s);
  const start = s.p;
  s.p = start + length;
  return Buffer.from(s.b.subarray(start, s.p));
}

export function readFloat(s: ReadState): number {
  const { p } = s;
  if (s.e - p < 4) s.fail('a float', p);
  s.p = p + 4;
  return s.b.readFloatLE(p);
}

export function readDouble(s: ReadState): number {
  const { p } = s;
  if (s.e - p < 8) s.fail('a double', p);
  s.p = p + 8;
  return s.b.readDoubleLE(p);
}

/**
 * The number of items in the next block of an array or map; 0 = no more. `least` is the fewest bytes an item takes: a count that cannot be
 * in the bytes left fails, so that no loop is longer than the record.
 */
export function readBlock(s: ReadState, least: number): number {
  const start = s.p;
  readHalves(s);
  if (int32[HIGH] < 0) {
    int64[0] = -int64[0];
    const lower = int32[LOW];
    const upper = int32[HIGH];
    readLength(s); // the block's size in bytes
    int32[LOW] = lower;
    int32[HIGH] = upper;
  }
  const most = least === 0 ? MOST_EMPTY_ITEMS : Math.floor((s.e - s.p) / least);
  if (int32[HIGH] !== 0 || int32[LOW] < 0 || int32[LOW] > most)
    s.fail(`a block of ${BigInt.asUintN(64, int64[0])} items with ${s.e - s.p} bytes left`, start);
  return int32[LOW];
}
/** Items that take no bytes (null) are bounded too. */
const MOST_EMPTY_ITEMS = 65536;
