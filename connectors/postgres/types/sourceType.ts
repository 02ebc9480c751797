/**
 * Parameters that tell a column's type in the database: its name, length and scale as Debezium has them, which are the ones of PostgreSQL's JDBC driver.
 * `length` is the precision of numbers, the declared length of texts, and the longest text of dates and times.
 */
import { numericShape } from './numericTypes.ts';

const UNLIMITED = 2147483647;
const NUMERIC_LENGTH = 131089;

export function sourceTypeParameters(
  type: { readonly name: string },
  typmod: number,
  column: string,
): Record<string, string> {
  const [length, scale] = lengthAndScale(type.name, typmod);
  return {
    '__debezium.source.column.type': type.name.toUpperCase(),
    '__debezium.source.column.length': String(length),
    '__debezium.source.column.scale': String(scale),
    '__debezium.source.column.name': column,
  };
}

function lengthAndScale(type: string, typmod: number): readonly [number, number] {
  const fraction = typmod < 0 ? 6 : typmod & 0xffff;
  /** A point and the digits after it; a driver's oddity gives one digit a place more. */
  const fractionLength = fraction === 0 ? 0 : fraction === 1 ? 3 : fraction + 1;
  switch (type) {
    case 'int2':
      return [5, 0];
    case 'int4':
    case 'oid':
      return [10, 0];
    case 'int8':
      return [19, 0];
    case 'float4':
      return [8, 8];
    case 'float8':
      return [17, 17];
    case 'numeric': {
      const shape = numericShape(typmod);
      return shape === null ? [NUMERIC_LENGTH, 0] : [shape.precision, shape.scale];
    }
    case 'bool':
    case 'char':
      return [1, 0];
    case 'bpchar':
    case 'varchar':
      return [typmod < 4 ? UNLIMITED : typmod - 4, 0];
    case 'bit':
    case 'varbit':
      return [typmod < 0 ? UNLIMITED : typmod, 0];
    case 'date':
      return [13, 0];
    case 'time':
      return [8 + fractionLength, fraction];
    case 'timetz':
      return [14 + fractionLength, fraction];
    case 'timestamp':
      return [22 + fractionLength, fraction];
    case 'timestamptz':
      return [28 + fractionLength, fraction];
    case 'interval':
      return [49, fraction === 0xffff ? 6 : fraction];
    default:
      return [UNLIMITED, 0];
  }
}
