/** numeric in binary form: base-10000 digits, exact. A value with more digits after the point than the column has does not fit: it is never rounded. */
import type { Decimal } from '../../../schemas/data/index.ts';
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { atMostScale } from '../../shared/numbers.ts';
import { type FieldWriter, writeInt16 } from '../../shared/tupleFields.ts';

const SIGN_NEGATIVE = 0x4000;
const SIGN_NAN = 0xc000;
const SIGN_POSITIVE_INFINITY = 0xd000;
const SIGN_NEGATIVE_INFINITY = 0xf000;

/** Digits after the point of numeric(p, s) by its type modifier; null = not limited. */
export const numericScale = (modifier: number): number | null =>
  modifier < 4 ? null : (((modifier - 4) & 0x7ff) ^ 1024) - 1024;

/** `toDecimal` gives the number, or a special one: NaN and the infinities. */
export function numericWriter(modifier: number, toDecimal: (value: unknown) => Decimal | number): FieldWriter {
  const scale = numericScale(modifier);
  return (value, out) => {
    const decimal = toDecimal(value);
    if (typeof decimal === 'number') writeSpecial(decimal, out);
    else writeDecimal(scale === null ? decimal : atMostScale(decimal, scale), out);
  };
}

function writeSpecial(value: number, out: OutputBuffer): void {
  writeHeader(
    0,
    0,
    Number.isNaN(value) ? SIGN_NAN : value > 0 ? SIGN_POSITIVE_INFINITY : SIGN_NEGATIVE_INFINITY,
    0,
    out,
  );
}

function writeHeader(digits: number, weight: number, sign: number, scale: number, out: OutputBuffer): void {
  out.ensure(12 + digits * 2);
  writeInt16(0, out);
  writeInt16(8 + digits * 2, out);
  writeInt16(digits, out);
  writeInt16(weight, out);
  writeInt16(sign, out);
  writeInt16(scale, out);
}

const groups = new Uint16Array(33_000);
/** Above it a number times 1000 is not exact any more. */
const QUICK_LIMIT = 9_000_000_000_000n;

function writeDecimal(decimal: Decimal, out: OutputBuffer): void {
  const negative = decimal.unscaled < 0n;
  let unscaled = negative ? -decimal.unscaled : decimal.unscaled;
  let scale = decimal.scale;
  if (scale < 0) {
    unscaled *= 10n ** BigInt(-scale);
    scale = 0;
  }
  if (scale > 16_383) throw new RangeError('it has more digits after the point than numeric can hold');
  const fractionGroups = Math.ceil(scale / 4);
  const shift = fractionGroups * 4 - scale;
  let count = 0;
  if (unscaled < QUICK_LIMIT) {
    for (let rest = Number(unscaled) * 10 ** shift; rest > 0; rest = Math.floor(rest / 10000))
      groups[count++] = rest % 10000;
  } else {
    const digits = unscaled.toString() + '0'.repeat(shift);
    if (digits.length > 131_072) throw new RangeError('it has more digits than numeric can hold');
    for (let end = digits.length; end > 0; end -= 4) groups[count++] = Number(digits.slice(Math.max(0, end - 4), end));
  }
  // Lowest group first: zeros at the low end are left out, so that equal numbers have equal digits.
  let low = 0;
  while (low < count && groups[low] === 0) low++;
  const kept = count - low;
  writeHeader(kept, kept === 0 ? 0 : count - fractionGroups - 1, negative && kept > 0 ? SIGN_NEGATIVE : 0, scale, out);
  for (let i = count - 1; i >= low; i--) writeInt16(groups[i]!, out);
}
