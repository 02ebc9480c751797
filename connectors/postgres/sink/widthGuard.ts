/**
 * With auto.evolve: values that are too wide for their column, where the schema of the record does not tell how wide they may be. The column is made
 * wider then, and the record written; without auto.evolve the target refuses it.
 */
import { Decimal, type Schema } from '../../../schemas/data/index.ts';
import { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import type { TargetColumn } from './catalog.ts';
import { numericScale } from './numericWriter.ts';

const INTEGER_LIMITS: Readonly<Record<string, number>> = { int2: 2 ** 15, int4: 2 ** 31 };

/** The writer, or one that throws ColumnTooNarrow before it. */
export function guardWidth(column: TargetColumn, schema: Schema | null, write: FieldWriter): FieldWriter {
  const isTooWide = widthCheck(column, schema);
  if (isTooWide === null) return write;
  const widerType = column.typeName in INTEGER_LIMITS ? 'bigint' : column.typeSql;
  return (value, out) => {
    if (isTooWide(value)) throw new ColumnTooNarrow(column.name, widerType);
    write(value, out);
  };
}

function widthCheck(column: TargetColumn, schema: Schema | null): ((value: unknown) => boolean) | null {
  const { typeName, modifier } = column;
  const kind = sourceKind(schema);
  if (typeName === 'varchar' && modifier >= 4) {
    const limit = modifier - 4;
    return value => typeof value === 'string' && value.length > limit && countCodePoints(value) > limit;
  }
  if (typeName === 'numeric' && modifier >= 4 && kind === 'decimal') {
    const whole = ((modifier - 4) >> 16) - numericScale(modifier)!;
    let [scale, limit] = [-1, 0n];
    return value => {
      if (!(value instanceof Decimal)) return false;
      if (value.scale !== scale) [scale, limit] = [value.scale, 10n ** BigInt(Math.max(0, whole + value.scale))];
      return value.unscaled >= limit || value.unscaled <= -limit;
    };
  }
  const limit = INTEGER_LIMITS[typeName];
  if (limit === undefined || kind !== 'untyped') return null;
  return value =>
    (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))) &&
    (value >= limit || value < -limit);
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
