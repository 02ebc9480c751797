/** Integers, floating-point numbers, decimals, bits and years. */
import { Decimal, decimalSchema } from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';
import { named, plain } from '../../shared/semanticSchemas.ts';
import { decimalText } from '../protocol/packedDecimal.ts';
import type { ColumnDef } from './columnDef.ts';
import { byFunction, type ColumnType, type TypeSettings } from './columnType.ts';

const INTEGERS = {
  tinyint: { bytes: 1, signed: 'INT16', unsigned: 'INT16' },
  smallint: { bytes: 2, signed: 'INT16', unsigned: 'INT32' },
  mediumint: { bytes: 3, signed: 'INT32', unsigned: 'INT32' },
  int: { bytes: 4, signed: 'INT32', unsigned: 'INT64' },
  bigint: { bytes: 8, signed: 'INT64', unsigned: 'INT64' },
} as const;

export function integerType(def: ColumnDef, kind: keyof typeof INTEGERS, settings: TypeSettings): ColumnType {
  const { bytes, signed, unsigned } = INTEGERS[kind];
  if (kind === 'bigint' && def.isUnsigned && settings.bigintUnsigned === 'precise') return preciseBigint;
  const type = def.isUnsigned ? unsigned : signed;
  const isLong = type === 'INT64';
  return {
    schema: plain(type),
    binlog: { wire: 'int-le', bytes, isUnsigned: def.isUnsigned },
    text: { wire: 'integer-t' },
    select: kind === 'bigint' && def.isUnsigned ? 'signed' : def.isZerofill ? 'number' : 'plain',
    zero: isLong ? 0n : 0,
    fromDefault: text => {
      const value = BigInt(text.trim());
      return isLong ? BigInt.asIntN(64, value) : Number(value);
    },
  };
}

const preciseBigint: ColumnType = {
  schema: options => decimalSchema(0, 20, options),
  binlog: byFunction((bytes, start) => new Decimal(bytes.readBigUInt64LE(start), 0)),
  text: { wire: 'decimal-t' },
  select: 'plain',
  zero: new Decimal(0n, 0),
  fromDefault: text => new Decimal(BigInt(text.trim()), 0),
};

export const floatType = (def: ColumnDef): ColumnType => ({
  schema: plain(def.hasFloatScale ? 'FLOAT64' : 'FLOAT32'),
  binlog: { wire: 'float32le' },
  text: { wire: 'float-t' },
  // As text a FLOAT is cut to six digits.
  select: 'double',
  zero: 0,
  fromDefault: text => Math.fround(number(text)),
});

export const doubleType: ColumnType = {
  schema: plain('FLOAT64'),
  binlog: { wire: 'float64le' },
  text: { wire: 'float-t' },
  select: 'double',
  zero: 0,
  fromDefault: text => number(text),
};

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new RangeError(`not a number: ${text}`);
  return value;
}

export function decimalType(def: ColumnDef, settings: TypeSettings): ColumnType {
  const { length: precision, scale } = def;
  const select = def.isZerofill ? 'number' : 'plain';
  const atScale = (text: string): Decimal => Decimal.parse(text).withScale(scale);
  switch (settings.decimal) {
    case 'precise':
      return {
        schema: options => decimalSchema(scale, precision, options),
        binlog: { wire: 'decimal-mysql', precision },
        text: { wire: 'decimal-t' },
        select,
        zero: new Decimal(0n, scale),
        fromDefault: atScale,
      };
    case 'string':
      return {
        schema: plain('STRING'),
        binlog: byFunction((bytes, start) => decimalText(bytes, start, precision, scale)),
        text: { wire: 'utf8' },
        select,
        zero: new Decimal(0n, scale).toString(),
        fromDefault: text => atScale(text).toString(),
      };
    case 'double':
      return {
        schema: plain('FLOAT64'),
        binlog: byFunction((bytes, start) => Number(decimalText(bytes, start, precision, scale))),
        text: { wire: 'float-t' },
        select,
        zero: 0,
        fromDefault: number,
      };
  }
}

/** BIT(1) is a BOOLEAN; longer ones are little-endian bytes, the log and result sets have them big end first. */
export function bitType(def: ColumnDef): ColumnType {
  if (def.length === 1) {
    return {
      schema: plain('BOOLEAN'),
      binlog: { wire: 'bool8' },
      text: { wire: 'bool8' },
      select: 'plain',
      zero: false,
      fromDefault: text => bitsOf(text) === 1n,
    };
  }
  const size = (def.length + 7) >> 3;
  const wire: ColumnWire = byFunction((bytes, start, end) => Buffer.from(bytes.subarray(start, end)).reverse());
  return {
    schema: named('BYTES', 'io.debezium.data.Bits', { length: String(def.length) }),
    binlog: wire,
    text: wire,
    select: 'plain',
    zero: Buffer.alloc(size),
    fromDefault: text =>
      Buffer.from(
        bitsOf(text)
          .toString(16)
          .padStart(size * 2, '0'),
        'hex',
      ).reverse(),
  };
}

/** b'101' or a number. */
function bitsOf(text: string): bigint {
  const m = /^b'([01]+)'$/.exec(text.trim());
  return BigInt(m === null ? text.trim() : `0b${m[1]}`);
}

/** A byte, counted from 1900; 0 is the year 0000. */
export const yearType: ColumnType = {
  schema: named('INT32', 'io.debezium.time.Year'),
  binlog: { wire: 'year-mysql' },
  text: { wire: 'integer-t' },
  select: 'plain',
  zero: 0,
  fromDefault: number,
};
