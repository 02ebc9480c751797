/**
 * Fields of a row as SQL literals, with their length before them as all tuples have it. What is written here needs the session's settings: strict
 * mode, backslash escapes, utf8mb4. Writers get non-null values and throw RangeError, without the value in its text, for one that does not fit.
 */
import type { Decimal } from '../../../schemas/data/index.ts';
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { atMostScale, outOfRange, toFloat, toInteger } from '../../shared/numbers.ts';
import { type FieldWriter, put32 } from '../../shared/tupleFields.ts';

/** A literal of ASCII characters only. */
export function writeAscii(text: string, out: OutputBuffer): void {
  const { length } = text;
  out.ensure(length + 4);
  const { bytes, position } = out;
  put32(bytes, position, length);
  for (let i = 0; i < length; i++) bytes[position + 4 + i] = text.charCodeAt(i);
  out.position = position + 4 + length;
}

const QUOTE = 0x27;
const BACKSLASH = 0x5c;
/** Longer ones go through the runtime, shorter ones are faster by hand. */
const SHORT_TEXT = 40;

/** Doubling quotes and backslashes is enough for the server; so NUL and line ends stay as they are. */
export function writeQuoted(text: string, out: OutputBuffer): void {
  const { length } = text;
  out.ensure(length * 3 + 6);
  const { bytes, position } = out;
  let at = position + 4;
  bytes[at++] = QUOTE;
  let i = 0;
  if (length <= SHORT_TEXT)
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f || code === QUOTE || code === BACKSLASH) break;
      bytes[at++] = code;
    }
  if (i < length) {
    at = position + 5;
    const rest = text.includes("'") || text.includes('\\') ? text.replaceAll('\\', '\\\\').replaceAll("'", "''") : text;
    if (rest.length > length) {
      out.ensure(rest.length * 3 + 6);
      out.bytes[position + 4] = QUOTE;
    }
    at += out.bytes.write(rest, at, 'utf8');
  }
  out.bytes[at++] = QUOTE;
  put32(out.bytes, position, at - position - 4);
  out.position = at;
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1');

/** `x'…'`; `prefix` are bytes before the value. */
export function writeHex(value: Uint8Array, out: OutputBuffer, prefix: Uint8Array | null = null): void {
  const total = (prefix?.length ?? 0) + value.length;
  out.ensure(total * 2 + 7);
  const { bytes, position } = out;
  let at = position + 4;
  bytes[at++] = 0x78;
  bytes[at++] = QUOTE;
  for (const part of prefix === null ? [value] : [prefix, value])
    for (let i = 0; i < part.length; i++) {
      const byte = part[i]!;
      bytes[at++] = HEX[byte >> 4]!;
      bytes[at++] = HEX[byte & 15]!;
    }
  bytes[at++] = QUOTE;
  put32(bytes, position, at - position - 4);
  out.position = at;
}

/** A whole number between bounds, as it is compared exactly. */
export function integerWriter(min: bigint, max: bigint): FieldWriter {
  const [low, high] = [Number(min), Number(max)];
  return (value, out) => {
    const integer = toInteger(value);
    if (typeof integer === 'number') {
      // Safe integers: bounds beyond them are rounded away from zero at most.
      if (integer < low || integer > high) throw outOfRange();
      writeInteger(integer, out);
    } else {
      if (integer < min || integer > max) throw outOfRange();
      writeAscii(integer.toString(), out);
    }
  };
}

/** The digits of small numbers without a text in between. */
function writeInteger(value: number, out: OutputBuffer): void {
  if ((value | 0) !== value || value === -0x8000_0000) {
    writeAscii(String(value), out);
    return;
  }
  out.ensure(16);
  const { bytes, position } = out;
  let rest = value < 0 ? -value : value;
  let digits = 1;
  for (let power = 10; digits < 10 && rest >= power; power *= 10) digits++;
  const length = value < 0 ? digits + 1 : digits;
  put32(bytes, position, length);
  if (value < 0) bytes[position + 4] = 0x2d;
  for (let at = position + 3 + length; digits > 0; at--, digits--) {
    const quotient = (rest / 10) | 0;
    bytes[at] = 0x30 + rest - quotient * 10;
    rest = quotient;
  }
  out.position = position + 4 + length;
}

export const writeFloat: FieldWriter = (value, out) => {
  const number = toFloat(value);
  if (!Number.isFinite(number)) throw new RangeError('it is not a finite number');
  // With an exponent it is a double for the server, and keeps the sign of zero.
  const text = Object.is(number, -0) ? '-0' : String(number);
  writeAscii(text.includes('e') ? text : `${text}e0`, out);
};

export const writeBoolean: FieldWriter = (value, out) => {
  let truth: boolean;
  if (typeof value === 'boolean') truth = value;
  else if (typeof value === 'string' && /^(t|true|f|false)$/i.test(value)) truth = /^t/i.test(value);
  else {
    const number = Number(toInteger(value));
    if (number !== 0 && number !== 1) throw new RangeError('it is neither true nor false');
    truth = number === 1;
  }
  writeAscii(truth ? '1' : '0', out);
};

/** All digits that the column has after the point, so that equal numbers are equal bytes; the server would round, and say nothing. */
export function decimalWriter(scale: number, toDecimal: (value: unknown) => Decimal | number): FieldWriter {
  return (value, out) => {
    const decimal = toDecimal(value);
    if (typeof decimal === 'number') throw new RangeError('it is not a finite number');
    const fitted = atMostScale(decimal, scale);
    const negative = fitted.unscaled < 0n;
    const digits = `${negative ? -fitted.unscaled : fitted.unscaled}${'0'.repeat(scale - fitted.scale)}`;
    const whole = digits.length > scale ? digits.slice(0, digits.length - scale) : '0';
    const fraction = scale === 0 ? '' : `.${digits.slice(-scale).padStart(scale, '0')}`;
    writeAscii(`${negative ? '-' : ''}${whole}${fraction}`, out);
  };
}
