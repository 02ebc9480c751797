/** Values of records as text: what a text column, a JSON column or an array literal holds for them. */
import { Decimal, type Schema, Struct } from '../../schemas/data/index.ts';
import { formatDate, formatTimestampUs, formatTimeUs } from './isoTime.ts';
import type { SourceKind } from './sourceKind.ts';

/** JSON, exact: 64-bit integers and decimals are written as numbers with all their digits, bytes as base64. */
export function jsonText(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'string':
    case 'number':
    case 'boolean':
      return JSON.stringify(value);
  }
  if (value instanceof Decimal) return value.toString();
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const entries: [string, unknown][] =
    value instanceof Struct
      ? value.schema.fields.map(f => [f.name, value.values[f.index]])
      : value instanceof Map
        ? [...value].map(([k, v]) => [String(k), v])
        : Object.entries(value as object);
  return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${jsonText(v)}`).join(',')}}`;
}

/** An exact decimal from the struct that Debezium writes for numbers without a fixed scale. */
export function variableScaleDecimal(value: unknown): Decimal {
  if (!(value instanceof Struct)) throw new RangeError('it is no struct of scale and value');
  return Decimal.fromBytes(value.get('value') as Uint8Array, value.get('scale') as number);
}

/** A bit string, most significant bit first, from little-endian bytes. */
export function bitText(bytes: Uint8Array, schema: Schema | null): string {
  const declared = Number(schema?.parameters?.length ?? bytes.length * 8);
  const length = declared > bytes.length * 8 + 64 ? bytes.length * 8 : declared;
  let text = '';
  for (let bit = length - 1; bit >= 0; bit--) text += ((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1;
  return text;
}

/** Text of a non-null value of the kind. Throws RangeError where the kind has no text form. */
export function textOf(kind: SourceKind, schema: Schema | null): (value: unknown) => string {
  switch (kind) {
    case 'string':
    case 'zonedTimestamp':
    case 'zonedTime':
    case 'isoDate':
    case 'isoTime':
    case 'isoTimestamp':
    case 'interval':
    case 'json':
    case 'uuid':
      return value => value as string;
    case 'integer':
    case 'float':
    case 'boolean':
    case 'decimal':
    case 'durationUs':
    case 'durationNs':
      return value => String(value);
    case 'variableScaleDecimal':
      return value => variableScaleDecimal(value).toString();
    case 'date':
      return value => formatDate(Number(value));
    case 'timeMs':
      return value => formatTimeUs(Number(value) * 1000);
    case 'timeUs':
      return value => formatTimeUs(Number(value));
    case 'timeNs':
      return value => formatTimeUs(Number(exactlyDivided(BigInt(value as bigint), 1000n)));
    case 'timestampMs':
      return value => formatTimestampUs(BigInt(value as bigint) * 1000n);
    case 'timestampUs':
      return value => formatTimestampUs(BigInt(value as bigint));
    case 'timestampNs':
      return value => formatTimestampUs(exactlyDivided(BigInt(value as bigint), 1000n));
    case 'bits':
      return value => bitText(value as Uint8Array, schema);
    case 'array':
    case 'map':
    case 'struct':
    case 'point':
    case 'geometry':
      return jsonText;
    case 'untyped':
      return value => (typeof value === 'string' ? value : jsonText(value));
    case 'bytes':
      return () => {
        throw new RangeError('bytes have no text form');
      };
  }
}

export function exactlyDivided(value: bigint, by: bigint): bigint {
  if (value % by !== 0n) throw new RangeError('it is finer than microseconds');
  return value / by;
}
