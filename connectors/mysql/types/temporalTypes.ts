/** DATE, TIME, DATETIME and TIMESTAMP in the forms of time.precision.mode. A date that does not exist, such as 0000-00-00, is null. */

import {
  daysOfDate,
  packedDate,
  packedDuration,
  packedFraction,
  packedMoment,
} from '../../../schemas/transcode/packed.ts';
import { isoDate, isoTime, isoTimestampOf } from '../../shared/isoText.ts';
import { named } from '../../shared/semanticSchemas.ts';
import type { ColumnDef } from './columnDef.ts';
import { byFunction, byText, type ColumnType, type TypeSettings } from './columnType.ts';

const DAY_SECONDS = 86_400;
/** The value of a number that is NaN for what does not exist. */
const orNull =
  <T>(make: (value: number) => T) =>
  (value: number): T | null =>
    Number.isNaN(value) ? null : make(value);

const DATE = /^(\d{4})-(\d\d)-(\d\d)/;
function textDays(text: string): number {
  const m = DATE.exec(text);
  if (m === null) throw new RangeError(`not a date: ${text}`);
  return daysOfDate(Number(m[1]), Number(m[2]), Number(m[3]));
}

export function dateType(settings: TypeSettings): ColumnType {
  const isText = settings.timePrecision === 'isostring';
  const make = orNull(days => (isText ? `${isoDate(days)}Z` : days));
  return {
    schema: isText
      ? named('STRING', 'io.debezium.time.IsoDate')
      : named(
          'INT32',
          settings.timePrecision === 'connect' ? 'org.apache.kafka.connect.data.Date' : 'io.debezium.time.Date',
        ),
    binlog: isText ? byFunction((bytes, start) => make(packedDate(bytes, start))) : { wire: 'date-mysql' },
    text: byText(text => make(textDays(text))),
    select: 'plain',
    zero: make(0),
    fromDefault: text => make(textDays(text)) ?? undefined,
  };
}

/** A moment as whole seconds, NaN where there is none, and microseconds: together they may need more digits than a double has. */
type MakeMoment = (seconds: number, micros: number) => unknown;

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?$/;
const textMoment =
  (make: MakeMoment) =>
  (text: string): unknown => {
    const m = MOMENT.exec(text);
    if (m === null) throw new RangeError(`not a date and time: ${text}`);
    const seconds = Number(m[2] ?? 0) * 3600 + Number(m[3] ?? 0) * 60 + Number(m[4] ?? 0);
    return make(textDays(m[1]!) * DAY_SECONDS + seconds, Number((m[5] ?? '').padEnd(6, '0')));
  };

const msOf: MakeMoment = (seconds, micros) =>
  Number.isNaN(seconds) ? null : BigInt(seconds * 1000 + Math.floor(micros / 1000));
const usOf: MakeMoment = (seconds, micros) =>
  Number.isNaN(seconds) ? null : BigInt(seconds) * 1_000_000n + BigInt(micros);
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const nsOf: MakeMoment = (seconds, micros) => {
  if (Number.isNaN(seconds)) return null;
  const ns = BigInt(seconds) * 1_000_000_000n + BigInt(micros) * 1000n;
  return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : ns;
};

/** Text of a moment with as many fraction digits as the column has, or as many as are needed for null. */
const isoOf =
  (digits: number | null): MakeMoment =>
  (seconds, micros) => {
    if (Number.isNaN(seconds)) return null;
    const text = isoTimestampOf(seconds * 1_000_000, 0);
    if (micros === 0 && (digits === null || digits === 0)) return `${text}Z`;
    const all = String(micros).padStart(6, '0');
    return `${text}.${digits === null ? all.replace(/0+$/, '') : all.slice(0, digits)}Z`;
  };

interface MomentForm {
  readonly schema: ColumnType['schema'];
  readonly make: MakeMoment;
  /** null = by way of `make`. */
  readonly unit: 'ms' | 'us' | null;
}

function momentForm(def: ColumnDef, settings: TypeSettings): MomentForm {
  switch (settings.timePrecision) {
    case 'connect':
      return { schema: named('INT64', 'org.apache.kafka.connect.data.Timestamp'), make: msOf, unit: 'ms' };
    case 'isostring':
      return { schema: named('STRING', 'io.debezium.time.IsoTimestamp'), make: isoOf(null), unit: null };
    case 'nanoseconds':
      return { schema: named('INT64', 'io.debezium.time.NanoTimestamp'), make: nsOf, unit: null };
    case 'adaptive_time_microseconds':
      if (def.scale <= 3) return { schema: named('INT64', 'io.debezium.time.Timestamp'), make: msOf, unit: 'ms' };
      return { schema: named('INT64', 'io.debezium.time.MicroTimestamp'), make: usOf, unit: 'us' };
    case 'microseconds':
      return { schema: named('INT64', 'io.debezium.time.MicroTimestamp'), make: usOf, unit: 'us' };
  }
}

export function datetimeType(def: ColumnDef, settings: TypeSettings): ColumnType {
  const { schema, make, unit } = momentForm(def, settings);
  const { scale } = def;
  const fromText = textMoment(make);
  const zero = make(0, 0);
  return {
    schema,
    binlog:
      unit === null
        ? byFunction((bytes, p) => make(packedMoment(bytes, p), packedFraction(bytes, p + 5, scale)))
        : { wire: 'datetime-mysql', digits: scale, unit },
    text: byText(fromText),
    select: 'plain',
    zero,
    fromDefault: text => momentDefault(text, fromText, zero),
  };
}

/** Seconds since 1970, big end first, then the fraction; all zero = 0000-00-00. In result sets: in the session's zone, which is UTC. */
export function timestampType(def: ColumnDef): ColumnType {
  const make = isoOf(def.scale);
  const fromText = textMoment(make);
  const zero = '1970-01-01T00:00:00Z';
  return {
    schema: named('STRING', 'io.debezium.time.ZonedTimestamp'),
    binlog: { wire: 'timestamp-mysql', digits: def.scale },
    text: byText(fromText),
    select: 'plain',
    zero,
    fromDefault: text => momentDefault(text, fromText, zero),
  };
}

const momentDefault = (text: string, fromText: (text: string) => unknown, zero: unknown): unknown =>
  /^current_timestamp/i.test(text) ? zero : (fromText(text) ?? undefined);

const TIME = /^(-?)(\d{1,3}):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/;
function textTimeMicros(text: string): number {
  const m = TIME.exec(text);
  if (m === null) throw new RangeError(`not a time: ${text}`);
  const seconds = Number(m[2]) * 3600 + Number(m[3]) * 60 + Number(m[4]);
  const value = seconds * 1_000_000 + Number((m[5] ?? '').padEnd(6, '0'));
  return m[1] === '-' ? -value : value;
}

/** A duration with its sign and up to 838 hours. */
function isoDuration(micros: number): string {
  const size = Math.abs(micros);
  const hours = Math.floor(size / 3_600_000_000);
  const rest = isoTime(size - hours * 3_600_000_000, null);
  return `${micros < 0 ? '-' : ''}${String(hours).padStart(2, '0')}${rest.slice(2)}Z`;
}

export function timeType(def: ColumnDef, settings: TypeSettings): ColumnType {
  const form = (): { schema: ColumnType['schema']; make: (micros: number) => unknown } => {
    switch (settings.timePrecision) {
      case 'connect':
        return { schema: named('INT32', 'org.apache.kafka.connect.data.Time'), make: us => Math.floor(us / 1000) };
      case 'isostring':
        return { schema: named('STRING', 'io.debezium.time.IsoTime'), make: isoDuration };
      case 'nanoseconds':
        return { schema: named('INT64', 'io.debezium.time.NanoTime'), make: us => BigInt(us) * 1000n };
      case 'adaptive_time_microseconds':
      case 'microseconds':
        return { schema: named('INT64', 'io.debezium.time.MicroTime'), make: BigInt };
    }
  };
  const { schema, make } = form();
  const isMicros = make === BigInt;
  return {
    schema,
    binlog: isMicros
      ? { wire: 'time-mysql', digits: def.scale }
      : byFunction((bytes, start) => make(packedDuration(bytes, start, def.scale))),
    text: byText(text => make(textTimeMicros(text))),
    select: 'plain',
    zero: make(0),
    fromDefault: text => make(textTimeMicros(text)),
  };
}
