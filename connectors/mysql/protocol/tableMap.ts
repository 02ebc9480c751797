/**
 * TABLE_MAP events: the table that the row events behind it speak of, as it was at that moment. With binlog_row_metadata=FULL it names the columns
 * and tells what else their types are made of. Optional fields: a type byte, a length, a value.
 */
import { ByteReader } from './byteReader.ts';
import { LogType } from './eventTypes.ts';
import { bitCount, isBitSet, metadataBytes } from './logTypes.ts';

export interface MappedColumn {
  readonly type: number;
  /** The type's bytes of metadata, low byte first. */
  readonly metadata: number;
  readonly isNullable: boolean;
  readonly isUnsigned: boolean;
  /** null where the log has minimal metadata. */
  readonly name: string | null;
  /** null for what is no text. */
  readonly collation: number | null;
  /** Names of an ENUM or SET, in the bytes of its character set. */
  readonly values: readonly Buffer[] | null;
  readonly geometryType: number | null;
}

export interface TableMap {
  readonly database: string;
  readonly table: string;
  readonly columns: readonly MappedColumn[];
  /** Indexes of the columns of the primary key, in key order. */
  readonly primaryKey: readonly number[];
}

/** Table ids have six bytes. */
export const tableIdOf = (bytes: Buffer, body: number): number => bytes.readUIntLE(body, 6);

/** What the log says of the real type of a STRING column in its metadata. */
const realType = (type: number, metadata: number): number => {
  if (type !== LogType.string) return type;
  const real = metadata & 0xff;
  return real === LogType.enum || real === LogType.set ? real : type;
};

const NUMERIC: ReadonlySet<number> = new Set([
  LogType.tiny,
  LogType.short,
  LogType.int24,
  LogType.long,
  LogType.longlong,
  LogType.newdecimal,
  LogType.float,
  LogType.double,
  LogType.year,
]);
const TEXTUAL: ReadonlySet<number> = new Set([
  LogType.varchar,
  LogType.varString,
  LogType.string,
  LogType.blob,
  LogType.blobCompressed,
  LogType.varcharCompressed,
]);

export function readTableMap(bytes: Buffer, body: number, end: number): TableMap {
  const reader = new ByteReader(bytes, body + 8, end);
  const database = reader.text(reader.uint(1));
  reader.skip(1);
  const table = reader.text(reader.uint(1));
  reader.skip(1);
  const count = reader.packed();
  const types = Array.from(reader.slice(count));
  const metadata = new ByteReader(reader.packedSlice(), 0, Number.MAX_SAFE_INTEGER);
  const metadataOf = types.map(type => {
    const size = metadataBytes(type);
    return size === 0 ? 0 : metadata.uint(size);
  });
  const nullable = reader.slice(bitCount(count));
  const real = types.map((type, i) => realType(type, metadataOf[i]!));
  const of = (match: (type: number) => boolean): number[] => real.flatMap((type, i) => (match(type) ? [i] : []));

  const names: (string | null)[] = types.map(() => null);
  const collations: (number | null)[] = types.map(() => null);
  const values: (Buffer[] | null)[] = types.map(() => null);
  const geometryTypes: (number | null)[] = types.map(() => null);
  const unsigned = new Set<number>();
  let primaryKey: number[] = [];
  while (!reader.isAtEnd) {
    const field = reader.uint(1);
    const slice = reader.packedSlice();
    const value = new ByteReader(slice, 0, slice.length);
    switch (field) {
      case 1: {
        const numbers = of(type => NUMERIC.has(type));
        for (const [n, i] of numbers.entries()) if (isBitSet(slice, n)) unsigned.add(i);
        break;
      }
      case 2:
      case 10:
        defaultCollations(
          value,
          of(type => isTextOf(field === 2, type)),
          collations,
        );
        break;
      case 3:
      case 11:
        for (const i of of(type => isTextOf(field === 3, type))) collations[i] = value.packed();
        break;
      case 4:
        for (let i = 0; i < count; i++) names[i] = value.packedSlice().toString('utf8');
        break;
      case 5:
      case 6:
        for (const i of of(type => type === (field === 5 ? LogType.set : LogType.enum))) {
          values[i] = Array.from({ length: value.packed() }, () => Buffer.from(value.packedSlice()));
        }
        break;
      case 7:
        for (const i of of(type => type === LogType.geometry)) geometryTypes[i] = value.packed();
        break;
      case 8:
        primaryKey = [];
        while (!value.isAtEnd) primaryKey.push(value.packed());
        break;
      case 9:
        primaryKey = [];
        while (!value.isAtEnd) {
          primaryKey.push(value.packed());
          value.packed();
        }
        break;
      default:
        // Visibility, vector dimensions, and what later servers add.
        break;
    }
  }
  const columns = types.map(
    (type, i): MappedColumn => ({
      type,
      metadata: metadataOf[i]!,
      isNullable: ((nullable[i >> 3]! >> (i & 7)) & 1) === 1,
      isUnsigned: unsigned.has(i),
      name: names[i]!,
      collation: collations[i]!,
      values: values[i]!,
      geometryType: geometryTypes[i]!,
    }),
  );
  return { database, table, columns, primaryKey };
}

const isTextOf = (isText: boolean, type: number): boolean =>
  isText ? TEXTUAL.has(type) : type === LogType.enum || type === LogType.set;

/** A collation for all, then pairs of index among the text columns and collation for those that have another. */
function defaultCollations(value: ByteReader, columns: readonly number[], into: (number | null)[]): void {
  const common = value.packed();
  for (const i of columns) into[i] = common;
  while (!value.isAtEnd) {
    const at = columns[value.packed()];
    const collation = value.packed();
    if (at !== undefined) into[at] = collation;
  }
}
