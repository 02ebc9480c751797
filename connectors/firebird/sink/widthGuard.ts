/**
 * With auto.evolve: values that are too wide for their column, where the schema of the record does not tell how wide they may be. The column is made
 * wider then, and the record written; without auto.evolve the target refuses it.
 */
import { Decimal, type Schema } from '../../../schemas/data/index.ts';
import { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { FieldWriter } from '../../shared/tupleFields.ts';
import { bytesPerCharacter } from '../journal/characterSets.ts';
import type { TargetColumn } from './catalog.ts';
import { MAX_DIGITS } from './tableDdl.ts';

const MAX_VARCHAR_BYTES = 32_765;

/** The writer, or one that throws ColumnTooNarrow before it. */
export function guardWidth(column: TargetColumn, schema: Schema | null, write: FieldWriter): FieldWriter {
  const widerFor = column.isAlterable ? guardOf(column, schema) : null;
  if (widerFor === null) return write;
  return (value, out) => {
    const widerType = widerFor(value);
    if (widerType !== null) throw new ColumnTooNarrow(column.name, widerType);
    write(value, out);
  };
}

/** The type that a value needs; null = it fits, or nothing would help. */
function guardOf(column: TargetColumn, schema: Schema | null): ((value: unknown) => string | null) | null {
  const { kind, length, scale, typeSql } = column;
  // CHAR and BINARY are padded to their length.
  if (length === null || /^(char|binary)/.test(typeSql)) return null;
  switch (kind) {
    case 'text': {
      const most = Math.floor(MAX_VARCHAR_BYTES / bytesPerCharacter(column.charset));
      return value => {
        if (typeof value !== 'string' || value.length <= length) return null;
        const needed = countCodePoints(value);
        if (needed <= length || needed > most) return null;
        return `varchar(${Math.min(most, roundUp(needed))})${column.charsetSql}`;
      };
    }
    case 'bytes':
      return value =>
        value instanceof Uint8Array && value.length > length && value.length <= MAX_VARCHAR_BYTES
          ? `varbinary(${Math.min(MAX_VARCHAR_BYTES, roundUp(value.length))})`
          : null;
    case 'decimal': {
      if (sourceKind(schema) !== 'decimal' || length >= MAX_DIGITS) return null;
      const whole = length - scale;
      let [known, limit] = [-1, 0n];
      return value => {
        if (!(value instanceof Decimal)) return null;
        if (value.scale !== known) [known, limit] = [value.scale, 10n ** BigInt(Math.max(0, whole + value.scale))];
        return value.unscaled >= limit || value.unscaled <= -limit ? `numeric(${MAX_DIGITS},${scale})` : null;
      };
    }
    default:
      return null;
  }
}

/** To a power of two, so that growing texts change the table seldom. */
const roundUp = (length: number): number => 2 ** Math.ceil(Math.log2(length));

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
