/** Exact decimals as the 16 bytes of a Decimal128: sign, exponent and a whole number of at most 34 digits. */
import type { Decimal } from '../../schemas/data/index.ts';
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';

const MOST = 10n ** 34n;
const LEAST_EXPONENT = -6176;
const MOST_EXPONENT = 6111;

/** Keeps the scale where there is room for it. Throws RangeError for a number that a Decimal128 cannot hold exactly. */
export function writeDecimal128(value: Decimal, out: OutputBuffer): void {
  const isNegative = value.unscaled < 0n;
  let digits = isNegative ? -value.unscaled : value.unscaled;
  // A zero has a scale as well, of which there are more than exponents.
  let exponent = digits === 0n ? Math.max(LEAST_EXPONENT, Math.min(MOST_EXPONENT, -value.scale)) : -value.scale;
  while ((digits >= MOST || exponent < LEAST_EXPONENT) && digits % 10n === 0n && exponent < MOST_EXPONENT) {
    digits /= 10n;
    exponent++;
  }
  while (exponent > MOST_EXPONENT && digits * 10n < MOST) {
    digits *= 10n;
    exponent--;
  }
  if (digits >= MOST || exponent < LEAST_EXPONENT || exponent > MOST_EXPONENT)
    throw new RangeError('it has more digits than the 34 of a Decimal128');
  const sign = isNegative ? 1n << 63n : 0n;
  const high = sign | (BigInt(exponent - LEAST_EXPONENT) << 49n) | (digits >> 64n);
  out.ensure(16);
  out.bytes.writeBigUInt64LE(BigInt.asUintN(64, digits), out.position);
  out.bytes.writeBigUInt64LE(high, out.position + 8);
  out.position += 16;
}
