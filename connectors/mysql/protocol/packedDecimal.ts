/** MySQL's packed decimals: groups of nine digits in four bytes, the rest in fewer, big end first; the sign is in the highest bit, negative ones are inverted. */
import { Decimal } from '../../../schemas/data/index.ts';
import { decimalBytes } from './logTypes.ts';

const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;
const POWERS = Array.from({ length: 16 }, (_, i) => 10 ** i);

/** Where up to 15 digits fit a double, no text is made. */
export function packedDecimal(b: Buffer, p: number, precision: number, scale: number): Decimal {
  if (precision > 15) return Decimal.parse(decimalText(b, p, precision, scale));
  const isNegative = (b[p]! & 0x80) === 0;
  const mask = isNegative ? 0xff : 0;
  const whole = precision - scale;
  let value = 0;
  let q = p;
  let flip = 0x80;
  const group = (digits: number): void => {
    let number = 0;
    for (let i = DIGIT_BYTES[digits]!; i > 0; i--) {
      number = number * 256 + ((b[q++]! ^ mask ^ flip) & 0xff);
      flip = 0;
    }
    value = value * POWERS[digits]! + number;
  };
  if (whole % 9 > 0) group(whole % 9);
  for (let i = Math.floor(whole / 9); i > 0; i--) group(9);
  for (let i = Math.floor(scale / 9); i > 0; i--) group(9);
  if (scale % 9 > 0) group(scale % 9);
  return new Decimal(BigInt(isNegative ? -value : value), scale);
}

/** Plain notation with `scale` digits behind the point. */
export function decimalText(b: Buffer, p: number, precision: number, scale: number): string {
  const bytes = Buffer.from(b.subarray(p, p + decimalBytes(precision, scale)));
  const isNegative = (bytes[0]! & 0x80) === 0;
  if (isNegative) for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 0xff;
  bytes[0]! ^= 0x80;
  let q = 0;
  const group = (digits: number): string => {
    const size = DIGIT_BYTES[digits]!;
    const text = size === 0 ? '' : String(bytes.readUIntBE(q, size)).padStart(digits, '0');
    q += size;
    return text;
  };
  const whole = precision - scale;
  let text = group(whole % 9);
  for (let i = Math.floor(whole / 9); i > 0; i--) text += group(9);
  let fraction = '';
  for (let i = Math.floor(scale / 9); i > 0; i--) fraction += group(9);
  fraction += group(scale % 9);
  const digits = text.replace(/^0+(?=\d)/, '') || '0';
  const isZero = !/[1-9]/.test(digits + fraction);
  return `${isNegative && !isZero ? '-' : ''}${digits}${scale > 0 ? `.${fraction}` : ''}`;
}
