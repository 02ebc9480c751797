/** numeric and money in the three decimal.handling.mode forms. */
import { Decimal, type SchemaOptions, Struct } from '../../../schemas/data/index.ts';
import { decimalSchema } from '../../../schemas/data/logical.ts';
import { plain, variableScaleDecimal } from '../../shared/semanticSchemas.ts';
import { type BinaryReader, type ColumnType, columnType, type TypeSettings } from './columnType.ts';

type NumericText = string;
const NAN = 0xc000;
const POSITIVE_INFINITY = 0xd000;
const NEGATIVE_INFINITY = 0xf000;

/** numeric's send form as its text: int16 digit count, weight, sign, display scale, then base-10000 digits. */
export function numericText(bytes: Buffer, start: number): NumericText {
  const sign = bytes.readUInt16BE(start + 4);
  if (sign === NAN) return 'NaN';
  if (sign === POSITIVE_INFINITY) return 'Infinity';
  if (sign === NEGATIVE_INFINITY) return '-Infinity';
  const count = bytes.readInt16BE(start);
  const weight = bytes.readInt16BE(start + 2);
  const scale = bytes.readUInt16BE(start + 6);
  const digit = (i: number): string =>
    i >= 0 && i < count ? String(bytes.readInt16BE(start + 8 + 2 * i)).padStart(4, '0') : '0000';
  let whole = '';
  for (let i = 0; i <= weight; i++) whole += digit(i);
  let fraction = '';
  for (let i = weight + 1; fraction.length < scale; i++) fraction += digit(i);
  whole = whole.replace(/^0+(?=.)/, '') || '0';
  return `${sign === 0x4000 ? '-' : ''}${whole}${scale > 0 ? `.${fraction.slice(0, scale)}` : ''}`;
}

const isNumber = (text: NumericText): boolean => !/[NI]/.test(text);

/** Scale and precision of a numeric type modifier; null = numeric without either. Scales are negative from PostgreSQL 15 on. */
export function numericShape(typmod: number): { precision: number; scale: number } | null {
  if (typmod < 4) return null;
  const packed = typmod - 4;
  return { precision: (packed >> 16) & 0xffff, scale: ((packed & 0x7ff) ^ 1024) - 1024 };
}

export function numericType(typmod: number, settings: TypeSettings): ColumnType {
  const shape = numericShape(typmod);
  const readText: BinaryReader = (bytes, start) => numericText(bytes, start);
  switch (settings.decimal) {
    case 'string':
      return decimalText(shape?.scale ?? null, plainNotation, readText);
    case 'double':
      return doubleType(Number, readText);
    case 'precise':
      return shape === null ? variableScale() : fixedScale(shape.scale, shape.precision);
  }
}

/** NaN and infinities have no Decimal: they are null, as Debezium has them. */
function fixedScale(scale: number, precision: number | null): ColumnType {
  const fromText = (text: NumericText): Decimal | null =>
    isNumber(text) ? Decimal.parse(text).withScale(scale) : null;
  return columnType({
    schema: options => decimalSchema(scale, precision, options),
    fromText,
    fromBinary: (bytes, start) => fromText(numericText(bytes, start)),
    zero: new Decimal(0n, scale),
    ...(scale >= 0 && { textWire: { wire: 'decimal-t' }, binaryWire: { wire: 'numeric-pg' } }),
  });
}

function variableScale(): ColumnType {
  const schema = variableScaleDecimal({});
  const struct = (number: Decimal): Struct => new Struct(schema, [number.scale, number.toBytes()]);
  const fromText = (text: NumericText): Struct | null => (isNumber(text) ? struct(shortestScale(text)) : null);
  return columnType({
    schema: (options: SchemaOptions) => variableScaleDecimal(options),
    fromText,
    fromBinary: (bytes, start) => fromText(numericText(bytes, start)),
    zero: struct(new Decimal(0n, 0)),
    hasDefault: false,
  });
}

function shortestScale(text: NumericText): Decimal {
  return Decimal.parse(text.includes('.') ? text.replace(/\.?0+$/, '') : text);
}

function decimalText(scale: number | null, read: (text: string) => string, readText: BinaryReader): ColumnType {
  return columnType({
    schema: plain('STRING'),
    fromText: read,
    fromBinary: (bytes, start, end) => read(readText(bytes, start, end) as string),
    fromDefault: text =>
      isNumber(text) && scale !== null && scale >= 0 ? Decimal.parse(text).withScale(scale).toString() : read(text),
    zero: '0',
    unchanged: null,
  });
}

function plainNotation(text: NumericText): string {
  if (isNumber(text)) return text;
  return text === 'NaN' ? 'NAN' : text === 'Infinity' ? 'POSITIVE_INFINITY' : 'NEGATIVE_INFINITY';
}

function doubleType(read: (text: string) => number, readText: BinaryReader): ColumnType {
  return columnType({
    schema: plain('FLOAT64'),
    fromText: read,
    fromBinary: (bytes, start, end) => read(readText(bytes, start, end) as string),
    zero: 0,
  });
}

/** money: an int64 of the smallest unit; its text follows lc_monetary, of which only digits and sign are read. */
export function moneyType(settings: TypeSettings): ColumnType {
  const scale = settings.moneyFractionDigits;
  const fromUnits = (units: bigint): Decimal => new Decimal(units, scale);
  const readText = (text: string): string => {
    const units = BigInt(text.replace(/\D/g, ''));
    return fromUnits(/^\s*[-(]|-/.test(text) ? -units : units).toString();
  };
  const readBinary: BinaryReader = (bytes, start) => fromUnits(bytes.readBigInt64BE(start)).toString();
  switch (settings.decimal) {
    case 'string':
      return columnType({ schema: plain('STRING'), fromText: readText, fromBinary: readBinary, zero: '0' });
    case 'double':
      return doubleType(text => Number(/^-?[\d.]+$/.test(text) ? text : readText(text)), readBinary);
    case 'precise':
      return columnType({
        schema: options => decimalSchema(scale, null, options),
        fromText: text => Decimal.parse(readText(text)),
        fromBinary: (bytes, start) => fromUnits(bytes.readBigInt64BE(start)),
        zero: new Decimal(0n, scale),
      });
  }
}
