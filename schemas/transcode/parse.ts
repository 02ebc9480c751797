/**
 * Reads the database's own forms of a value from a slice [p, q). What is not such a form gives NaN, null or false, never a wrong value;
 * the caller knows column and record and makes the error.
 */
import { Decimal } from '../data/index.ts';

/** Two int32 halves of a 64-bit integer, low first: how functions hand one over without a bigint. */
export type LongPair = Int32Array;

/** A whole number of at most 15 digits, else NaN. */
export function shortInteger(b: Buffer, p: number, q: number): number {
  let i = p;
  const negative = i < q && b[i] === 45;
  if (negative || b[i] === 43) i++;
  if (i >= q || q - i > 15) return Number.NaN;
  let value = 0;
  for (; i < q; i++) {
    const digit = b[i] - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return negative && value !== 0 ? -value : value;
}

/** A whole number of any length that fits 64 bits, into `pair`; false where it is none. */
export function longInteger(b: Buffer, p: number, q: number, pair: LongPair): boolean {
  const short = shortInteger(b, p, q);
  if (!Number.isNaN(short)) {
    pair[0] = short;
    pair[1] = Math.floor(short / 4294967296);
    return true;
  }
  let i = p;
  const negative = b[i] === 45;
  if (negative || b[i] === 43) i++;
  if (q - i < 16 || q - i > 19) return false;
  let top = 0;
  let rest = 0;
  const split = q - 9;
  for (; i < split; i++) {
    const digit = b[i] - 48;
    if (digit < 0 || digit > 9) return false;
    top = top * 10 + digit;
  }
  for (; i < q; i++) {
    const digit = b[i] - 48;
    if (digit < 0 || digit > 9) return false;
    rest = rest * 10 + digit;
  }
  // top * 10^9 + rest, with top < 2^34, in pieces that stay below 2^53
  const high = Math.floor(top / 65536) * 1e9;
  const low = (top % 65536) * 1e9 + rest + (high % 65536) * 65536;
  let hi = Math.floor(high / 65536) + Math.floor(low / 4294967296);
  let lo = low % 4294967296;
  if (hi > 0x7fffffff && !(negative && hi === 0x80000000 && lo === 0)) return false;
  if (negative) {
    lo = lo === 0 ? 0 : 4294967296 - lo;
    hi = -hi - (lo === 0 ? 0 : 1);
  }
  pair[0] = lo;
  pair[1] = hi;
  return true;
}

/** Length of a value of a text result set whose first byte was k > 251, from the bytes at p; -1 where they are not all there, -2 where k is none. */
export function textLength(b: Buffer, bv: DataView, p: number, k: number, end: number): number {
  switch (k) {
    case 252:
      return p + 2 > end ? -1 : bv.getUint16(p, true);
    case 253:
      return p + 3 > end ? -1 : bv.getUint16(p, true) | (b[p + 2] << 16);
    case 254:
      return p + 8 > end ? -1 : bv.getUint32(p, true) + bv.getUint32(p + 4, true) * 4294967296;
    default:
      return -2;
  }
}

const POWERS = Array.from({ length: 23 }, (_, i) => 10 ** i);

/** A floating-point number as text, NaN and infinities included; null where it is none. */
export function floatText(b: Buffer, p: number, q: number): number | null {
  // Digits below 2^53 over an exact power of ten: one correctly rounded division.
  let i = p;
  const negative = b[i] === 45;
  if (negative) i++;
  let value = 0;
  let fraction = -1;
  const first = i;
  for (; i < q; i++) {
    const c = b[i];
    if (c === 46 && fraction < 0) fraction = 0;
    else if (c >= 48 && c <= 57) {
      value = value * 10 + (c - 48);
      if (fraction >= 0) fraction++;
    } else break;
  }
  const digits = q - first - (fraction >= 0 ? 1 : 0);
  if (i === q && digits > 0 && digits <= 15) {
    if (fraction > 0) value /= POWERS[fraction];
    return negative ? -value : value;
  }
  const text = b.toString('latin1', p, q);
  if (text === 'NaN') return Number.NaN;
  if (text === 'Infinity') return Number.POSITIVE_INFINITY;
  if (text === '-Infinity') return Number.NEGATIVE_INFINITY;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : null;
}

/** Unscaled value at `scale` of a plain decimal text that needs at most 15 digits, else NaN: long, in scientific notation, too fine, no number. */
export function shortDecimal(b: Buffer, p: number, q: number, scale: number): number {
  let i = p;
  const negative = i < q && b[i] === 45;
  if (negative) i++;
  if (i >= q || q - i > 16 || (q - i === 1 && b[i] === 46)) return Number.NaN;
  let value = 0;
  let fraction = -1;
  for (; i < q; i++) {
    const c = b[i];
    if (c === 46 && fraction < 0) {
      fraction = 0;
    } else {
      if (c < 48 || c > 57) return Number.NaN;
      value = value * 10 + (c - 48);
      if (fraction >= 0) fraction++;
    }
  }
  const missing = scale - Math.max(fraction, 0);
  if (missing < 0 || missing > 15) return Number.NaN;
  value *= POWERS[missing];
  if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
  return negative && value !== 0 ? -value : value;
}

/** Any decimal text at `scale`. Throws RangeError on what is none or has more digits. */
export function longDecimal(b: Buffer, p: number, q: number, scale: number): Decimal {
  return Decimal.parse(b.toString('latin1', p, q)).withScale(scale);
}

/** NaN, Infinity, -Infinity. */
export function notFiniteText(b: Buffer, p: number, q: number): boolean {
  return q - p >= 3 && (b[p] === 78 || b[p] === 73 || (b[p] === 45 && b[p + 1] === 73));
}

/** The sign of a binary numeric says so. */
export function notFiniteNumeric(b: Buffer, p: number, q: number): boolean {
  return q - p >= 8 && (b[p + 4] & 0xc0) === 0xc0;
}

const NUMERIC_NEGATIVE = 0x4000;

/** Unscaled value at `scale` of PostgreSQL's binary numeric where it is exact within 2^53, else NaN. */
export function shortNumeric(b: Buffer, p: number, q: number, scale: number): number {
  if (q - p < 8) return Number.NaN;
  const count = b.readInt16BE(p);
  const sign = b.readUInt16BE(p + 4);
  if (count > 4 || count < 0 || q - p !== 8 + count * 2 || (sign !== 0 && sign !== NUMERIC_NEGATIVE)) return Number.NaN;
  let value = 0;
  for (let i = 0; i < count; i++) {
    const digit = b.readInt16BE(p + 8 + i * 2);
    if (digit < 0 || digit > 9999) return Number.NaN;
    value = value * 10000 + digit;
  }
  if (value === 0) return 0;
  if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
  const exponent = (b.readInt16BE(p + 2) - count + 1) * 4 + scale;
  if (exponent > 15 || exponent < -15) return Number.NaN;
  if (exponent >= 0) {
    value *= POWERS[exponent];
    if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
  } else {
    const whole = Math.floor(value / POWERS[-exponent]);
    if (whole * POWERS[-exponent] !== value) return Number.NaN;
    value = whole;
  }
  return sign === NUMERIC_NEGATIVE ? -value : value;
}

/** Any finite binary numeric at `scale`. Throws RangeError on NaN, infinities, malformed bytes, or more fraction digits. */
export function longNumeric(b: Buffer, p: number, q: number, scale: number): Decimal {
  const count = q - p < 8 ? -1 : b.readInt16BE(p);
  if (count < 0 || q - p !== 8 + count * 2) throw new RangeError('not a binary numeric');
  const sign = b.readUInt16BE(p + 4);
  if (sign !== 0 && sign !== NUMERIC_NEGATIVE) throw new RangeError('NaN and infinity are no decimal numbers');
  let unscaled = 0n;
  for (let i = 0; i < count; i++) unscaled = unscaled * 10000n + BigInt(b.readUInt16BE(p + 8 + i * 2));
  const at = (count - 1 - b.readInt16BE(p + 2)) * 4;
  if (sign === NUMERIC_NEGATIVE) unscaled = -unscaled;
  return unscaled === 0n ? new Decimal(0n, scale) : new Decimal(unscaled, at).withScale(scale);
}

const hexValue = new Int8Array(256).fill(-1);
for (let i = 0; i < 16; i++) {
  hexValue[i.toString(16).charCodeAt(0)] = i;
  hexValue[i.toString(16).toUpperCase().charCodeAt(0)] = i;
}

/** Number of bytes that `\x…` stands for, or -1 where it is malformed in length or prefix. */
export function hexLength(b: Buffer, p: number, q: number): number {
  return q - p >= 2 && (q - p) % 2 === 0 && b[p] === 92 && b[p + 1] === 120 ? (q - p - 2) / 2 : -1;
}

/** Writes those bytes to o at w; false on a character that is no hex digit. */
export function unhex(o: Buffer, w: number, b: Buffer, p: number, q: number): boolean {
  let bad = 0;
  for (let i = p + 2; i < q; i += 2) {
    const value = (hexValue[b[i]] << 4) | hexValue[b[i + 1]];
    bad |= value;
    o[w++] = value;
  }
  return bad >= 0;
}

const hexDigits = Buffer.from('0123456789abcdef');

/** 36 characters of the UUID whose 16 bytes start at p. */
export function uuidText(o: Buffer, w: number, b: Buffer, p: number): number {
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) o[w++] = 45;
    o[w++] = hexDigits[b[p + i] >> 4];
    o[w++] = hexDigits[b[p + i] & 15];
  }
  return w;
}
