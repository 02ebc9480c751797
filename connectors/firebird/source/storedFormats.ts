/**
 * Formats of a table as RDB$FORMATS has them. Firebird writes a format outside of the transaction of its DDL: if that fails, the format stays, and the next
 * DDL uses its number again. Of several formats of one number the one counts that fits the columns as they are declared, where they tell; else the last.
 */
import type { RelationFormats } from '../journal/metadata.ts';
import { charsetOf, DataType, parseDescriptor, type RecordFormat } from '../journal/recordFormat.ts';

export interface StoredFormat {
  readonly format: number;
  /** Of its row in RDB$FORMATS; the server takes the last one. */
  readonly place: number;
  readonly descriptor: Buffer;
}

/** What RDB$FIELDS says of a column; `type` is RDB$FIELD_TYPE. */
export interface DeclaredField {
  readonly id: number;
  readonly isComputed: boolean;
  readonly isArray: boolean;
  readonly type: number;
  readonly length: number;
  readonly scale: number;
  readonly charset: number;
}

const DATA_TYPES: Readonly<Record<number, number>> = {
  7: DataType.smallint,
  8: DataType.integer,
  10: DataType.float,
  12: DataType.date,
  13: DataType.time,
  14: DataType.char,
  16: DataType.bigint,
  23: DataType.boolean,
  24: DataType.decfloat16,
  25: DataType.decfloat34,
  26: DataType.int128,
  27: DataType.double,
  28: DataType.timeTz,
  29: DataType.timestampTz,
  35: DataType.timestamp,
  37: DataType.varchar,
  261: DataType.blob,
};
/** Bytes before the text. */
const VARCHAR_PREFIX = 2;

/**
 * All formats by number, of one number the one that counts last: the connection whose DDL failed was seen to write records in the format that it left. `current` is
 * that of the table now, which has the columns `fields`.
 */
export function formatsOf(
  table: string,
  current: number,
  stored: readonly StoredFormat[],
  fields: readonly DeclaredField[],
): RelationFormats['formats'] {
  const formats = stored
    .toSorted((a, b) => a.format - b.format || a.place - b.place)
    .map(({ format, descriptor }) => parseDescriptor(format, Buffer.from(descriptor), table));
  const rank = (of: RecordFormat): number => (of.format === current && isDeclared(of, fields) ? 1 : 0);
  return formats.sort((a, b) => a.format - b.format || rank(a) - rank(b));
}

/** Whether the columns of a table, and no others, lie in records of a format. */
function isDeclared({ fields }: RecordFormat, declared: readonly DeclaredField[]): boolean {
  const byId = new Map(declared.map(field => [field.id, field]));
  return (
    declared.every(({ id }) => id < fields.length) &&
    fields.every((field, id) => {
      const of = byId.get(id);
      if (of === undefined) return field.dtype === DataType.dropped;
      if (of.isComputed) return field.offset === 0;
      if (of.isArray) return field.dtype === DataType.array;
      const type = DATA_TYPES[of.type];
      if (type !== field.dtype) return false;
      const isText = type === DataType.char || type === DataType.varchar;
      if (isText) {
        const length = of.length + (type === DataType.varchar ? VARCHAR_PREFIX : 0);
        return field.length === length && charsetOf(field) === of.charset;
      }
      return type === DataType.blob || field.scale === of.scale;
    })
  );
}
