/** DECFLOAT(16) and DECFLOAT(34), IEEE 754 decimal64 and decimal128 in densely packed decimal, as text with all digits. */

/** The three digits of each declet. */
const DECLETS: readonly string[] = Array.from({ length: 1024 }, (_, bits) => {
  const bit = (n: number): number => (bits >> n) & 1;
  const small = (high: number): number => (bit(high) << 2) | (bit(high - 1) << 1) | bit(high - 2);
  const large = (low: number): number => 8 + bit(low);
  const pair = (low: number, a: number, b: number): number => (bit(a) << 2) | (bit(b) << 1) | bit(low);
  let digits: readonly number[];
  if (bit(3) === 0) digits = [small(9), small(6), small(2)];
  else {
    switch ((bit(2) << 1) | bit(1)) {
      case 0:
        digits = [small(9), small(6), large(0)];
        break;
      case 1:
        digits = [small(9), large(4), pair(0, 6, 5)];
        break;
      case 2:
        digits = [large(7), small(6), pair(0, 9, 8)];
        break;
      default:
        switch ((bit(6) << 1) | bit(5)) {
          case 0:
            digits = [large(7), large(4), pair(0, 9, 8)];
            break;
          case 1:
            digits = [large(7), pair(4, 9, 8), large(0)];
            break;
          case 2:
            digits = [small(9), large(4), large(0)];
            break;
          default:
            digits = [large(7), large(4), large(0)];
        }
    }
  }
  return digits.join('');
});

export const decfloat16Text = (bytes: Buffer, at: number): string =>
  decimalText(bytes.readBigUInt64LE(at), 64, 8, 50, 398);

export const decfloat34Text = (bytes: Buffer, at: number): string =>
  decimalText((bytes.readBigUInt64LE(at + 8) << 64n) | bytes.readBigUInt64LE(at), 128, 12, 110, 6176);

function decimalText(bits: bigint, width: number, exponentBits: number, coefficientBits: number, bias: number): string {
  const sign = (bits >> BigInt(width - 1)) & 1n ? '-' : '';
  const combination = Number((bits >> BigInt(width - 6)) & 31n);
  const continuation = Number((bits >> BigInt(coefficientBits)) & ((1n << BigInt(exponentBits)) - 1n));
  if (combination === 31) return continuation >> (exponentBits - 1) ? `${sign}sNaN` : `${sign}NaN`;
  if (combination === 30) return `${sign}Infinity`;
  const isLarge = combination >= 24;
  const first = isLarge ? 8 + (combination & 1) : combination & 7;
  const high = isLarge ? (combination >> 1) & 3 : combination >> 3;
  let digits = String(first);
  for (let shift = coefficientBits - 10; shift >= 0; shift -= 10) {
    digits += DECLETS[Number((bits >> BigInt(shift)) & 1023n)];
  }
  digits = digits.replace(/^0+(?=\d)/, '');
  return sign + scientific(digits, ((high << exponentBits) | continuation) - bias);
}

/** Plain notation while it needs few zeros, as Firebird prints it; else scientific. */
function scientific(digits: string, exponent: number): string {
  const adjusted = exponent + digits.length - 1;
  if (exponent <= 0 && adjusted >= -6) {
    if (exponent === 0) return digits;
    const padded = digits.padStart(1 - exponent, '0');
    const point = padded.length + exponent;
    return `${padded.slice(0, point)}.${padded.slice(point)}`;
  }
  const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
  return `${mantissa}E${adjusted < 0 ? '' : '+'}${adjusted}`;
}
