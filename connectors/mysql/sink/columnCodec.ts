/** How a field of a record becomes a column of MySQL: chosen by the type of the column in the target, then by what the field means. */
import { type Schema, Struct } from '../../../schemas/data/index.ts';
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { anyDecimal, toInteger } from '../../shared/numbers.ts';
import { type SourceKind, sourceKind } from '../../shared/sourceKind.ts';
import type { SqlCodec } from '../../shared/sqlTypes.ts';
import { bitText, jsonText, textOf, variableScaleDecimal } from '../../shared/textForm.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import type { TargetColumn } from './catalog.ts';
import {
  decimalWriter,
  integerWriter,
  writeAscii,
  writeBoolean,
  writeFloat,
  writeHex,
  writeQuoted,
} from './literals.ts';
import { dateWriter, timestampWriter, timeWriter } from './temporalWriters.ts';

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

const INTEGER_BITS: Readonly<Record<string, bigint>> = {
  tinyint: 8n,
  smallint: 16n,
  mediumint: 24n,
  int: 32n,
  bigint: 64n,
};

/** null = a value of that kind can never go into that column. */
export function columnCodec(column: TargetColumn, schema: Schema | null): SqlCodec | null {
  const write = columnWriter(column, sourceKind(schema), schema);
  return write === null ? null : { write, form: 0, isNative: true };
}

function columnWriter(column: TargetColumn, kind: SourceKind, schema: Schema | null): FieldWriter | null {
  const isNumber = numbers.has(kind);
  const converted = (write: FieldWriter): FieldWriter | null => {
    if (kind === 'variableScaleDecimal') return (value, out) => write(variableScaleDecimal(value), out);
    return isNumber || counts.has(kind) ? write : null;
  };
  switch (column.dataType) {
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'int':
    case 'bigint': {
      const bits = INTEGER_BITS[column.dataType]!;
      const half = 1n << (bits - 1n);
      const write = column.isUnsigned ? integerWriter(0n, 2n * half - 1n) : integerWriter(-half, half - 1n);
      return kind === 'bits' ? bitsWriter(schema, write) : converted(write);
    }
    case 'float':
    case 'double':
      return converted(writeFloat);
    case 'decimal':
      return isNumber || counts.has(kind) ? decimalWriter(column.scale, decimalOf(kind)) : null;
    case 'bit':
      return bitWriter(column, kind, schema);
    case 'year':
      return isNumber ? writeYear : null;
    case 'char':
    case 'varchar':
    case 'tinytext':
    case 'text':
    case 'mediumtext':
    case 'longtext':
      return textWriter(column, kind, schema);
    case 'uuid':
    case 'inet4':
    case 'inet6':
      return kind === 'uuid' || kind === 'string' || kind === 'untyped' ? textWriter(column, kind, schema) : null;
    case 'enum':
    case 'set':
      return kind === 'string' || kind === 'untyped' ? labelWriter(column) : null;
    case 'binary':
    case 'varbinary':
    case 'tinyblob':
    case 'blob':
    case 'mediumblob':
    case 'longblob':
      return bytesWriter(column, kind);
    case 'json':
      return jsonWriter(kind, schema);
    case 'date':
      return dateWriter(kind);
    case 'datetime':
    case 'timestamp':
      return timestampWriter(kind, column.scale);
    case 'time':
      return timeWriter(kind, column.scale);
    case 'geometry':
    case 'point':
    case 'linestring':
    case 'polygon':
    case 'multipoint':
    case 'multilinestring':
    case 'multipolygon':
    case 'geomcollection':
    case 'geometrycollection':
      return kind === 'geometry' || kind === 'point' ? writeGeometry : null;
    case 'vector':
      return kind === 'array' || kind === 'untyped' ? writeVector : null;
    default:
      return null;
  }
}

const decimalOf = (kind: SourceKind) => (kind === 'variableScaleDecimal' ? variableScaleDecimal : anyDecimal);

const MAX_BITS = 64n;

/** Debezium's little-endian bytes as a number. */
function bitsWriter(schema: Schema | null, write: FieldWriter): FieldWriter {
  return (value, out) => {
    const text = bitText(value as Uint8Array, schema);
    const number = text === '' ? 0n : BigInt(`0b${text}`);
    if (number >> MAX_BITS !== 0n) throw new RangeError('it has more than 64 bits');
    write(number, out);
  };
}

/** As numbers, which compare with a BIT column as numbers. */
function bitWriter(column: TargetColumn, kind: SourceKind, schema: Schema | null): FieldWriter | null {
  const write = integerWriter(0n, (1n << BigInt(column.length ?? 1)) - 1n);
  if (kind === 'bits') return bitsWriter(schema, write);
  if (kind === 'boolean') return writeBoolean;
  return kind === 'integer' || kind === 'untyped' || kind === 'decimal' ? write : null;
}

/** The server takes 1 to 99 for years of two digits. */
const writeYear: FieldWriter = (value, out) => {
  const year = Number(toInteger(value));
  if (year !== 0 && (year < 1901 || year > 2155)) throw new RangeError('it is not 0 or a year from 1901 to 2155');
  writeAscii(String(year), out);
};

function textWriter(column: TargetColumn, kind: SourceKind, schema: Schema | null): FieldWriter | null {
  if (kind === 'bytes') return null;
  const text = textOf(kind, schema);
  const limit =
    column.dataType === 'varchar' || column.dataType === 'char' ? (column.length ?? 0) : Number.POSITIVE_INFINITY;
  return (value, out) => {
    const written = typeof value === 'string' ? value : text(value);
    // Spaces at the end are the one thing that the server cuts off without an error.
    if (written.length > limit && written.endsWith(' ') && [...written].length > limit)
      throw new RangeError(`it has more than ${limit} characters, with spaces at the end`);
    writeQuoted(written, out);
  };
}

/** The server takes a number in text that is no label for the number of a label. */
function labelWriter(column: TargetColumn): FieldWriter {
  const labels = new Set(column.labels);
  const isSet = column.dataType === 'set';
  return (value, out) => {
    if (typeof value !== 'string') throw new RangeError('it is no text');
    if (!labels.has(value) && !(isSet && value === '') && /^\s*\d+\s*$/.test(value))
      throw new RangeError('it is none of the labels');
    writeQuoted(value, out);
  };
}

function bytesWriter(column: TargetColumn, kind: SourceKind): FieldWriter | null {
  switch (kind) {
    case 'bytes':
    case 'bits':
      return (value, out) => writeHex(value as Uint8Array, out);
    case 'uuid':
      return column.length === 16 ? writeUuidBytes : null;
    case 'untyped':
      // JSON without schema carries bytes as base64.
      return (value, out) => {
        if (value instanceof Uint8Array) writeHex(value, out);
        else if (typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value))
          writeHex(Buffer.from(value, 'base64'), out);
        else throw new RangeError('it is not base64');
      };
    default:
      return null;
  }
}

const writeUuidBytes: FieldWriter = (value, out) => {
  const hex = typeof value === 'string' ? value.replaceAll('-', '') : '';
  if (!/^[0-9a-f]{32}$/i.test(hex)) throw new RangeError('it is not a UUID');
  writeHex(Buffer.from(hex, 'hex'), out);
};

/** Text goes as it is: the server checks that it is JSON. */
function jsonWriter(kind: SourceKind, schema: Schema | null): FieldWriter | null {
  switch (kind) {
    case 'json':
    case 'string':
      return (value, out) => writeQuoted(value as string, out);
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
      return (value, out) => writeQuoted(jsonText(value), out);
    default: {
      const text = textOf(kind, schema);
      return (value, out) => writeQuoted(JSON.stringify(text(value)), out);
    }
  }
}

const HAS_SRID = 0x2000_0000;

/** The form in which the server keeps it: SRID, then well-known binary; so the order of the axes is nobody's question. */
const writeGeometry: FieldWriter = (value, out: OutputBuffer) => {
  if (!(value instanceof Struct)) throw new RangeError('it is no geometry');
  const wkb = value.get('wkb') as Uint8Array | null;
  if (wkb === null || wkb.length < 5) throw new RangeError('it has no well-known binary form');
  if (wkb[0] !== 1) throw new RangeError('its well-known binary form is big-endian');
  const source = Buffer.from(wkb);
  const type = source.readUInt32LE(1);
  // PostGIS puts the SRID inside.
  const hasSrid = (type & HAS_SRID) !== 0;
  const srid = Buffer.alloc(4);
  srid.writeUInt32LE(hasSrid ? source.readUInt32LE(5) : Number(value.get('srid') ?? 0));
  if (!hasSrid) {
    writeHex(source, out, srid);
    return;
  }
  const head = Buffer.alloc(5);
  head[0] = 1;
  head.writeUInt32LE((type & ~HAS_SRID) >>> 0, 1);
  writeHex(Buffer.concat([head, source.subarray(9)]), out, srid);
};

/** As float32, little-endian, which is the server's own form. */
const writeVector: FieldWriter = (value, out) => {
  if (!Array.isArray(value)) throw new RangeError('it is no vector');
  const bytes = Buffer.alloc(value.length * 4);
  for (let i = 0; i < value.length; i++) bytes.writeFloatLE(Number(value[i]), i * 4);
  writeHex(bytes, out);
};
