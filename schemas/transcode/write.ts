/**
 * Writers that generated code calls: Avro's integers without bigint, blocks of constant bytes, slices, decimal digits.
 * None of them checks the room in `o`: the caller has made sure of it. Each returns the position after what it wrote.
 */

/** Bytes that many records share. */
export interface Block {
  readonly bytes: Buffer;
  /** Of the bytes and up to three more, so that whole words can be read. */
  readonly view: DataView;
  readonly length: number;
}

/** From here on a copy from an array to another at once costs less than one word by word, if the array is there already: 25 ns however long it is. */
export const LONG_BLOCK = 32;
const LONG_SLICE = 96;

export function makeBlock(bytes: Buffer): Block {
  const padded = new Uint8Array((bytes.length + 3) & ~3);
  padded.set(bytes);
  return { bytes, view: new DataView(padded.buffer), length: bytes.length };
}

/** May write up to three bytes more than the block has; they are written over by what follows. */
export function putBlock(o: Buffer, v: DataView, w: number, block: Block): number {
  const { length } = block;
  const end = w + length;
  if (length >= LONG_BLOCK) {
    o.set(block.bytes, w);
    return end;
  }
  const { view } = block;
  for (let p = 0; w < end; w += 4, p += 4) v.setInt32(w, view.getInt32(p, true), true);
  return end;
}

/** Length and bytes of b[p, q). */
export function putSlice(o: Buffer, v: DataView, w: number, b: Buffer, bv: DataView, p: number, q: number): number {
  const n = q - p;
  w = writeLength(o, w, n);
  if (n > LONG_SLICE) {
    b.copy(o, w, p, q);
    return w + n;
  }
  if (n < 4) {
    for (; p < q; p++) o[w++] = b[p];
    return w;
  }
  // The last word may begin in the one before.
  const end = w + n;
  for (; w < end - 4; p += 4, w += 4) v.setInt32(w, bv.getInt32(p, true), true);
  v.setInt32(end - 4, bv.getInt32(q - 4, true), true);
  return end;
}

/** `n` bytes of the output itself, from before w: `from + n` is not behind it. May write up to three bytes more. */
export function putAgain(o: Buffer, v: DataView, w: number, from: number, n: number): number {
  const end = w + n;
  if (n >= LONG_SLICE) {
    o.copyWithin(w, from, from + n);
    return end;
  }
  for (; w < end; w += 4, from += 4) v.setInt32(w, v.getInt32(from, true), true);
  return end;
}

/** How many bytes from p on are those from `before` on, `most` at most and none behind `end`. */
export function sameBytes(b: Buffer, bv: DataView, before: number, p: number, most: number, end: number): number {
  const length = Math.min(most, end - p);
  let n = 0;
  while (
    n + 16 <= length &&
    (difference(bv, before + n, p + n) |
      difference(bv, before + n + 4, p + n + 4) |
      difference(bv, before + n + 8, p + n + 8) |
      difference(bv, before + n + 12, p + n + 12)) ===
      0
  ) {
    n += 16;
  }
  while (n + 4 <= length && difference(bv, before + n, p + n) === 0) n += 4;
  while (n < length && b[before + n] === b[p + n]) n++;
  return n;
}

const difference = (bv: DataView, p: number, q: number): number => bv.getInt32(p, true) ^ bv.getInt32(q, true);

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

/** Decimal digits of a 64-bit integer from its halves, both taken as int32. At most 20 bytes. */
export function writeDigits(o: Buffer, w: number, lo: number, hi: number): number {
  if (hi === lo >> 31) return writeSmallDigits(o, w, lo);
  let high = hi >>> 0;
  let low = lo >>> 0;
  if (hi < 0) {
    o[w++] = 45;
    high = low === 0 ? -hi >>> 0 : ~hi >>> 0;
    low = -lo >>> 0;
  }
  // In steps of 16 bits, divided by 10^9: every number on the way is below 2^46.
  const first = Math.floor(high / 1e9);
  let dividend = (high - first * 1e9) * 65536 + (low >>> 16);
  const second = Math.floor(dividend / 1e9);
  dividend = (dividend - second * 1e9) * 65536 + (low & 0xffff);
  const third = Math.floor(dividend / 1e9);
  let rest = (dividend - third * 1e9) | 0;
  const top = (first * 65536 + second) * 65536 + third;
  w = unsignedDigits(o, w, top);
  for (let k = w + 8; k >= w; k--) {
    const tenth = (rest / 10) | 0;
    o[k] = 48 + ((rest - tenth * 10) | 0);
    rest = tenth;
  }
  return w + 9;
}

/** Decimal digits of an int32. At most 11 bytes. */
export function writeSmallDigits(o: Buffer, w: number, value: number): number {
  if (value >= 0) return unsignedDigits(o, w, value);
  o[w] = 45;
  return unsignedDigits(o, w + 1, -value);
}

/** Below 2^34. */
function unsignedDigits(o: Buffer, w: number, value: number): number {
  if (value > 0x7fffffff) {
    const tenth = Math.floor(value / 10);
    const end = int31Digits(o, w, tenth);
    o[end] = 48 + value - tenth * 10;
    return end + 1;
  }
  return int31Digits(o, w, value | 0);
}

/** All in int32, whose division by a constant is cheap. */
function int31Digits(o: Buffer, w: number, value: number): number {
  const end =
    value < 10000
      ? w + (value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4)
      : value < 100_000_000
        ? w + (value < 100_000 ? 5 : value < 1_000_000 ? 6 : value < 10_000_000 ? 7 : 8)
        : w + (value < 1_000_000_000 ? 9 : 10);
  for (let k = end - 1; k >= w; k--) {
    const tenth = (value / 10) | 0;
    o[k] = 48 + ((value - tenth * 10) | 0);
    value = tenth;
  }
  return end;
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
