/**
 * Reads the packed forms of MySQL's log from a slice that is long enough, and writes what becomes of them. What stands for no value gives NaN; the
 * caller makes null of it.
 */
import { Decimal } from '../data/index.ts';
import { writeLength, writeLong, writeSafe } from './write.ts';

const MONTH_DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** Days since 1970; NaN where there is no such day: MySQL can store those. */
export function daysOfDate(year: number, month: number, day: number): number {
  if (year === 0 || month < 1 || month > 12 || day < 1) return Number.NaN;
  if (day > MONTH_DAYS[month]! && !(month === 2 && day === 29 && isLeap(year))) return Number.NaN;
  // Years that begin in March, in eras of 400 years.
  const y = month > 2 ? year : year - 1;
  const era = (y / 400) | 0;
  const yearOfEra = y - era * 400;
  const dayOfYear = (((month > 2 ? month - 3 : month + 9) * 153 + 2) / 5) | 0;
  const dayOfEra = yearOfEra * 365 + (yearOfEra >> 2) - ((yearOfEra / 100) | 0) + dayOfYear + day - 1;
  return era * 146_097 + dayOfEra - 719_468;
}

/** Three bytes, little end first: year, four bits of month, five of day. */
export function packedDate(b: Buffer, p: number): number {
  const packed = b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16);
  return daysOfDate(packed >> 9, (packed >> 5) & 15, packed & 31);
}

/** Five bytes, big end first: a bit that is set, year * 13 + month, day, hour, minute, second. Seconds since 1970. */
export function packedMoment(b: Buffer, p: number): number {
  const ymd = ((b[p]! & 0x7f) << 15) | (b[p + 1]! << 7) | (b[p + 2]! >> 1);
  const months = ymd >> 5;
  const year = (months / 13) | 0;
  const hms = ((b[p + 2]! & 1) << 16) | (b[p + 3]! << 8) | b[p + 4]!;
  const seconds = (hms >> 12) * 3600 + ((hms >> 6) & 63) * 60 + (hms & 63);
  return daysOfDate(year, months - year * 13, ymd & 31) * 86_400 + seconds;
}

/** Bytes that `digits` of a second's fraction take. */
export const fractionBytes = (digits: number): number => (digits + 1) >> 1;

/** The fraction as microseconds. */
export function packedFraction(b: Buffer, p: number, digits: number): number {
  switch (fractionBytes(digits)) {
    case 0:
      return 0;
    case 1:
      return b[p]! * 10_000;
    case 2:
      return (b[p]! * 256 + b[p + 1]!) * 100;
    default:
      return b[p]! * 65_536 + b[p + 1]! * 256 + b[p + 2]!;
  }
}

/** Signed microseconds from three bytes, big end first and offset, and the fraction, which is of the same number's two's complement. */
export function packedDuration(b: Buffer, p: number, digits: number): number {
  const size = fractionBytes(digits);
  let whole = ((b[p]! << 16) | (b[p + 1]! << 8) | b[p + 2]!) - 0x800000;
  let part = 0;
  for (let i = 0; i < size; i++) part = (part << 8) | b[p + 3 + i]!;
  if (whole < 0 && part > 0) {
    whole++;
    part -= 1 << (size * 8);
  }
  const isNegative = whole < 0 || part < 0;
  const hms = whole < 0 ? -whole : whole;
  const micros = (part < 0 ? -part : part) * (size === 1 ? 10_000 : size === 2 ? 100 : 1);
  const value = (((hms >> 12) & 0x3ff) * 3600 + ((hms >> 6) & 63) * 60 + (hms & 63)) * 1_000_000 + micros;
  return isNegative ? -value : value;
}

/** seconds * 10^6 + micros as an Avro long. */
export function writeMicros(o: Buffer, w: number, seconds: number, micros: number): number {
  const value = seconds * 1_000_000 + micros;
  if (value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER) return writeSafe(o, w, value);
  // In pieces that stay below 2^53.
  const upper = Math.floor(seconds / 65_536);
  const high = upper * 1_000_000;
  const top = Math.floor(high / 65_536);
  const low = (seconds - upper * 65_536) * 1_000_000 + micros + (high - top * 65_536) * 65_536;
  return writeLong(o, w, low | 0, top + Math.floor(low / 4_294_967_296));
}

function two(o: Buffer, w: number, value: number): void {
  const tenth = (value * 103) >> 10;
  o[w] = 48 + tenth;
  o[w + 1] = 48 + value - tenth * 10;
}

/** Length and text, such as 2026-01-02T03:04:05.678Z, of a moment since 1970. */
export function writeTimestamp(o: Buffer, w: number, seconds: number, micros: number, digits: number): number {
  const length = digits === 0 ? 20 : 21 + digits;
  o[w] = length << 1;
  const days = Math.floor(seconds / 86_400);
  const shifted = days + 719_468;
  const era = (shifted / 146_097) | 0;
  const dayOfEra = shifted - era * 146_097;
  const leaps = ((dayOfEra / 1460) | 0) - ((dayOfEra / 36_524) | 0) + ((dayOfEra / 146_096) | 0);
  const yearOfEra = ((dayOfEra - leaps) / 365) | 0;
  const dayOfYear = dayOfEra - (yearOfEra * 365 + (yearOfEra >> 2) - ((yearOfEra / 100) | 0));
  const fromMarch = ((dayOfYear * 5 + 2) / 153) | 0;
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const century = (year / 100) | 0;
  two(o, w + 1, century);
  two(o, w + 3, year - century * 100);
  o[w + 5] = 45;
  two(o, w + 6, month);
  o[w + 8] = 45;
  two(o, w + 9, dayOfYear - (((fromMarch * 153 + 2) / 5) | 0) + 1);
  o[w + 11] = 84;
  const rest = (seconds - days * 86_400) | 0;
  const hour = (rest / 3600) | 0;
  const minute = ((rest - hour * 3600) / 60) | 0;
  two(o, w + 12, hour);
  o[w + 14] = 58;
  two(o, w + 15, minute);
  o[w + 17] = 58;
  two(o, w + 18, rest - hour * 3600 - minute * 60);
  if (digits > 0) {
    // All six; what is too much is written over by what follows.
    const high = (micros / 10_000) | 0;
    const middle = ((micros / 100) | 0) - high * 100;
    o[w + 20] = 46;
    two(o, w + 21, high);
    two(o, w + 23, middle);
    two(o, w + 25, micros - high * 10_000 - middle * 100);
  }
  o[w + length] = 90;
  return w + 1 + length;
}

/** Bytes by digits of a group that is not full. */
const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;
const POWERS = Array.from({ length: 10 }, (_, i) => 10 ** i);

/** Bytes of a DECIMAL. */
export function packedDecimalBytes(precision: number, scale: number): number {
  const of = (digits: number): number => Math.floor(digits / 9) * 4 + DIGIT_BYTES[digits % 9]!;
  return of(precision - scale) + of(scale);
}

/**
 * Unscaled value of a DECIMAL where it is exact within 2^53, else NaN. Groups of nine digits in four bytes, the rest in fewer, big end first: before the
 * point the first group is the short one, behind it the last. The highest bit is the sign, and negative ones are inverted.
 */
export function shortPacked(b: Buffer, p: number, q: number, scale: number): number {
  const isNegative = (b[p]! & 0x80) === 0;
  const mask = isNegative ? 0xff : 0;
  const lastDigits = scale % 9;
  const end = q - DIGIT_BYTES[lastDigits]!;
  const first = p + ((end - p) & 3);
  let flip = 0x80;
  let value = 0;
  let i = p;
  for (; i < first; i++) {
    value = (value << 8) | (b[i]! ^ mask ^ flip);
    flip = 0;
  }
  for (; i < end; i += 4) {
    const group =
      ((b[i]! ^ mask ^ flip) << 24) | ((b[i + 1]! ^ mask) << 16) | ((b[i + 2]! ^ mask) << 8) | (b[i + 3]! ^ mask);
    value = value * 1_000_000_000 + group;
    flip = 0;
  }
  if (i < q) {
    let rest = 0;
    for (; i < q; i++) {
      rest = (rest << 8) | (b[i]! ^ mask ^ flip);
      flip = 0;
    }
    value = value * POWERS[lastDigits]! + rest;
  }
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return Number.NaN;
  return isNegative && value !== 0 ? -value : value;
}

/** Any DECIMAL at `scale`. */
export function longPacked(b: Buffer, p: number, q: number, scale: number): Decimal {
  const isNegative = (b[p]! & 0x80) === 0;
  const mask = isNegative ? 0xff : 0;
  const lastDigits = scale % 9;
  const end = q - DIGIT_BYTES[lastDigits]!;
  let value = 0n;
  let i = p;
  const group = (bytes: number, digits: number): void => {
    let number = 0;
    for (const stop = i + bytes; i < stop; i++) number = number * 256 + (b[i]! ^ mask ^ (i === p ? 0x80 : 0));
    value = value * BigInt(POWERS[digits]!) + BigInt(number);
  };
  group((end - p) & 3, 9);
  while (i < end) group(4, 9);
  group(q - end, lastDigits);
  return new Decimal(isNegative ? -value : value, scale);
}

/** Length and bytes of a slice that lacks its trailing zero bytes; the caller has made room for `length`. */
export function putPadded(o: Buffer, w: number, b: Buffer, p: number, q: number, length: number): number {
  const n = Math.max(length, q - p);
  w = writeLength(o, w, n);
  b.copy(o, w, p, q);
  o.fill(0, w + q - p, w + n);
  return w + n;
}
