/** Dates, times, timestamps and intervals in binary form: PostgreSQL counts from 2000-01-01, in days and microseconds. */
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { DAY_US, parseTimestampUs, parseTimeUs, quickTimestampUs } from '../../shared/isoTime.ts';
import type { SourceKind } from '../../shared/sourceKind.ts';
import { exactlyDivided } from '../../shared/textForm.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import { writeBigField8, writeField4, writeField8 } from './fieldWriter.ts';

const EPOCH_DAYS = 10_957;
const EPOCH_US = 946_684_800_000_000;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;
const INT64_MIN = -INT64_MAX - 1n;
const DATE_INFINITY = 0x7fff_ffff;
const DATE_MINUS_INFINITY = -0x8000_0000;

/** What Debezium writes for the infinite timestamps, in µs and, where the column has at most milliseconds, in ms. */
const INFINITY_US = 9_223_372_036_825_200_000n;
const MINUS_INFINITY_US = -9_223_372_036_832_400_000n;

const unsuitable = (what: string): RangeError => new RangeError(`it is no ${what}`);

/** Throws for digits that a column of that precision would round away. `modifier`: digits of the fraction, -1 = all six. */
function fractionCheck(modifier: number): (us: number) => void {
  if (modifier < 0 || modifier >= 6) return () => {};
  const step = 10 ** (6 - modifier);
  return us => {
    if (us % step !== 0) throw new RangeError(`it has more than ${modifier} digits of a second`);
  };
}

function writeTimestampUs(us: bigint, out: OutputBuffer): void {
  if (us === INFINITY_US || us === INT64_MAX) writeBigField8(INT64_MAX, out);
  else if (us === MINUS_INFINITY_US || us === INT64_MIN) writeBigField8(INT64_MIN, out);
  else writeBigField8(us - BigInt(EPOCH_US), out);
}

const SAFE_US = 8_000_000_000_000_000;

export function timestampWriter(kind: SourceKind, modifier: number): FieldWriter | null {
  const check = fractionCheck(modifier);
  const slow = (us: bigint, out: OutputBuffer): void => {
    check(Number(us % 1_000_000n));
    writeTimestampUs(us, out);
  };
  const quick = (us: number, out: OutputBuffer): void => {
    check(us % 1_000_000);
    writeField8(us - EPOCH_US, out);
  };
  const text = (value: unknown, out: OutputBuffer): void => {
    if (typeof value !== 'string') throw unsuitable('timestamp: a number needs a schema that tells its unit');
    const us = quickTimestampUs(value);
    if (!Number.isNaN(us)) quick(us, out);
    else if (/^[+]?infinity$/i.test(value)) writeBigField8(INT64_MAX, out);
    else if (/^-infinity$/i.test(value)) writeBigField8(INT64_MIN, out);
    else slow(parseTimestampUs(value), out);
  };
  switch (kind) {
    case 'timestampMs':
      return (value, out) => {
        const ms = Number(value);
        if (Math.abs(ms) < SAFE_US / 1000) quick(ms * 1000, out);
        else if (BigInt(value as bigint) * 1000n === INFINITY_US) writeBigField8(INT64_MAX, out);
        else if (BigInt(value as bigint) * 1000n === MINUS_INFINITY_US) writeBigField8(INT64_MIN, out);
        else slow(BigInt(value as bigint) * 1000n, out);
      };
    case 'timestampUs':
      return (value, out) => {
        const us = Number(value);
        if (Math.abs(us) < SAFE_US) quick(us, out);
        else slow(BigInt(value as bigint), out);
      };
    case 'timestampNs':
      return (value, out) => slow(exactlyDivided(BigInt(value as bigint), 1000n), out);
    case 'date':
      return (value, out) => slow(BigInt(value as number) * DAY_US, out);
    case 'zonedTimestamp':
    case 'isoTimestamp':
    case 'isoDate':
    case 'string':
    case 'untyped':
      return text;
    default:
      return null;
  }
}

export function dateWriter(kind: SourceKind): FieldWriter | null {
  const fromUs = (us: bigint, out: OutputBuffer): void => {
    if (us === INFINITY_US) writeField4(DATE_INFINITY, out);
    else if (us === MINUS_INFINITY_US) writeField4(DATE_MINUS_INFINITY, out);
    else if (us % DAY_US !== 0n) throw new RangeError('it has a time of day');
    else writeField4(Number(us / DAY_US) - EPOCH_DAYS, out);
  };
  switch (kind) {
    case 'date':
      return (value, out) => {
        const days = value as number;
        // The ends of the range of Debezium's INT32 stand for the infinite dates.
        if (days === DATE_INFINITY || days === DATE_MINUS_INFINITY) writeField4(days, out);
        else writeField4(days - EPOCH_DAYS, out);
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
        if (typeof value !== 'string') throw unsuitable('date: a number needs a schema that tells its unit');
        if (/^[+-]?infinity$/i.test(value))
          writeField4(value.startsWith('-') ? DATE_MINUS_INFINITY : DATE_INFINITY, out);
        else fromUs(parseTimestampUs(value.replace(/^([+-]?\d{4,9}-\d\d-\d\d)Z$/, '$1')), out);
      };
    default:
      return null;
  }
}

const DAY = Number(DAY_US);

export function timeWriter(kind: SourceKind, modifier: number): FieldWriter | null {
  const check = fractionCheck(modifier);
  const write = (us: number, out: OutputBuffer): void => {
    if (!(us >= 0 && us <= DAY))
      throw new RangeError('it is no time of day: a column of type interval or text takes it');
    check(us % 1_000_000);
    writeField8(us, out);
  };
  switch (kind) {
    case 'timeMs':
      return (value, out) => write(Number(value) * 1000, out);
    case 'timeUs':
      return (value, out) => write(Number(value), out);
    case 'timeNs':
      return (value, out) => write(Number(exactlyDivided(BigInt(value as bigint), 1000n)), out);
    case 'isoTime':
    case 'zonedTime':
    case 'string':
    case 'untyped':
      return (value, out) => {
        if (typeof value !== 'string') throw unsuitable('time: a number needs a schema that tells its unit');
        const time = parseTimeUs(value);
        write(
          (((time.timeUs - time.zoneSeconds * 1_000_000) % DAY) + DAY) % DAY || (time.timeUs === DAY ? DAY : 0),
          out,
        );
      };
    default:
      return null;
  }
}

/** timetz: µs of the day and the zone in seconds west of UTC. */
export function zonedTimeWriter(kind: SourceKind, modifier: number): FieldWriter | null {
  if (kind !== 'zonedTime' && kind !== 'isoTime' && kind !== 'string' && kind !== 'untyped') return null;
  const check = fractionCheck(modifier);
  return (value, out) => {
    if (typeof value !== 'string') throw unsuitable('time with time zone');
    const { timeUs, zoneSeconds } = parseTimeUs(value);
    check(timeUs % 1_000_000);
    writeField8(timeUs, out);
    out.bytes[out.position - 9] = 12;
    writeField4(-zoneSeconds, out);
    // One field of 12 bytes: the length before the zone goes.
    out.bytes.copyWithin(out.position - 8, out.position - 4, out.position);
    out.position -= 4;
  };
}

/** A length of time, all of it in µs; times of MySQL are such, negative and beyond a day too. */
export function intervalWriter(kind: SourceKind): FieldWriter | null {
  const write = (us: bigint, out: OutputBuffer): void => {
    writeBigField8(us, out);
    out.bytes[out.position - 9] = 16;
    out.ensure(8);
    out.bytes.fill(0, out.position, out.position + 8);
    out.position += 8;
  };
  switch (kind) {
    case 'timeMs':
      return (value, out) => write(BigInt(value as number) * 1000n, out);
    case 'timeUs':
    case 'durationUs':
      return (value, out) => write(BigInt(value as bigint), out);
    case 'timeNs':
    case 'durationNs':
      return (value, out) => write(exactlyDivided(BigInt(value as bigint), 1000n), out);
    default:
      return null;
  }
}
