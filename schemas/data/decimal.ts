/** An exact decimal number: unscaled × 10^-scale. The value of a schema named org.apache.kafka.connect.data.Decimal. */
export class Decimal {
  readonly unscaled: bigint;
  readonly scale: number;

  constructor(unscaled: bigint, scale: number) {
    this.unscaled = unscaled;
    this.scale = scale;
  }

  /** Parses plain or scientific notation ("-12.50", "1e3"). Keeps the scale as written. Throws RangeError on anything else. */
  static parse(text: string): Decimal {
    const m = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text.trim());
    if (!m || (m[2] === '' && (m[3] ?? '') === '')) throw new RangeError(`not a decimal number: ${text}`);
    const fraction = m[3] ?? '';
    const unscaled = BigInt(`${m[2]}${fraction}` || '0');
    return new Decimal(m[1] === '-' ? -unscaled : unscaled, fraction.length - Number(m[4] ?? 0));
  }

  /** The same number at another scale. Throws RangeError where digits would be lost. */
  withScale(scale: number): Decimal {
    if (scale === this.scale) return this;
    if (scale > this.scale) return new Decimal(this.unscaled * 10n ** BigInt(scale - this.scale), scale);
    const divisor = 10n ** BigInt(this.scale - scale);
    if (this.unscaled % divisor !== 0n) throw new RangeError(`${this} does not fit scale ${scale}`);
    return new Decimal(this.unscaled / divisor, scale);
  }

  /** Plain notation, never an exponent. */
  toString(): string {
    const negative = this.unscaled < 0n;
    const digits = (negative ? -this.unscaled : this.unscaled).toString();
    const sign = negative ? '-' : '';
    if (this.scale <= 0) return sign + (this.unscaled === 0n ? '0' : digits + '0'.repeat(-this.scale));
    const padded = digits.padStart(this.scale + 1, '0');
    return `${sign}${padded.slice(0, -this.scale)}.${padded.slice(-this.scale)}`;
  }

  equals(other: Decimal): boolean {
    return this.unscaled === other.unscaled && this.scale === other.scale;
  }

  /** Two's complement, big endian, shortest form: Java's BigInteger.toByteArray(). */
  toBytes(): Buffer {
    return bigintToBytes(this.unscaled);
  }

  static fromBytes(bytes: Uint8Array, scale: number): Decimal {
    return new Decimal(bytesToBigint(bytes), scale);
  }
}

/** Two's complement, big endian, shortest form. */
export function bigintToBytes(value: bigint): Buffer {
  if (value < 0x800000000000n && value >= -0x800000000000n) return sixBytes(Number(value));
  let bits = (value < 0n ? ~value : value).toString(16).length * 4;
  if (BigInt.asIntN(bits, value) !== value) bits++;
  const length = Math.ceil(bits / 8);
  const hex = BigInt.asUintN(length * 8, value).toString(16);
  return Buffer.from(hex.padStart(length * 2, '0'), 'hex');
}

/** The same for what fits six bytes, without bigints. */
function sixBytes(value: number): Buffer {
  const size = value < 0 ? -1 - value : value;
  let length = 1;
  for (let limit = 0x80; size >= limit; limit *= 256) length++;
  const out = Buffer.allocUnsafe(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    out[i] = rest;
    rest = Math.floor(rest / 256);
  }
  return out;
}

export function bytesToBigint(bytes: Uint8Array): bigint {
  const { length } = bytes;
  if (length === 0) return 0n;
  if (length <= 6) {
    let value = bytes[0] >= 128 ? -1 : 0;
    for (let i = 0; i < length; i++) value = value * 256 + bytes[i];
    return BigInt(value);
  }
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('hex');
  return BigInt.asIntN(length * 8, BigInt(`0x${hex}`));
}
