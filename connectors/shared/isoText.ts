/** Proleptic Gregorian dates and times of day as numbers and as ISO text, in Java's spelling. Microseconds are bigint. */
import { civilFromDays, DAY_US } from './isoTime.ts';

/** ISO date of days since 1970-01-01: `2021-03-04`, `-0043-03-15`, `+10000-01-01`. */
export function isoDate(days: number): string {
  const { year, month, day } = civilFromDays(days);
  const digits = String(Math.abs(year)).padStart(4, '0');
  return `${year < 0 ? '-' : year > 9999 ? '+' : ''}${digits}-${two(month)}-${two(day)}`;
}

const TWO = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
const two = (n: number): string => TWO[n]!;

/** `05:06:07` and a fraction: of exactly `digits` digits, or as many as are needed for null. */
export function isoTime(microsOfDay: number, digits: number | null): string {
  const seconds = Math.floor(microsOfDay / 1e6);
  const minutes = (seconds / 60) | 0;
  const hours = (minutes / 60) | 0;
  const text = `${TWO[hours]}:${TWO[minutes - hours * 60]}:${TWO[seconds - minutes * 60]}`;
  if (digits === 0) return text;
  const fraction = String(1_000_000 + microsOfDay - seconds * 1e6).slice(1);
  const shown = digits === null ? fraction.replace(/0+$/, '') : fraction.slice(0, digits);
  return shown === '' ? text : `${text}.${shown}`;
}

export function isoTimestamp(micros: bigint, digits: number | null): string {
  const days = floorDiv(micros, DAY_US);
  return `${isoDate(Number(days))}T${isoTime(Number(micros - days * DAY_US), digits)}`;
}

/** The dates of rows that lie together are mostly one: its text is kept. */
let lastDays = 0;
let lastDate = '1970-01-01';

/** The same of a count that a double holds exactly. */
export function isoTimestampOf(micros: number, digits: number | null): string {
  const days = Math.floor(micros / 86_400_000_000);
  if (days !== lastDays) {
    lastDate = isoDate(days);
    lastDays = days;
  }
  return `${lastDate}T${isoTime(micros - days * 86_400_000_000, digits)}`;
}

export function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient;
}
