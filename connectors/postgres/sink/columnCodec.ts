/**
 * How a field of a record becomes a column: chosen by the type of the column in the target, then by what the field means. Where a type has no
 * binary form worth writing (ranges, networks, arrays, …) the value goes as text and the server casts it, which rules out COPY straight into the table.
 */
import type { Schema, Struct } from '../../../schemas/data/index.ts';
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { anyDecimal } from '../../shared/numbers.ts';
import { type SourceKind, sourceKind } from '../../shared/sourceKind.ts';
import type { SqlCodec } from '../../shared/sqlTypes.ts';
import { bitText, jsonText, textOf, variableScaleDecimal } from '../../shared/textForm.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import type { TargetColumn } from './catalog.ts';
import {
  writeBoolean,
  writeBytesField,
  writeFloat4,
  writeFloat8,
  writeInt2,
  writeInt4,
  writeInt8,
  writeTextField,
  writeUint4,
  writeUuid,
} from './fieldWriter.ts';
import { arrayLiteral, hstoreLiteral, vectorLiteral } from './literals.ts';
import { numericWriter } from './numericWriter.ts';
import { dateWriter, intervalWriter, timestampWriter, timeWriter, zonedTimeWriter } from './temporalWriters.ts';

export interface ColumnCodec extends SqlCodec {
  /** Type of an array parameter's elements, as SQL writes it, and its oid. */
  readonly wireType: string;
  readonly wireOid: number;
  /** Type to cast to in SQL; null = none, so that COPY takes the bytes as well. */
  readonly cast: string | null;
}

const TEXT_OID = 25;
const NUMERIC_OID = 1700;
const numbers: ReadonlySet<SourceKind> = new Set([
  'integer',
  'float',
  'boolean',
  'decimal',
  'variableScaleDecimal',
  'string',
  'untyped',
]);
/** Kinds whose values are integers, whatever they count. */
const counts: ReadonlySet<SourceKind> = new Set([
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
const nested: ReadonlySet<SourceKind> = new Set(['array', 'map', 'struct', 'point', 'geometry']);

/** null = a value of that kind can never go into that column. */
export function columnCodec(column: TargetColumn, schema: Schema | null): ColumnCodec | null {
  const kind = sourceKind(schema);
  const binary = binaryWriter(column, kind, schema);
  if (binary) return codec(binary, column.typeSql, column.typeOid, null);
  if (column.typeName === 'money' && numbers.has(kind))
    return codec(numericWriter(-1, decimalOf(kind)), 'numeric', NUMERIC_OID, 'money');
  const text = castText(column, kind, schema);
  if (text === null) return null;
  const write = (value: unknown, out: OutputBuffer): void => writeTextField(text(value), out);
  return codec(write, 'text', TEXT_OID, column.typeSql);
}

const codec = (write: FieldWriter, wireType: string, wireOid: number, cast: string | null): ColumnCodec => ({
  write,
  form: wireOid,
  wireType,
  wireOid,
  cast,
});

const decimalOf = (kind: SourceKind) => (kind === 'variableScaleDecimal' ? variableScaleDecimal : anyDecimal);

function binaryWriter(column: TargetColumn, kind: SourceKind, schema: Schema | null): FieldWriter | null {
  if (column.isEnum) return textWriter(kind, schema);
  const isNumber = numbers.has(kind);
  const converted = (write: FieldWriter): FieldWriter | null => {
    if (kind === 'variableScaleDecimal') return (value, out) => write(variableScaleDecimal(value), out);
    return isNumber || counts.has(kind) ? write : null;
  };
  switch (column.typeName) {
    case 'int2':
      return converted(writeInt2);
    case 'int4':
      return converted(writeInt4);
    case 'int8':
      return converted(writeInt8);
    case 'oid':
    case 'xid':
    case 'cid':
      return converted(writeUint4);
    case 'float4':
      return converted(writeFloat4);
    case 'float8':
      return converted(writeFloat8);
    case 'bool':
      return isNumber ? writeBoolean : null;
    case 'numeric':
      return isNumber || counts.has(kind) ? numericWriter(column.modifier, decimalOf(kind)) : null;
    case 'text':
    case 'varchar':
    case 'bpchar':
    case 'name':
    case 'citext':
    case 'json':
      return column.typeName === 'json' ? jsonWriter(kind, schema, -1) : textWriter(kind, schema);
    case 'jsonb':
      return jsonWriter(kind, schema, 1);
    case 'bytea':
      return bytesWriter(kind);
    case 'uuid':
      return kind === 'uuid' || kind === 'string' || kind === 'untyped' || kind === 'bytes' ? writeUuid : null;
    case 'date':
      return dateWriter(kind);
    case 'time':
      return timeWriter(kind, column.modifier);
    case 'timetz':
      return zonedTimeWriter(kind, column.modifier);
    case 'timestamp':
    case 'timestamptz':
      return timestampWriter(kind, column.modifier);
    case 'interval':
      return intervalWriter(kind);
    case 'point':
      return kind === 'point' ? writePoint : null;
    case 'geometry':
    case 'geography':
      return kind === 'geometry' || kind === 'point' ? writeGeometry : null;
    default:
      return null;
  }
}

function textWriter(kind: SourceKind, schema: Schema | null): FieldWriter | null {
  if (kind === 'bytes') return null;
  const text = textOf(kind, schema);
  return (value, out) => writeTextField(typeof value === 'string' ? value : text(value), out);
}

/** Text goes as it is: the server checks that it is JSON. */
function jsonWriter(kind: SourceKind, schema: Schema | null, prefix: number): FieldWriter | null {
  switch (kind) {
    case 'json':
    case 'string':
      return (value, out) => writeTextField(value as string, out, prefix);
    case 'bytes':
      return null;
    case 'integer':
    case 'float':
    case 'boolean':
    case 'decimal':
    case 'array':
    case 'map':
    case 'struct':
    case 'point':
    case 'geometry':
    case 'untyped':
      return (value, out) => writeTextField(jsonText(value), out, prefix);
    default: {
      const text = textOf(kind, schema);
      return (value, out) => writeTextField(JSON.stringify(text(value)), out, prefix);
    }
  }
}

function bytesWriter(kind: SourceKind): FieldWriter | null {
  if (kind === 'bytes' || kind === 'bits') return (value, out) => writeBytesField(value as Uint8Array, out);
  if (kind !== 'untyped') return null;
  // JSON without schema carries bytes as base64.
  return (value, out) => {
    if (value instanceof Uint8Array) writeBytesField(value, out);
    else if (typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value))
      writeBytesField(Buffer.from(value, 'base64'), out);
    else throw new RangeError('it is not base64');
  };
}

const writePoint: FieldWriter = (value, out) => {
  const point = value as Struct;
  out.ensure(20);
  out.bytes.writeInt32BE(16, out.position);
  out.bytes.writeDoubleBE(point.get('x') as number, out.position + 4);
  out.bytes.writeDoubleBE(point.get('y') as number, out.position + 12);
  out.position += 20;
};

const HAS_SRID = 0x2000_0000;

/** PostGIS reads WKB with the SRID inside. */
const writeGeometry: FieldWriter = (value, out) => {
  const geometry = value as Struct;
  const wkb = geometry.get('wkb') as Uint8Array | null;
  if (wkb === null || wkb.length < 5) throw new RangeError('it has no well-known binary form');
  const srid = geometry.get('srid') as number | null;
  const source = Buffer.from(wkb.buffer, wkb.byteOffset, wkb.byteLength);
  const little = source[0] === 1;
  const type = little ? source.readUInt32LE(1) : source.readUInt32BE(1);
  if (srid === null || (type & HAS_SRID) !== 0) {
    writeBytesField(source, out);
    return;
  }
  const head = Buffer.alloc(9);
  head[0] = source[0]!;
  const put = (number: number, at: number): unknown =>
    little ? head.writeUInt32LE(number >>> 0, at) : head.writeUInt32BE(number >>> 0, at);
  put(type | HAS_SRID, 1);
  put(srid, 5);
  writeBytesField(Buffer.concat([head, source.subarray(5)]), out);
};

/** Text that the server casts to the type of the column. */
function castText(column: TargetColumn, kind: SourceKind, schema: Schema | null): ((value: unknown) => string) | null {
  if (column.category === 'A')
    return kind === 'array' || kind === 'untyped' ? arrayLiteral(schema) : kind === 'string' ? String : null;
  switch (column.typeName) {
    case 'bit':
    case 'varbit':
      if (kind === 'boolean') return value => (value ? '1' : '0');
      return kind === 'bits' ? value => bitText(value as Uint8Array, schema) : textual(kind);
    case 'hstore':
      return kind === 'map' || kind === 'json' || kind === 'untyped' ? hstoreLiteral : textual(kind);
    case 'vector':
    case 'halfvec':
    case 'sparsevec':
      return kind === 'array' || kind === 'struct' || kind === 'untyped' ? vectorLiteral : textual(kind);
    // These have a binary form: what came here does not fit them at all.
    case 'int2':
    case 'int4':
    case 'int8':
    case 'float4':
    case 'float8':
    case 'numeric':
    case 'bool':
    case 'bytea':
    case 'uuid':
    case 'date':
    case 'time':
    case 'timetz':
    case 'timestamp':
    case 'timestamptz':
      return null;
    default:
      return textual(kind);
  }
}

function textual(kind: SourceKind): ((value: unknown) => string) | null {
  if (nested.has(kind) || kind === 'bytes' || kind === 'bits' || counts.has(kind)) return null;
  const text = textOf(kind, null);
  return value => (typeof value === 'string' ? value : text(value));
}
