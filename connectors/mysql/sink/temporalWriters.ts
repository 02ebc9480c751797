/**
 * Dates and times as literals in the one form that the server itself shows, with all digits that the column has: so equal values are equal bytes,
 * and compare as equal wherever the server compares texts. Zero dates, which MySQL has and no calendar, pass as texts.
 */
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { civilFromDays, DAY_US, parseTimestampUs, parseTimeUs, quickTimestampUs } from '../../shared/isoTime.ts';
import type { SourceKind } from '../../shared/sourceKind.ts';
import { exactlyDivided } from '../../shared/textForm.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import { writeAscii } from './literals.ts';

const DAY = Number(DAY_US);
const MIN_DATE_US = -62_167_219_200_000_000n;
const MAX_DATE_US = 253_402_300_799_999_999n;
/** TIME goes from -838:59:59 to 838:59:59. */
const MAX_TIME_US = (838 * 3600 + 59 * 60 + 59) * 1_000_000;
const ZERO_DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)?Z?$/;

const pad2 = (value: number): string => (value < 10 ? `0${value}` : String(value));

function fractionText(us: number, digits: number): string {
  if (digits >= 6) return `.${String(us).padStart(6, '0')}`;
  const step = 10 ** (6 - digits);
  if (us % step !== 0) throw new RangeError(`it has more than ${digits} digits of a second`);
  return digits === 0 ? '' : `.${String(us / step).padStart(digits, '0')}`;
}

function clockText(us: number, digits: number): string {
  const seconds = Math.floor(us / 1_000_000);
  return `${pad2(Math.floor(seconds / 3600))}:${pad2(Math.floor(seconds / 60) % 60)}:${pad2(seconds % 60)}${fractionText(us % 1_000_000, digits)}`;
}

function dateText(days: number): string {
  const { year, month, day } = civilFromDays(days);
  return `${String(year).padStart(4, '0')}-${pad2(month)}-${pad2(day)}`;
}

function writeTimestamp(us: bigint, digits: number, out: OutputBuffer): void {
  if (us < MIN_DATE_US || us > MAX_DATE_US) throw new RangeError('it is not between the years 0 and 9999');
  const ofDay = Number(((us % DAY_US) + DAY_US) % DAY_US);
  const days = Number((us - BigInt(ofDay)) / DAY_US);
  writeAscii(`'${dateText(days)} ${clockText(ofDay, digits)}'`, out);
}

/** Exact for the years in which microseconds are safe integers. */
function writeTimestampNumber(us: number, digits: number, out: OutputBuffer): void {
  const days = Math.floor(us / DAY);
  writeAscii(`'${dateText(days)} ${clockText(us - days * DAY, digits)}'`, out);
}

const needsUnit = (what: string): RangeError =>
  new RangeError(`it is no ${what}: a number needs a schema that tells its unit`);

/** A date with a zero in it, as the column shows it; null = none. */
function zeroDate(text: string, digits: number | null): string | null {
  if (!ZERO_DATE.test(text)) return null;
  if (!text.startsWith('0000-00-00') && text.slice(5, 7) !== '00' && text.slice(8, 10) !== '00') return null;
  const date = text.slice(0, 10);
  if (digits === null) return date;
  const [clock = '00:00:00', fraction = ''] = text.slice(11).replace('Z', '').split('.');
  return `${date} ${clock || '00:00:00'}${fractionText(Number(fraction.padEnd(6, '0')), digits)}`;
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
    writeAscii(`'${dateText(Number(us / DAY_US))}'`, out);
  };
  switch (kind) {
    case 'date':
      return (value, out) => fromUs(BigInt(value as number) * DAY_US, out);
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
    writeAscii(`'${us < 0 ? '-' : ''}${clockText(Math.abs(us), digits)}'`, out);
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
