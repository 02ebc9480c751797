/**
 * Writers that generated code calls: Avro's integers without bigint, blocks of constant bytes, slices, decimal digits.
 * None of them checks the room in `o`: the caller has made sure of it. Each returns the position after what it wrote.
 */

/** Bytes that many records share, also as words: copied word by word they cost a third of `Buffer.copy` at the lengths of event envelopes. */
export interface Block {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  readonly length: number;
}

const LONG_BLOCK = 384;
const LONG_SLICE = 96;

export function makeBlock(bytes: Buffer): Block {
  const padded = new Uint8Array((bytes.length + 3) & ~3);
  padded.set(bytes);
  const view = new DataView(padded.buffer);
  const words = new Int32Array(padded.length / 4);
  for (let i = 0; i < words.length; i++) words[i] = view.getInt32(i * 4, true);
  return { bytes, words, length: bytes.length };
}

/** May write up to three bytes more than the block has; they are written over by what follows. */
export function putBlock(o: Buffer, v: DataView, w: number, block: Block): number {
  if (block.length > LONG_BLOCK) {
    o.set(block.bytes, w);
  } else {
    const words = block.words;
    for (let i = 0; i < words.length; i++) v.setInt32(w + i * 4, words[i], true);
  }
  return w + block.length;
}

/** Length and bytes of b[p, q). */
export function putSlice(o: Buffer, v: DataView, w: number, b: Buffer, bv: DataView, p: number, q: number): number {
  const n = q - p;
  w = writeLength(o, w, n);
  if (n > LONG_SLICE) {
    b.copy(o, w, p, q);
    return w + n;
  }
  const whole = q - 3;
  for (; p < whole; p += 4, w += 4) v.setInt32(w, bv.getInt32(p, true), true);
  for (; p < q; p++) o[w++] = b[p];
  return w;
}

/** A length or a count, which Avro writes as a long; never negative. */
export function writeLength(o: Buffer, w: number, n: number): number {
  if (n < 64) {
    o[w] = n << 1;
    return w + 1;
  }
  if (n < 8192) {
    o[w] = (n << 1) | 128;
    o[w + 1] = n >> 6;
    return w + 2;
  }
  return writeInt(o, w, n);
}

export function writeInt(o: Buffer, w: number, value: number): number {
  let u = ((value << 1) ^ (value >> 31)) >>> 0;
  while (u > 127) {
    o[w++] = (u & 127) | 128;
    u >>>= 7;
  }
  o[w] = u;
  return w + 1;
}

/** A 64-bit integer from its halves, both taken as int32. */
export function writeLong(o: Buffer, w: number, lo: number, hi: number): number {
  if (hi === lo >> 31) return writeInt(o, w, lo);
  const sign = hi >> 31;
  let high = (((hi << 1) | (lo >>> 31)) ^ sign) >>> 0;
  let low = ((lo << 1) ^ sign) >>> 0;
  while (high !== 0 || low > 127) {
    o[w++] = (low & 127) | 128;
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  o[w] = low;
  return w + 1;
}

/** A whole number within ±2^53. */
export function writeSafe(o: Buffer, w: number, value: number): number {
  return writeLong(o, w, value | 0, Math.floor(value / 4294967296) | 0);
}

/** Decimal digits of a 64-bit integer. At most 20 bytes. */
export function writeDigits(o: Buffer, w: number, lo: number, hi: number): number {
  if (hi === 0) return digits(o, w, lo >>> 0);
  if (hi > 0 && hi < 0x200000) {
    const value = hi * 4294967296 + (lo >>> 0);
    const top = Math.floor(value / 1e9);
    w = digits(o, w, top);
    let rest = value - top * 1e9;
    for (let k = w + 8; k >= w; k--) {
      const tenth = (rest / 10) | 0;
      o[k] = 48 + rest - tenth * 10;
      rest = tenth;
    }
    return w + 9;
  }
  return w + o.write(((BigInt(hi) << 32n) | BigInt(lo >>> 0)).toString(), w, 'latin1');
}

function digits(o: Buffer, w: number, value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit; limit *= 10) count++;
  for (let k = w + count - 1; k >= w; k--) {
    const tenth = Math.floor(value / 10);
    o[k] = 48 + value - tenth * 10;
    value = tenth;
  }
  return w + count;
}

/** Puts the length before a text written from `start + 1` to `w`, for which one byte was kept; the text moves where one is too few. */
export function closeText(o: Buffer, start: number, w: number): number {
  const n = w - start - 1;
  if (n < 64) {
    o[start] = n << 1;
    return w;
  }
  o.copyWithin(start + 2, start + 1, w);
  writeLength(o, start, n);
  return w + 1;
}

/** Longest text for which `closeText` serves. */
export const MAX_TEXT_BYTES = 8191;

/** Length and two's complement bytes, shortest form, of a whole number within ±2^53: an Avro decimal. */
export function writeUnscaled(o: Buffer, w: number, value: number): number {
  const hi = Math.floor(value / 4294967296) | 0;
  const lo = value | 0;
  let n = 1;
  if (hi === lo >> 31) {
    n = lo >= -128 && lo < 128 ? 1 : lo >= -32768 && lo < 32768 ? 2 : lo >= -8388608 && lo < 8388608 ? 3 : 4;
  } else {
    n = hi >= -128 && hi < 128 ? 5 : hi >= -32768 && hi < 32768 ? 6 : 7;
  }
  o[w] = n << 1;
  for (let k = n - 1, i = w + 1; k >= 0; k--, i++) o[i] = k > 3 ? hi >> ((k - 4) * 8) : lo >> (k * 8);
  return w + 1 + n;
}
