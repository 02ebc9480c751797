/** MySQL's packed decimals: groups of nine digits in four bytes, the rest in fewer, big end first; the sign is in the highest bit, negative ones are inverted. */
import { decimalBytes } from './logTypes.ts';

const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;

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
