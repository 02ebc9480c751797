/** Numbers of any kind that a record may carry, exact. All throw RangeError, without the value in its text, for what is none. */
import { Decimal } from '../../schemas/data/index.ts';

/** The integer that a value of any numeric kind is; throws where it is none. */
export function toInteger(value: unknown): number | bigint {
  switch (typeof value) {
    case 'number':
      if (Number.isSafeInteger(value)) return value;
      if (Number.isInteger(value)) return BigInt(value);
      throw new RangeError('it is not a whole number');
    case 'bigint':
      return value;
    case 'boolean':
      return value ? 1 : 0;
    case 'string':
      if (/^\s*[+-]?\d{1,40}\s*$/.test(value)) return BigInt(value.trim().replace(/^\+/, ''));
      throw new RangeError('it is not a whole number');
  }
  if (value instanceof Decimal) {
    if (value.scale <= 0) return value.unscaled * 10n ** BigInt(-value.scale);
    const divisor = 10n ** BigInt(value.scale);
    if (value.unscaled % divisor === 0n) return value.unscaled / divisor;
  }
  throw new RangeError('it is not a whole number');
}

export const outOfRange = (): RangeError => new RangeError('it is out of range');

/** NaN and the infinities as text, PostgreSQL's names and those of Debezium's string mode. */
export function specialNumber(text: string): number | null {
  if (/^nan$/i.test(text)) return Number.NaN;
  if (/^(\+?inf(inity)?|positive_infinity)$/i.test(text)) return Number.POSITIVE_INFINITY;
  return /^(-inf(inity)?|negative_infinity)$/i.test(text) ? Number.NEGATIVE_INFINITY : null;
}

export function toFloat(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
  if (value instanceof Decimal) return Number(value.toString());
  if (typeof value === 'string') {
    const text = value.trim();
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
    const special = specialNumber(text);
    if (special !== null) return special;
  }
  throw new RangeError('it is not a number');
}

/** A number as a decimal, NaN or an infinity. */
export function anyDecimal(value: unknown): Decimal | number {
  if (value instanceof Decimal) return value;
  switch (typeof value) {
    case 'bigint':
      return new Decimal(value, 0);
    case 'number':
      if (Number.isSafeInteger(value)) return new Decimal(BigInt(value), 0);
      return Number.isFinite(value) ? Decimal.parse(String(value)) : value;
    case 'boolean':
      return new Decimal(value ? 1n : 0n, 0);
    case 'string': {
      const text = value.trim();
      const special = specialNumber(text);
      if (special !== null) return special;
      if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,5})?$/i.test(text)) return Decimal.parse(text);
    }
  }
  throw new RangeError('it is not a decimal number');
}

/** Throws for digits that would be rounded away. */
export function atMostScale(decimal: Decimal, scale: number): Decimal {
  if (decimal.scale <= scale) return decimal;
  const divisor = 10n ** BigInt(decimal.scale - scale);
  if (decimal.unscaled % divisor !== 0n) throw new RangeError(`it has more than ${scale} digits after the point`);
  return new Decimal(decimal.unscaled / divisor, scale);
}
