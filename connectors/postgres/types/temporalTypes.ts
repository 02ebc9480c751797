/** date, time, timestamp, their zoned kinds and interval, in the time.precision.mode and interval.handling.mode forms. */

import { floorDiv, isoDate, isoTime, isoTimestamp, isoTimestampOf } from '../../shared/isoText.ts';
import { named } from '../../shared/semanticSchemas.ts';
import { parseDate, parseTime, parseTimestamp, zoneSeconds } from './calendar.ts';
import { type ColumnType, columnType, type TypeSettings } from './columnType.ts';

const DAYS_TO_2000 = 10957;
const MICROS_TO_2000 = 946_684_800_000_000n;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);
/** What the JDBC driver makes of infinity, in microseconds. */
const POSITIVE_INFINITY_MICROS = 9_223_372_036_825_200_000n;
const NEGATIVE_INFINITY_MICROS = -9_223_372_036_832_400_000n;
const MICROS_PER_DAY = 86_400_000_000;

const precisionOf = (typmod: number): number => (typmod < 0 ? 6 : typmod);

export function dateType(settings: TypeSettings): ColumnType {
  const isDate = settings.timePrecision !== 'isostring';
  const days = (text: string): number =>
    text === 'infinity' ? INT32_MAX : text === '-infinity' ? INT32_MIN : parseDate(text);
  if (!isDate) {
    const iso = (d: number): string =>
      d === INT32_MAX ? 'infinity' : d === INT32_MIN ? '-infinity' : `${isoDate(d)}Z`;
    return columnType({
      schema: named('STRING', 'io.debezium.time.IsoDate'),
      fromText: text => iso(days(text)),
      fromBinary: (bytes, start) => iso(shiftDays(bytes.readInt32BE(start))),
      zero: '1970-01-01Z',
    });
  }
  return columnType({
    schema:
      settings.timePrecision === 'connect'
        ? named('INT32', 'org.apache.kafka.connect.data.Date')
        : named('INT32', 'io.debezium.time.Date'),
    fromText: days,
    fromBinary: (bytes, start) => shiftDays(bytes.readInt32BE(start)),
    binaryWire: {
      wire: 'int32be-linear',
      multiply: 1n,
      add: BigInt(DAYS_TO_2000),
      special: [INT32_MAX, INT32_MIN].map(v => ({ wireValue: BigInt(v), value: BigInt(v) })),
    },
    zero: 0,
  });
}

const shiftDays = (days: number): number => (days === INT32_MAX || days === INT32_MIN ? days : days + DAYS_TO_2000);

export function timeType(typmod: number, settings: TypeSettings): ColumnType {
  const mode = settings.timePrecision;
  const micros = (bytes: Buffer, start: number): number => Number(bytes.readBigInt64BE(start));
  if (mode === 'isostring') {
    return columnType({
      schema: named('STRING', 'io.debezium.time.IsoTime'),
      fromText: text => `${isoTime(parseTime(text), null)}Z`,
      fromBinary: (bytes, start) => `${isoTime(micros(bytes, start), null)}Z`,
      zero: '00:00:00Z',
    });
  }
  if (mode === 'connect' || (mode === 'adaptive' && precisionOf(typmod) <= 3)) {
    const name = mode === 'connect' ? 'org.apache.kafka.connect.data.Time' : 'io.debezium.time.Time';
    return columnType({
      schema: named('INT32', name),
      fromText: text => Math.floor(parseTime(text) / 1000),
      fromBinary: (bytes, start) => Math.floor(micros(bytes, start) / 1000),
      binaryWire: { wire: 'int64be-linear', divide: 1000n, multiply: 1n, add: 0n },
      zero: 0,
    });
  }
  const multiply = mode === 'nanoseconds' ? 1000n : 1n;
  return columnType({
    schema: named('INT64', mode === 'nanoseconds' ? 'io.debezium.time.NanoTime' : 'io.debezium.time.MicroTime'),
    fromText: text => BigInt(parseTime(text)) * multiply,
    fromBinary: (bytes, start) => bytes.readBigInt64BE(start) * multiply,
    binaryWire: multiply === 1n ? { wire: 'int64be' } : { wire: 'int64be-linear', multiply, add: 0n },
    zero: 0n,
  });
}

/** timetz, as a time of day in UTC. Its send form: int64 microseconds, int32 seconds west of UTC. */
export function timeTzType(): ColumnType {
  const utc = (micros: number, secondsEast: number): string => {
    const shifted = micros - secondsEast * 1e6;
    return `${isoTime(((shifted % MICROS_PER_DAY) + MICROS_PER_DAY) % MICROS_PER_DAY, null)}Z`;
  };
  return columnType({
    schema: named('STRING', 'io.debezium.time.ZonedTime'),
    fromText: text => utc(parseTime(text), zoneSeconds(text)),
    fromBinary: (bytes, start) => utc(Number(bytes.readBigInt64BE(start)), -bytes.readInt32BE(start + 8)),
    zero: '00:00:00Z',
  });
}

const wireMicros = (bytes: Buffer, start: number): bigint => {
  const value = bytes.readBigInt64BE(start);
  if (value === INT64_MAX) return POSITIVE_INFINITY_MICROS;
  return value === INT64_MIN ? NEGATIVE_INFINITY_MICROS : value + MICROS_TO_2000;
};
const textMicros = (text: string): bigint => {
  if (text === 'infinity') return POSITIVE_INFINITY_MICROS;
  return text === '-infinity' ? NEGATIVE_INFINITY_MICROS : parseTimestamp(text);
};

export function timestampType(typmod: number, settings: TypeSettings): ColumnType {
  switch (settings.timePrecision) {
    case 'isostring': {
      const iso = zoned(null);
      return columnType({
        schema: named('STRING', 'io.debezium.time.IsoTimestamp'),
        fromText: text => iso(textMicros(text)),
        fromBinary: (bytes, start) => iso(wireMicros(bytes, start)),
        zero: '1970-01-01T00:00:00Z',
      });
    }
    case 'connect':
      return integerTimestamp('org.apache.kafka.connect.data.Timestamp', 1000n, 1n);
    case 'nanoseconds':
      return integerTimestamp('io.debezium.time.NanoTimestamp', 1n, 1000n);
    case 'microseconds':
      return integerTimestamp('io.debezium.time.MicroTimestamp', 1n, 1n);
    case 'adaptive':
    case 'adaptive_time_microseconds':
      return precisionOf(typmod) <= 3
        ? integerTimestamp('io.debezium.time.Timestamp', 1000n, 1n)
        : integerTimestamp('io.debezium.time.MicroTimestamp', 1n, 1n);
  }
}

function integerTimestamp(name: string, divide: bigint, multiply: bigint): ColumnType {
  // Microseconds since 1970 end in the year 294247: what lies beyond is refused by whoever writes it. Nanoseconds end in 2262, so that they keep to their ends.
  const convert = (micros: bigint): bigint =>
    multiply === 1n ? floorDiv(micros, divide) : saturate(micros * multiply);
  const special = [
    { wireValue: INT64_MAX, value: convert(POSITIVE_INFINITY_MICROS) },
    { wireValue: INT64_MIN, value: convert(NEGATIVE_INFINITY_MICROS) },
  ];
  return columnType({
    schema: named('INT64', name),
    fromText: text => convert(textMicros(text)),
    fromBinary: (bytes, start) => convert(wireMicros(bytes, start)),
    zero: 0n,
    // A nanosecond count can pass 64 bits, which only the function notices.
    ...(multiply === 1n && {
      binaryWire: { wire: 'int64be-linear', divide, multiply, add: MICROS_TO_2000 / divide, special },
    }),
  });
}

const saturate = (value: bigint): bigint => (value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : value);

const zoned =
  (digits: number | null) =>
  (micros: bigint): string => {
    if (micros === POSITIVE_INFINITY_MICROS) return 'infinity';
    return micros === NEGATIVE_INFINITY_MICROS ? '-infinity' : `${isoTimestamp(micros, digits)}Z`;
  };

/** timestamptz: ISO text in UTC with as many fraction digits as the column's precision. */
export function timestampTzType(typmod: number): ColumnType {
  const digits = precisionOf(typmod);
  const iso = zoned(digits);
  return columnType({
    schema: named('STRING', 'io.debezium.time.ZonedTimestamp'),
    fromText: text => iso(textMicros(text)),
    fromBinary: (bytes, start) => {
      const micros = bytes.readInt32BE(start) * 4_294_967_296 + bytes.readUInt32BE(start + 4);
      // Within some 280 years of 2000 a double is exact; the rest, infinities included, goes by bigint.
      if (micros < 8e15 && micros > -8e15) return `${isoTimestampOf(micros + 946_684_800_000_000, digits)}Z`;
      return iso(wireMicros(bytes, start));
    },
    zero: iso(0n),
  });
}

interface Interval {
  readonly months: bigint;
  readonly days: bigint;
  readonly micros: bigint;
}
/** A month is 365.25 / 12 days. */
const MICROS_PER_MONTH = 2_629_800_000_000n;
const ISO_INTERVAL =
  /^P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?)?$/;

export function intervalType(settings: TypeSettings): ColumnType {
  const numeric = settings.interval === 'numeric';
  const value = (interval: Interval | number): unknown => {
    if (typeof interval === 'number') {
      if (numeric) return interval > 0 ? INT64_MAX : INT64_MIN;
      return interval > 0 ? 'infinity' : '-infinity';
    }
    if (!numeric) return isoInterval(interval);
    return saturate(interval.months * MICROS_PER_MONTH + interval.days * 86_400_000_000n + interval.micros);
  };
  return columnType({
    schema: numeric ? named('INT64', 'io.debezium.time.MicroDuration') : named('STRING', 'io.debezium.time.Interval'),
    fromText: text => value(parseInterval(text)),
    fromBinary: (bytes, start) => value(readInterval(bytes, start)),
    zero: value({ months: 0n, days: 0n, micros: 0n }),
  });
}

/** int64 microseconds, int32 days, int32 months; all at their end = infinity (from PostgreSQL 17). */
function readInterval(bytes: Buffer, start: number): Interval | number {
  const micros = bytes.readBigInt64BE(start);
  const days = bytes.readInt32BE(start + 8);
  const months = bytes.readInt32BE(start + 12);
  if (micros === INT64_MAX && days === INT32_MAX && months === INT32_MAX) return Infinity;
  if (micros === INT64_MIN && days === INT32_MIN && months === INT32_MIN) return -Infinity;
  return { micros, days: BigInt(days), months: BigInt(months) };
}

function parseInterval(text: string): Interval | number {
  if (text === 'infinity') return Infinity;
  if (text === '-infinity') return -Infinity;
  const m = ISO_INTERVAL.exec(text);
  if (!m) throw new RangeError(`not an interval in IntervalStyle iso_8601: ${text}`);
  const n = (i: number): bigint => BigInt(m[i] ?? 0);
  const seconds = n(8) * 1_000_000n + BigInt((m[9] ?? '').padEnd(6, '0'));
  return {
    months: n(1) * 12n + n(2),
    days: n(3) * 7n + n(4),
    micros: (n(5) * 60n + n(6)) * 60_000_000n + (m[7] === '-' ? -seconds : seconds),
  };
}

function isoInterval({ months, days, micros }: Interval): string {
  const seconds = micros / 1_000_000n;
  const rest = micros % 1_000_000n;
  const fraction =
    rest === 0n
      ? ''
      : `.${String(rest < 0n ? -rest : rest)
          .padStart(6, '0')
          .replace(/0+$/, '')}`;
  const wholeSeconds = seconds % 60n;
  const sign = micros < 0n && wholeSeconds === 0n && rest !== 0n ? '-' : '';
  return (
    `P${months / 12n}Y${months % 12n}M${days}DT${seconds / 3600n}H${(seconds / 60n) % 60n}M` +
    `${sign}${wholeSeconds}${fraction}S`
  );
}
