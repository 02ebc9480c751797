/** Readers that make Connect values of column slices, one for each wire form and schema type. */
import { utf8Text } from '../avro/binary.ts';
import { Decimal, decimalScale, type Schema } from '../data/index.ts';
import type { ColumnWire } from './layout.ts';
import { type LinearWire, linearValue } from './linear.ts';
import {
  fractionBytes,
  longPacked,
  packedDate,
  packedDecimalBytes,
  packedDuration,
  packedFraction,
  packedMoment,
  shortPacked,
  writeTimestamp,
} from './packed.ts';
import {
  floatText,
  hexLength,
  longDecimal,
  longInteger,
  longNumeric,
  notFiniteNumeric,
  notFiniteText,
  shortDecimal,
  shortInteger,
  shortNumeric,
  unhex,
  uuidText,
} from './parse.ts';
import { layoutError, RowFault, SliceFault } from './rowErrors.ts';

/** The value of the slice b[p, q); `v` is the view of b. Throws SliceFault. */
export type ReadSlice = (b: Buffer, v: DataView, p: number, q: number) => unknown;

/** Throws TRANSCODE_LAYOUT_INVALID where no value of the schema has this form. */
export function sliceReader(schema: Schema, wire: ColumnWire): ReadSlice {
  const { type } = schema;
  switch (wire.wire) {
    case 'skip':
      throw layoutError('a column that is stepped over fills a field');
    case 'int16be': {
      const value = smallInteger(schema);
      return (_b, v, p, q) => value(v.getInt16(sized(p, q, 2)));
    }
    case 'int32be': {
      const value = smallInteger(schema);
      return (_b, v, p, q) => value(v.getInt32(sized(p, q, 4)));
    }
    case 'int64be': {
      if (type === 'INT64') return (_b, v, p, q) => v.getBigInt64(sized(p, q, 8));
      const value = smallInteger(schema);
      return (_b, v, p, q) => {
        const low = v.getInt32(sized(p, q, 8) + 4);
        if (v.getInt32(p) !== low >> 31) throw new SliceFault(RowFault.outOfRange);
        return value(low);
      };
    }
    case 'float32le':
      return (_b, v, p, q) => v.getFloat32(sized(p, q, 4), true);
    case 'float64le':
      return type === 'FLOAT32'
        ? (_b, v, p, q) => Math.fround(v.getFloat64(sized(p, q, 8), true))
        : (_b, v, p, q) => v.getFloat64(sized(p, q, 8), true);
    case 'int-le':
      return littleEndianReader(schema, wire);
    case 'int32be-linear':
    case 'int64be-linear':
      return linearReader(schema, wire);
    case 'float32be':
      return (_b, v, p, q) => v.getFloat32(sized(p, q, 4));
    case 'float64be':
      return type === 'FLOAT32'
        ? (_b, v, p, q) => Math.fround(v.getFloat64(sized(p, q, 8)))
        : (_b, v, p, q) => v.getFloat64(sized(p, q, 8));
    case 'bool8':
      return (b, _v, p, q) => {
        const byte = b[sized(p, q, 1)];
        if (byte > 1) throw new SliceFault(RowFault.malformedValue);
        return byte === 1;
      };
    case 'bool-t':
      return (b, _v, p, q) => {
        const byte = b[sized(p, q, 1)];
        if (byte !== 116 && byte !== 102) throw new SliceFault(RowFault.malformedValue);
        return byte === 116;
      };
    case 'integer-t': {
      if (type === 'INT64') return (b, _v, p, q) => longText(b, p, q);
      const value = smallInteger(schema);
      return (b, _v, p, q) => {
        const number = shortInteger(b, p, q);
        if (number !== (number | 0)) throw new SliceFault(RowFault.notANumber);
        return value(number);
      };
    }
    case 'float-t':
      return (b, _v, p, q) => {
        const value = floatText(b, p, q);
        if (value === null) throw new SliceFault(RowFault.notANumber);
        return type === 'FLOAT32' ? Math.fround(value) : value;
      };
    case 'utf8':
    case 'bytes': {
      const skip = wire.skip ?? 0;
      const isText = type === 'STRING';
      return (b, _v, p, q) => {
        if (p + skip > q) throw new SliceFault(RowFault.columnLength);
        return isText ? utf8Text(b, p + skip, q) : Buffer.from(b.subarray(p + skip, q));
      };
    }
    case 'hex-t':
      return (b, _v, p, q) => {
        const size = hexLength(b, p, q);
        const out = Buffer.allocUnsafe(Math.max(size, 0));
        if (size < 0 || !unhex(out, 0, b, p, q)) throw new SliceFault(RowFault.malformedValue);
        return out;
      };
    case 'decimal-t': {
      const decimal = decimalReader(schema, shortDecimal, longDecimal);
      return (b, _v, p, q) => (notFiniteText(b, p, q) ? null : decimal(b, p, q));
    }
    case 'numeric-pg': {
      const decimal = decimalReader(schema, shortNumeric, longNumeric);
      return (b, _v, p, q) => (notFiniteNumeric(b, p, q) ? null : decimal(b, p, q));
    }
    case 'uuid':
      return (b, _v, p, q) => {
        uuidText(uuid, 0, b, sized(p, q, 16));
        return uuid.toString('latin1');
      };
    case 'bytes-mysql':
      return (b, _v, p, q) => {
        const out = Buffer.alloc(Math.max(wire.length, q - p));
        b.copy(out, 0, p, q);
        return out;
      };
    case 'decimal-mysql': {
      const decimal = decimalReader(schema, shortPacked, longPacked);
      const length = packedDecimalBytes(wire.precision, decimalScale(schema));
      return (b, _v, p, q) => decimal(b, sized(p, q, length), q);
    }
    case 'date-mysql':
      return (b, _v, p, q) => orNull(packedDate(b, sized(p, q, 3)));
    case 'datetime-mysql': {
      const { digits, unit } = wire;
      const length = 5 + fractionBytes(digits);
      return (b, _v, p, q) => {
        const seconds = packedMoment(b, sized(p, q, length));
        if (Number.isNaN(seconds)) return null;
        const micros = packedFraction(b, p + 5, digits);
        if (unit === 'ms') return BigInt(seconds * 1000 + Math.floor(micros / 1000));
        return BigInt(seconds) * 1_000_000n + BigInt(micros);
      };
    }
    case 'timestamp-mysql': {
      const { digits } = wire;
      const length = 4 + fractionBytes(digits);
      return (b, v, p, q) => {
        const seconds = v.getUint32(sized(p, q, length));
        const micros = packedFraction(b, p + 4, digits);
        if (seconds === 0 && micros === 0) return null;
        return utf8Text(moment, 1, writeTimestamp(moment, 0, seconds, micros, digits));
      };
    }
    case 'time-mysql': {
      const { digits } = wire;
      const length = 3 + fractionBytes(digits);
      return (b, _v, p, q) => BigInt(packedDuration(b, sized(p, q, length), digits));
    }
    case 'year-mysql':
      return (b, _v, p, q) => {
        const year = b[sized(p, q, 1)];
        return year === 0 ? 0 : year + 1900;
      };
    case 'name-le': {
      const { names } = wire;
      return (b, _v, p, q) => {
        if (q - p !== 1 && q - p !== 2) throw new SliceFault(RowFault.columnLength);
        const name = names[b.readUIntLE(p, q - p)];
        if (name === undefined) throw new SliceFault(RowFault.malformedValue);
        return name;
      };
    }
    case 'function': {
      const { decode } = wire;
      return (b, _v, p, q) => {
        try {
          return decode(b, p, q);
        } catch (error) {
          throw new SliceFault(RowFault.malformedValue, error);
        }
      };
    }
  }
}

const uuid = Buffer.alloc(36);
const moment = Buffer.alloc(32);
const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** p, where the slice has that length. */
function sized(p: number, q: number, length: number): number {
  if (q - p !== length) throw new SliceFault(RowFault.columnLength);
  return p;
}

const shifts = { INT8: 24, INT16: 16, INT32: 0 } as const;

/** An int32 as a value of the schema. */
function smallInteger(schema: Schema): (value: number) => number | bigint {
  if (schema.type === 'INT64') return BigInt;
  const shift = shiftOf(schema);
  return value => {
    if ((value << shift) >> shift !== value) throw new SliceFault(RowFault.outOfRange);
    return value;
  };
}

export function shiftOf(schema: Schema): number {
  if (schema.type !== 'INT8' && schema.type !== 'INT16' && schema.type !== 'INT32')
    throw layoutError(`an integer cannot be a ${schema.type}`);
  return shifts[schema.type];
}

function littleEndianReader(schema: Schema, { bytes, isUnsigned }: Extract<ColumnWire, { wire: 'int-le' }>): ReadSlice {
  if (bytes === 8) {
    if (schema.type !== 'INT64') throw layoutError(`an integer of 8 bytes cannot be a ${schema.type}`);
    return (_b, v, p, q) => v.getBigInt64(sized(p, q, 8), true);
  }
  if (bytes === 4 && isUnsigned) {
    if (schema.type !== 'INT64') throw layoutError(`an unsigned integer of 4 bytes cannot be a ${schema.type}`);
    return (_b, v, p, q) => BigInt(v.getUint32(sized(p, q, 4), true));
  }
  const value = smallInteger(schema);
  return (b, _v, p, q) => {
    sized(p, q, bytes);
    return value(isUnsigned ? b.readUIntLE(p, bytes) : b.readIntLE(p, bytes));
  };
}

const EXACT = 2n ** 52n;

function linearReader(schema: Schema, wire: LinearWire): ReadSlice {
  const wide = wire.wire === 'int64be-linear';
  const length = wide ? 8 : 4;
  const raw = (v: DataView, p: number): bigint => (wide ? v.getBigInt64(p) : BigInt(v.getInt32(p)));
  if (schema.type === 'INT64') {
    return (_b, v, p, q) => {
      const value = linearValue(wire, raw(v, sized(p, q, length)));
      if (BigInt.asIntN(64, value) !== value) throw new SliceFault(RowFault.outOfRange);
      return value;
    };
  }
  const small = smallInteger(schema);
  const { multiply, add, divide = 1n, special = [] } = wire;
  const inDoubles = !wide && multiply === 1n && divide === 1n && special.length === 0 && add < EXACT && add > -EXACT;
  const offset = Number(add);
  return (_b, v, p, q) => {
    sized(p, q, length);
    const value = inDoubles ? v.getInt32(p) + offset : Number(linearValue(wire, raw(v, p)));
    if (value !== (value | 0)) throw new SliceFault(RowFault.outOfRange);
    return small(value);
  };
}

const pair = new Int32Array(2);

function longText(b: Buffer, p: number, q: number): bigint {
  const short = shortInteger(b, p, q);
  if (!Number.isNaN(short)) return BigInt(short);
  if (!longInteger(b, p, q, pair)) throw new SliceFault(RowFault.notANumber);
  return (BigInt(pair[1]) << 32n) | BigInt(pair[0] >>> 0);
}

function decimalReader(
  schema: Schema,
  readShort: (b: Buffer, p: number, q: number, scale: number) => number,
  readLong: (b: Buffer, p: number, q: number, scale: number) => Decimal,
): (b: Buffer, p: number, q: number) => Decimal {
  const scale = decimalScale(schema);
  return (b, p, q) => {
    const unscaled = readShort(b, p, q, scale);
    if (!Number.isNaN(unscaled)) return new Decimal(BigInt(unscaled), scale);
    try {
      return readLong(b, p, q, scale);
    } catch (error) {
      throw new SliceFault(RowFault.malformedValue, error);
    }
  };
}
