/**
 * The same record that a transcoder writes, as Connect values: for transforms, for converters without a fast path, and as the meaning of a layout
 * against which generated code is tested.
 */
import { type Decimal, decimalScale, type Schema, Struct, type StructSchema } from '../data/index.ts';
import type { ColumnWire, Layout, RowFormat, WireRows } from './layout.ts';
import { linearValue } from './linear.ts';
import {
  floatText,
  hexLength,
  longDecimal,
  longInteger,
  longNumeric,
  notFiniteNumeric,
  notFiniteText,
  shortInteger,
  unhex,
  uuidText,
} from './parse.ts';
import { layoutError, RowFault, rowError } from './rowErrors.ts';
import { tupleKind } from './tupleKind.ts';

/** Record `index` of the batch; null for a null record. Nulls stay null here where the schema has a default: converters replace them. */
export function plainValue(schema: Schema, layout: Layout, rows: WireRows, index: number): unknown {
  switch (layout.kind) {
    case 'struct': {
      const struct = structOf(schema);
      return new Struct(
        struct,
        struct.fields.map((field, at) => plainValue(field.schema, layout.fields[at], rows, index)),
      );
    }
    case 'null':
      return null;
    case 'constant':
      return layout.value;
    case 'batch':
      return rows.constants[layout.slot];
    case 'long': {
      if (rows.longNulls?.[layout.slot]?.[index] === 1) return null;
      const value = rows.longs[layout.slot][index];
      return schema.type === 'INT64'
        ? value
        : narrow(schema, Number(value), () => rowError(RowFault.longNotAllowed, -1, index));
    }
    case 'text':
      return layout.parts.map(part => (typeof part === 'string' ? part : rows.longs[part.slot][index])).join('');
    case 'choice': {
      const chosen = layout.of[rows.choices[layout.slot][index]];
      if (chosen === undefined) throw rowError(RowFault.badChoice, -1, index);
      return plainValue(schema, chosen, rows, index);
    }
    case 'row': {
      const position = rows.positions[layout.slot][index];
      return position === -1 ? null : rowStruct(structOf(schema), layout, rows.bytes, position, index);
    }
  }
}

function rowStruct(
  schema: StructSchema,
  layout: Extract<Layout, { kind: 'row' }>,
  bytes: Buffer,
  position: number,
  index: number,
): Struct {
  if (position < 0 || position + 2 > bytes.length) throw rowError(RowFault.truncated, -1, index);
  if (bytes.readInt16BE(position) !== layout.columns.length) throw rowError(RowFault.columnCount, -1, index);
  const values = new Array<unknown>(schema.fields.length).fill(null);
  let p = position + 2;
  const last = layout.columns.findLastIndex(column => column.field !== -1);
  layout.columns.slice(0, last + 1).forEach((column, at) => {
    const kind = column.field === -1 ? 'any' : tupleKind(column.column);
    const slice = findSlice(layout.format, kind, bytes, p, at, index);
    p = slice.next;
    if (column.field === -1) return;
    const field = schema.fields[column.field];
    switch (slice.kind) {
      case 'null':
        break;
      case 'unchanged':
        if (column.unchanged === undefined) throw rowError(RowFault.unchangedNotAllowed, at, index);
        values[column.field] = column.unchanged;
        break;
      default:
        values[column.field] = columnValue(field.schema, column.column, bytes, slice.start, slice.next, fault =>
          rowError(fault, at, index),
        );
    }
    // a value that the schema cannot hold, such as NaN in a Decimal, is null
    if (values[column.field] === null && !field.schema.optional) values[column.field] = column.nullValue ?? null;
    const missing =
      values[column.field] === null && !field.schema.optional && (field.schema.defaultValue ?? null) === null;
    if (missing) throw rowError(RowFault.nullNotAllowed, at, index);
  });
  return new Struct(schema, values);
}

interface Slice {
  readonly kind: 'null' | 'unchanged' | 'value';
  readonly start: number;
  readonly next: number;
}

function findSlice(
  format: RowFormat,
  expected: ReturnType<typeof tupleKind>,
  bytes: Buffer,
  p: number,
  column: number,
  index: number,
): Slice {
  let start = p;
  if (format === 'pg-tuple') {
    const kind = bytes[p];
    if (kind === 110 || kind === 117) return { kind: kind === 110 ? 'null' : 'unchanged', start: p + 1, next: p + 1 };
    if (p >= bytes.length) throw rowError(RowFault.truncated, column, index);
    const known = (kind === 116 && expected !== 'binary') || (kind === 98 && expected !== 'text');
    if (!known) throw rowError(RowFault.columnKind, column, index);
    start = p + 1;
  }
  if (start + 4 > bytes.length) throw rowError(RowFault.truncated, column, index);
  const length = bytes.readInt32BE(start);
  start += 4;
  if (format === 'pg-copy' && length === -1) return { kind: 'null', start, next: start };
  if (length < 0 || start + length > bytes.length) throw rowError(RowFault.truncated, column, index);
  return { kind: 'value', start, next: start + length };
}

/** The value of one column slice b[p, q). `fault` makes the error to throw. */
function columnValue(
  schema: Schema,
  wire: ColumnWire,
  b: Buffer,
  p: number,
  q: number,
  fault: (fault: RowFault, cause?: unknown) => Error,
): unknown {
  const length = (bytes: number): void => {
    if (q - p !== bytes) throw fault(RowFault.columnLength);
  };
  const integer = (value: bigint): unknown => {
    if (schema.type === 'INT64') {
      if (BigInt.asIntN(64, value) !== value) throw fault(RowFault.outOfRange);
      return value;
    }
    return narrow(schema, Number(value), () => fault(RowFault.outOfRange));
  };
  const decimal = (read: (b: Buffer, p: number, q: number, scale: number) => Decimal): Decimal => {
    try {
      return read(b, p, q, decimalScale(schema));
    } catch (error) {
      throw fault(RowFault.malformedValue, error);
    }
  };
  switch (wire.wire) {
    case 'skip':
      throw layoutError('a column that is stepped over fills a field');
    case 'int16be':
      length(2);
      return integer(BigInt(b.readInt16BE(p)));
    case 'int32be':
      length(4);
      return integer(BigInt(b.readInt32BE(p)));
    case 'int64be':
      length(8);
      return integer(b.readBigInt64BE(p));
    case 'int32be-linear':
      length(4);
      return integer(linearValue(wire, BigInt(b.readInt32BE(p))));
    case 'int64be-linear':
      length(8);
      return integer(linearValue(wire, b.readBigInt64BE(p)));
    case 'float32be':
      length(4);
      return b.readFloatBE(p);
    case 'float64be':
      length(8);
      return schema.type === 'FLOAT32' ? Math.fround(b.readDoubleBE(p)) : b.readDoubleBE(p);
    case 'bool8':
      length(1);
      if (b[p] > 1) throw fault(RowFault.malformedValue);
      return b[p] === 1;
    case 'bool-t':
      length(1);
      if (b[p] !== 116 && b[p] !== 102) throw fault(RowFault.malformedValue);
      return b[p] === 116;
    case 'integer-t': {
      if (schema.type !== 'INT64') return narrow(schema, shortInteger(b, p, q), () => fault(RowFault.notANumber));
      const pair = new Int32Array(2);
      if (!longInteger(b, p, q, pair)) throw fault(RowFault.notANumber);
      return (BigInt(pair[1]) << 32n) | BigInt(pair[0] >>> 0);
    }
    case 'float-t': {
      const value = floatText(b, p, q);
      if (value === null) throw fault(RowFault.notANumber);
      return schema.type === 'FLOAT32' ? Math.fround(value) : value;
    }
    case 'utf8':
    case 'bytes': {
      const start = p + (wire.skip ?? 0);
      if (start > q) throw fault(RowFault.columnLength);
      return schema.type === 'STRING' ? b.toString('utf8', start, q) : Buffer.from(b.subarray(start, q));
    }
    case 'hex-t': {
      const size = hexLength(b, p, q);
      const out = Buffer.alloc(Math.max(size, 0));
      if (size < 0 || !unhex(out, 0, b, p, q)) throw fault(RowFault.malformedValue);
      return out;
    }
    case 'decimal-t':
      return notFiniteText(b, p, q) ? null : decimal(longDecimal);
    case 'numeric-pg':
      return notFiniteNumeric(b, p, q) ? null : decimal(longNumeric);
    case 'uuid': {
      length(16);
      const out = Buffer.alloc(36);
      uuidText(out, 0, b, p);
      return out.toString('latin1');
    }
    case 'function':
      try {
        return wire.decode(b, p, q);
      } catch (error) {
        throw fault(RowFault.malformedValue, error);
      }
  }
}

const bits = { INT8: 24, INT16: 16, INT32: 0 } as const;

/** A number as an INT8, INT16 or INT32. */
function narrow(schema: Schema, value: number, error: () => Error): number {
  if (schema.type !== 'INT8' && schema.type !== 'INT16' && schema.type !== 'INT32')
    throw layoutError(`an integer cannot be a ${schema.type}`);
  const shift = bits[schema.type];
  if ((value << shift) >> shift !== value) throw error();
  return value;
}

function structOf(schema: Schema): StructSchema {
  if (schema.type !== 'STRUCT') throw layoutError(`a struct's layout stands for a ${schema.type}`);
  return schema;
}
