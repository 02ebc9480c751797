/**
 * Dates and times as literals in the one form that the server itself shows, with all digits that the column has: so equal values are equal bytes,
 * and compare as equal wherever the server compares texts. Zero dates, which MySQL has and no calendar, pass as texts.
 */
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { civilFromDays, DAY_US, parseTimestampUs, parseTimeUs, quickTimestampUs } from '../../shared/isoTime.ts';
import type { SourceKind } from '../../shared/sourceKind.ts';
import { exactlyDivided } from '../../shared/textForm.ts';
import { type FieldWriter, put32 } from '../../shared/tupleFields.ts';
import { writeAscii } from './literals.ts';

const DAY = Number(DAY_US);
const MIN_DATE_US = -62_167_219_200_000_000n;
const MAX_DATE_US = 253_402_300_799_999_999n;
const MIN_DAYS = -719_528;
const MAX_DAYS = 2_932_896;
/** TIME goes from -838:59:59 to 838:59:59. */
const MAX_TIME_US = (838 * 3600 + 59 * 60 + 59) * 1_000_000;
const ZERO_DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)?Z?$/;

const QUOTE = 0x27;
const COLON = 0x3a;
const HYPHEN = 0x2d;
const ZERO = 0x30;
/** The longest literal: '-838:59:59.999999' and '2021-03-04 05:06:07.891234' with their length. */
const MAX_BYTES = 40;

function putTwo(bytes: Uint8Array, at: number, value: number): number {
  const tens = (value / 10) | 0;
  bytes[at] = ZERO + tens;
  bytes[at + 1] = ZERO + value - tens * 10;
  return at + 2;
}

const lastDate = new Uint8Array(10);
let lastDays = Number.NaN;

/** Neighbours in a table mostly have the same day. */
function putDate(bytes: Uint8Array, at: number, days: number): number {
  if (days !== lastDays) {
    const { year, month, day } = civilFromDays(days);
    let to = putTwo(lastDate, 0, (year / 100) | 0);
    to = putTwo(lastDate, to, year % 100);
    lastDate[to++] = HYPHEN;
    to = putTwo(lastDate, to, month);
    lastDate[to++] = HYPHEN;
    putTwo(lastDate, to, day);
    lastDays = days;
  }
  for (let i = 0; i < 10; i++) bytes[at + i] = lastDate[i]!;
  return at + 10;
}

/** `us` is not negative; hours may be more than a day has. */
function putClock(bytes: Uint8Array, start: number, us: number, digits: number): number {
  const seconds = Math.floor(us / 1_000_000);
  let fraction = us - seconds * 1_000_000;
  for (let left = 6; left > digits; left--) {
    if (fraction % 10 !== 0) throw new RangeError(`it has more than ${digits} digits of a second`);
    fraction /= 10;
  }
  const minutes = (seconds / 60) | 0;
  const hours = (minutes / 60) | 0;
  let at = start;
  if (hours > 99) bytes[at++] = ZERO + ((hours / 100) | 0);
  at = putTwo(bytes, at, hours % 100);
  bytes[at++] = COLON;
  at = putTwo(bytes, at, minutes - hours * 60);
  bytes[at++] = COLON;
  at = putTwo(bytes, at, seconds - minutes * 60);
  if (digits === 0) return at;
  bytes[at] = 0x2e;
  for (let i = at + digits; i > at; i--) {
    const rest = (fraction / 10) | 0;
    bytes[i] = ZERO + fraction - rest * 10;
    fraction = rest;
  }
  return at + digits + 1;
}

/** Ends a literal that began behind its length at `position`. */
function close(at: number, out: OutputBuffer): void {
  const { bytes, position } = out;
  bytes[position + 4] = QUOTE;
  bytes[at] = QUOTE;
  put32(bytes, position, at - position - 3);
  out.position = at + 1;
}

function writeDays(days: number, out: OutputBuffer): void {
  out.ensure(MAX_BYTES);
  close(putDate(out.bytes, out.position + 5, days), out);
}

function writeDayAndTime(days: number, us: number, digits: number, out: OutputBuffer): void {
  out.ensure(MAX_BYTES);
  const at = putDate(out.bytes, out.position + 5, days);
  out.bytes[at] = 0x20;
  close(putClock(out.bytes, at + 1, us, digits), out);
}

function writeTimestamp(us: bigint, digits: number, out: OutputBuffer): void {
  if (us < MIN_DATE_US || us > MAX_DATE_US) throw new RangeError('it is not between the years 0 and 9999');
  const ofDay = Number(((us % DAY_US) + DAY_US) % DAY_US);
  writeDayAndTime(Number((us - BigInt(ofDay)) / DAY_US), ofDay, digits, out);
}

/** Exact for the years in which microseconds are safe integers. */
function writeTimestampNumber(us: number, digits: number, out: OutputBuffer): void {
  const days = Math.floor(us / DAY);
  writeDayAndTime(days, us - days * DAY, digits, out);
}

const needsUnit = (what: string): RangeError =>
  new RangeError(`it is no ${what}: a number needs a schema that tells its unit`);

/** A date with a zero in it, as the column shows it; null = none. */
function zeroDate(text: string, digits: number | null): string | null {
  if (!ZERO_DATE.test(text)) return null;
  if (!text.startsWith('0000-00-00') && text.slice(5, 7) !== '00' && text.slice(8, 10) !== '00') return null;
  const date = text.slice(0, 10);
  if (digits === null) return date;
  const [clock, fraction = ''] = (text.slice(11).replace('Z', '') || '00:00:00').split('.');
  if (/[1-9]/.test(fraction.slice(digits))) throw new RangeError(`it has more than ${digits} digits of a second`);
  return digits === 0 ? `${date} ${clock}` : `${date} ${clock}.${fraction.slice(0, digits).padEnd(digits, '0')}`;
}

const SAFE_US = 8_000_000_000_000_000;

export function timestampWriter(kind: SourceKind, digits: number): FieldWriter | null {
  const fromUs = (us: bigint, out: OutputBuffer): void => writeTimestamp(us, digits, out);
  switch (kind) {
    case 'timestampMs':
      return (value, out) => {
        const ms = Number(value);
        if (Math.abs(ms) < SAFE_US / 1000) writeTimestampNumber(ms * 1000, digits, out);
        else fromUs(BigInt(value as bigint) * 1000n, out);
      };
    case 'timestampUs':
      return (value, out) => {
        const us = Number(value);
        if (Math.abs(us) < SAFE_US) writeTimestampNumber(us, digits, out);
        else fromUs(BigInt(value as bigint), out);
      };
    case 'timestampNs':
      return (value, out) => fromUs(exactlyDivided(BigInt(value as bigint), 1000n), out);
    case 'date':
      return (value, out) => fromUs(BigInt(value as number) * DAY_US, out);
    case 'zonedTimestamp':
    case 'isoTimestamp':
    case 'isoDate':
    case 'string':
    case 'untyped':
      return (value, out) => {
        if (typeof value !== 'string') throw needsUnit('timestamp');
        const us = quickTimestampUs(value);
        if (!Number.isNaN(us)) {
          writeTimestampNumber(us, digits, out);
          return;
        }
        const zero = zeroDate(value, digits);
        if (zero !== null) writeAscii(`'${zero}'`, out);
        else fromUs(parseTimestampUs(value), out);
      };
    default:
      return null;
  }
}

export function dateWriter(kind: SourceKind): FieldWriter | null {
  const fromUs = (us: bigint, out: OutputBuffer): void => {
    if (us % DAY_US !== 0n) throw new RangeError('it has a time of day');
    if (us < MIN_DATE_US || us > MAX_DATE_US) throw new RangeError('it is not between the years 0 and 9999');
    writeDays(Number(us / DAY_US), out);
  };
  switch (kind) {
    case 'date':
      return (value, out) => {
        const days = value as number;
        if (days < MIN_DAYS || days > MAX_DAYS) throw new RangeError('it is not between the years 0 and 9999');
        writeDays(days, out);
      };
    case 'timestampMs':
      return (value, out) => fromUs(BigInt(value as bigint) * 1000n, out);
    case 'timestampUs':
      return (value, out) => fromUs(BigInt(value as bigint), out);
    case 'timestampNs':
      return (value, out) => fromUs(exactlyDivided(BigInt(value as bigint), 1000n), out);
    case 'isoDate':
    case 'isoTimestamp':
    case 'zonedTimestamp':
    case 'string':
    case 'untyped':
      return (value, out) => {
        if (typeof value !== 'string') throw needsUnit('date');
        const zero = zeroDate(value, null);
        if (zero !== null) writeAscii(`'${zero}'`, out);
        else fromUs(parseTimestampUs(value.replace(/^(\d{4}-\d\d-\d\d)Z$/, '$1')), out);
      };
    default:
      return null;
  }
}

/** TIME is a length of time as well: it may be negative and longer than a day. */
export function timeWriter(kind: SourceKind, digits: number): FieldWriter | null {
  const write = (us: number, out: OutputBuffer): void => {
    if (!(Math.abs(us) <= MAX_TIME_US)) throw new RangeError('it is not between -838:59:59 and 838:59:59');
    out.ensure(MAX_BYTES);
    let at = out.position + 5;
    if (us < 0) out.bytes[at++] = HYPHEN;
    close(putClock(out.bytes, at, Math.abs(us), digits), out);
  };
  switch (kind) {
    case 'timeMs':
      return (value, out) => write(Number(value) * 1000, out);
    case 'timeUs':
    case 'durationUs':
      return (value, out) => write(Number(value), out);
    case 'timeNs':
    case 'durationNs':
      return (value, out) => write(Number(exactlyDivided(BigInt(value as bigint), 1000n)), out);
    case 'isoTime':
    case 'zonedTime':
    case 'string':
    case 'untyped':
      return (value, out) => {
        if (typeof value !== 'string') throw needsUnit('time');
        const long = /^(-?)(\d{1,3}):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/.exec(value);
        if (long !== null) {
          const us =
            (Number(long[2]) * 3600 + Number(long[3]) * 60 + Number(long[4])) * 1_000_000 +
            Number((long[5] ?? '').padEnd(6, '0'));
          write(long[1] === '-' ? -us : us, out);
          return;
        }
        const time = parseTimeUs(value);
        write((((time.timeUs - time.zoneSeconds * 1_000_000) % DAY) + DAY) % DAY, out);
      };
    default:
      return null;
  }
}
