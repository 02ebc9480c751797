/**
 * Values of records as fields of a row: text or bytes. The client rounds and cuts some types, so all but text and blobs go as text that the server casts
 * to the type of the column: exact for 64- and 128-bit integers, DECFLOAT, ten-thousandths of a second and zones.
 */
import { Decimal, type Schema } from '../../../schemas/data/index.ts';
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { formatDate, formatTimestampUs, formatTimeUs, parseTimestampUs, parseTimeUs } from '../../shared/isoTime.ts';
import { anyDecimal, atMostScale, toFloat, toInteger } from '../../shared/numbers.ts';
import { type SourceKind, sourceKind } from '../../shared/sourceKind.ts';
import type { SqlCodec } from '../../shared/sqlTypes.ts';
import { textOf, variableScaleDecimal } from '../../shared/textForm.ts';
import { put32 } from '../../shared/tupleFields.ts';
import type { TargetColumn } from './catalog.ts';

export interface ColumnCodec extends SqlCodec {
  readonly isBytes: boolean;
  /** The parameter in SQL. */
  readonly parameter: string;
}

type ToText = (value: unknown) => string;

const FORM = { text: 1, bytes: 2 } as const;
const NUMBERS: ReadonlySet<SourceKind> = new Set([
  'integer',
  'float',
  'boolean',
  'decimal',
  'variableScaleDecimal',
  'string',
  'untyped',
]);
const COUNTS: ReadonlySet<SourceKind> = new Set([
  'date',
  'timeMs',
  'timeUs',
  'timeNs',
  'timestampMs',
  'timestampUs',
  'timestampNs',
  'durationUs',
  'durationNs',
]);
/** Longer than any number or time that has a meaning. */
const TEXT_PARAMETER = 'varchar(100) character set ascii';

/** null = a value of that kind can never go into that column. */
export function columnCodec(column: TargetColumn, schema: Schema | null): ColumnCodec | null {
  const kind = sourceKind(schema);
  switch (column.kind) {
    case 'bytes':
    case 'blob':
      return kind === 'bytes' || kind === 'bits' ? bytesCodec : null;
    case 'text':
    case 'textBlob': {
      if (kind === 'bytes') return null;
      const text = textOf(kind, schema);
      return textCodec(value => (typeof value === 'string' ? value : text(value)), '?');
    }
    default: {
      const text = castText(column, kind);
      return text === null ? null : textCodec(text, `cast(cast(? as ${TEXT_PARAMETER}) as ${column.typeSql})`);
    }
  }
}

const bytesCodec: ColumnCodec = {
  form: FORM.bytes,
  isBytes: true,
  isNative: false,
  parameter: '?',
  write: (value, out) => {
    if (!(value instanceof Uint8Array)) throw new RangeError('it is no bytes');
    out.ensure(4 + value.length);
    put32(out.bytes, out.position, value.length);
    out.bytes.set(value, out.position + 4);
    out.position += 4 + value.length;
  },
};

const textCodec = (text: ToText, parameter: string): ColumnCodec => ({
  form: FORM.text,
  isBytes: false,
  isNative: false,
  parameter,
  write: (value, out) => writeText(text(value), out),
});

function writeText(text: string, out: OutputBuffer): void {
  const start = out.position;
  out.ensure(4 + text.length * 3);
  out.position += 4;
  out.writeUtf8(text);
  put32(out.bytes, start, out.position - start - 4);
}

function castText(column: TargetColumn, kind: SourceKind): ToText | null {
  switch (column.kind) {
    case 'integer':
      if (kind === 'variableScaleDecimal') return value => String(toInteger(variableScaleDecimal(value)));
      return NUMBERS.has(kind) || COUNTS.has(kind) ? value => String(toInteger(value)) : null;
    case 'decimal':
      return NUMBERS.has(kind) || COUNTS.has(kind) ? decimalText(kind, column.scale) : null;
    case 'decfloat':
      return NUMBERS.has(kind) ? decfloatText(kind) : null;
    case 'float':
      return NUMBERS.has(kind)
        ? value => floatText(kind === 'variableScaleDecimal' ? variableScaleDecimal(value) : value)
        : null;
    case 'boolean':
      return NUMBERS.has(kind) ? booleanText : null;
    case 'date':
      return dateText(kind);
    case 'time':
      return timeText(kind, false);
    case 'timeTz':
      return timeText(kind, true);
    case 'timestamp':
      return timestampText(kind, '');
    case 'timestampTz':
      return timestampText(kind, ' +00:00');
    default:
      return null;
  }
}

function decimalText(kind: SourceKind, scale: number): ToText {
  return value => {
    const decimal = kind === 'variableScaleDecimal' ? variableScaleDecimal(value) : anyDecimal(value);
    if (!(decimal instanceof Decimal)) throw new RangeError('it is not finite');
    return atMostScale(decimal, scale).toString();
  };
}

/** The source's text is taken as it is, so that trailing zeros stay. */
const decfloatText = (kind: SourceKind): ToText => {
  if (kind === 'variableScaleDecimal') return value => variableScaleDecimal(value).toString();
  return value => (typeof value === 'string' ? value.trim() : String(value));
};

function floatText(value: unknown): string {
  const number = toFloat(value);
  if (!Number.isFinite(number)) throw new RangeError('it is not finite');
  return String(number);
}

const booleanText: ToText = value => {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && /^(true|false)$/i.test(value.trim())) return value.trim().toLowerCase();
  const integer = Number(toInteger(value));
  if (integer === 0 || integer === 1) return integer === 1 ? 'true' : 'false';
  throw new RangeError('it is no boolean');
};

function dateText(kind: SourceKind): ToText | null {
  if (kind === 'date') return value => formatDate(Number(value));
  return kind === 'isoDate' || kind === 'string' || kind === 'untyped' ? value => String(value).slice(0, 10) : null;
}

/** Firebird has ten-thousandths of a second. */
function tenThousandths(us: bigint | number): void {
  if (BigInt(us) % 100n !== 0n) throw new RangeError('it is finer than 0.1 ms');
}

function timeText(kind: SourceKind, hasZone: boolean): ToText | null {
  const text = textOf(kind, null);
  switch (kind) {
    case 'timeMs':
    case 'timeUs':
    case 'timeNs':
    case 'isoTime':
    case 'zonedTime':
    case 'string':
    case 'untyped':
      return value => {
        const { timeUs, zoneSeconds } = parseTimeUs(text(value).trim());
        tenThousandths(timeUs);
        if (!hasZone && zoneSeconds !== 0) throw new RangeError('it has a zone');
        return hasZone ? `${formatTimeUs(timeUs)} ${zone(zoneSeconds)}` : formatTimeUs(timeUs);
      };
    default:
      return null;
  }
}

function zone(seconds: number): string {
  const minutes = Math.abs(seconds) / 60;
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function timestampText(kind: SourceKind, suffix: string): ToText | null {
  const text = textOf(kind, null);
  switch (kind) {
    case 'date':
    case 'timestampMs':
    case 'timestampUs':
    case 'timestampNs':
    case 'isoTimestamp':
    case 'isoDate':
    case 'zonedTimestamp':
    case 'string':
    case 'untyped':
      return value => {
        const us = parseTimestampUs(text(value).trim());
        tenThousandths(us);
        return `${formatTimestampUs(us).replace('T', ' ')}${suffix}`;
      };
    default:
      return null;
  }
}
