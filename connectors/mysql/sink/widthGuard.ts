/**
 * With auto.evolve: values that are too wide for their column, where the schema of the record does not tell how wide they may be. The column is made
 * wider then, and the record written; without auto.evolve the target refuses it.
 */
import { Decimal, type Schema } from '../../../schemas/data/index.ts';
import { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import type { TargetColumn } from './catalog.ts';

/** The first number that does not fit any more. */
const INTEGER_LIMITS: Readonly<Record<string, number>> = {
  tinyint: 2 ** 7,
  smallint: 2 ** 15,
  mediumint: 2 ** 23,
  int: 2 ** 31,
};

type Guard = { readonly widerType: string; readonly isTooWide: (value: unknown) => boolean };

/** The writer, or one that throws ColumnTooNarrow before it. */
export function guardWidth(column: TargetColumn, schema: Schema | null, write: FieldWriter): FieldWriter {
  const guard = column.restOfDefinition === null ? null : guardOf(column, schema);
  if (guard === null) return write;
  const { isTooWide, widerType } = guard;
  return (value, out) => {
    if (isTooWide(value)) throw new ColumnTooNarrow(column.name, widerType);
    write(value, out);
  };
}

function guardOf(column: TargetColumn, schema: Schema | null): Guard | null {
  const { dataType, length, scale } = column;
  const kind = sourceKind(schema);
  // An index cannot have a text of any length, nor can a text have a plain default.
  if (dataType === 'varchar' && length !== null && !column.isIndexed && !column.hasDefault)
    return {
      widerType: 'longtext',
      isTooWide: value => typeof value === 'string' && value.length > length && countCodePoints(value) > length,
    };
  if (dataType === 'decimal' && length !== null && length < 65 && kind === 'decimal') {
    const whole = length - scale;
    let [known, limit] = [-1, 0n];
    return {
      widerType: `decimal(65,${scale})`,
      isTooWide: value => {
        if (!(value instanceof Decimal)) return false;
        if (value.scale !== known) [known, limit] = [value.scale, 10n ** BigInt(Math.max(0, whole + value.scale))];
        return value.unscaled >= limit || value.unscaled <= -limit;
      },
    };
  }
  const limit = INTEGER_LIMITS[dataType];
  if (limit === undefined || column.isUnsigned || kind !== 'untyped') return null;
  return {
    widerType: 'bigint',
    isTooWide: value =>
      (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))) &&
      (value >= limit || value < -limit),
  };
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
