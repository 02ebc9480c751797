/**
 * The vocabulary in which a connector describes how its records lie in bytes, so that one code generator can write Avro from them
 * (and one interpreter can give the plain values). A layout stands parallel to a Connect schema: where the schema has a struct, the layout
 * has a node for each field. Layouts are data: no code, and names or texts in them never reach generated source.
 */

/** How the bytes of one column value, a slice found by its row format, become a value. `t` kinds are the database's text form. */
export type ColumnWire =
  | { readonly wire: 'skip' }
  | { readonly wire: 'int16be' | 'int32be' | 'int64be' | 'float32be' | 'float64be' }
  | { readonly wire: 'float32le' | 'float64le' }
  /** An integer of 1, 2, 3, 4 or 8 bytes, little end first. One of 8 bytes without sign is taken modulo 2^64, as Java's long. */
  | { readonly wire: 'int-le'; readonly bytes: 1 | 2 | 3 | 4 | 8; readonly isUnsigned: boolean }
  /** An integer times a constant plus an offset (epoch shifts, units): value * multiply + add, exact in 64 bits; floor(value / divide) first if given. */
  | {
      readonly wire: 'int32be-linear' | 'int64be-linear';
      readonly multiply: bigint;
      readonly add: bigint;
      readonly divide?: bigint;
      readonly special?: readonly SpecialInteger[];
    }
  /** One byte, 0 or 1. */
  | { readonly wire: 'bool8' }
  /** 't' or 'f'. */
  | { readonly wire: 'bool-t' }
  /** Decimal digits with an optional sign. */
  | { readonly wire: 'integer-t' }
  /** A number as text; NaN, Infinity and -Infinity included. */
  | { readonly wire: 'float-t' }
  /** UTF-8 bytes that are the string (or the bytes) itself. `skip` leading bytes are left out (jsonb's version byte). */
  | { readonly wire: 'utf8' | 'bytes'; readonly skip?: number }
  /** Bytes whose trailing zero bytes were left out: there are `length` of them. */
  | { readonly wire: 'bytes-mysql'; readonly length: number }
  /** `\x` and hex digits. */
  | { readonly wire: 'hex-t' }
  /** A decimal number, as text or in PostgreSQL's binary numeric, for a Decimal schema. NaN and infinities, which a Decimal cannot hold, are null; more fraction digits than the schema's scale are an error. */
  | { readonly wire: 'decimal-t' | 'numeric-pg' }
  /** Sixteen bytes, written as a UUID's 36 characters. */
  | { readonly wire: 'uuid' }
  /** As MySQL's log has a DECIMAL: groups of nine digits in four bytes, for a Decimal schema. `precision` digits in all, of which the schema's scale are behind the point. */
  | { readonly wire: 'decimal-mysql'; readonly precision: number }
  /** A date in three bytes, as days since 1970. One that does not exist, as MySQL can store, is null. */
  | { readonly wire: 'date-mysql' }
  /** Date and time in five bytes and those of `digits` of a second's fraction, in ms or µs since 1970. One that does not exist is null. */
  | { readonly wire: 'datetime-mysql'; readonly digits: number; readonly unit: 'ms' | 'us' }
  /** Seconds since 1970 and the fraction, as ISO text in UTC with `digits` behind the point; zero is null. */
  | { readonly wire: 'timestamp-mysql'; readonly digits: number }
  /** A duration in three bytes and those of the fraction, in µs. */
  | { readonly wire: 'time-mysql'; readonly digits: number }
  /** A byte counted from 1900; 0 is the year 0. */
  | { readonly wire: 'year-mysql' }
  /** The number of a name, in one or two bytes, little end first. */
  | { readonly wire: 'name-le'; readonly names: readonly string[] }
  /** What the vocabulary lacks: a plain function from the slice to the Connect value of the column's schema. */
  | { readonly wire: 'function'; readonly decode: (bytes: Buffer, start: number, end: number) => unknown };

/** A wire integer that stands for something else, such as infinity. */
export interface SpecialInteger {
  readonly wireValue: bigint;
  readonly value: bigint;
}

export interface ColumnLayout {
  /** Index of the field in the struct schema that this column fills, or -1 if it is only stepped over. Each field is filled once. */
  readonly field: number;
  readonly column: ColumnWire;
  /** Value to write where the row has null and the field cannot be null (rows that carry key columns only); without it, and without a default, that is an error. */
  readonly nullValue?: unknown;
  /** Value to write for every null, also where the field can be null: a mask that does not show which values are null. */
  readonly whenNull?: unknown;
  /** Value to write for a column the row says is unchanged and does not carry (TOAST); without it that is an error. */
  readonly unchanged?: unknown;
  /** `mysql-binlog` only: how long a value is. Bytes of a value of fixed length, or, negative, of the length in front of it. */
  readonly extent?: number;
}

/**
 * Row formats, each a way to find the column slices:
 * - `pg-tuple`: pgoutput TupleData: int16 count, then per column 'n' | 'u' | ('t' | 'b') int32 length + bytes.
 * - `pg-copy`: COPY BINARY tuple: int16 count, then per column int32 length (-1 = null) + bytes.
 * - `mysql-binlog`: a full row image: a bitmap of nulls, lowest bit first, then the values of the columns that are not null, by their extents.
 * - `mysql-text`: a row of a text result set: per column a length (one byte up to 250; 252, 253, 254 before 2, 3, 8 bytes of it) + bytes, or 251 = null.
 */
export type RowFormat = 'pg-tuple' | 'pg-copy' | 'mysql-binlog' | 'mysql-text';

export type Layout =
  /** Parallel to a STRUCT schema. */
  | { readonly kind: 'struct'; readonly fields: readonly Layout[] }
  /** Always null. */
  | { readonly kind: 'null' }
  /** The same value in every record with this layout. */
  | { readonly kind: 'constant'; readonly value: unknown }
  /** The same value in all records of a batch: `rows.constants[slot]`. */
  | { readonly kind: 'batch'; readonly slot: number }
  /** An integer of its own in each record: `rows.longs[slot][i]`; null where `rows.longNulls?.[slot]?.[i]` is 1. Or one of its group, never null. */
  | ({ readonly kind: 'long' } & LongSlot)
  /** A string made of fixed text and integers of the record, such as PostgreSQL's `["1","2"]`. Its longs are never null: use a choice of texts. */
  | { readonly kind: 'text'; readonly parts: readonly (string | LongSlot)[] }
  /** One of a few layouts, by `rows.choices[slot][i]`. */
  | { readonly kind: 'choice'; readonly slot: number; readonly of: readonly Layout[] }
  /** A struct read from the row at `rows.positions[slot][i]`; null where that is -1. */
  | {
      readonly kind: 'row';
      readonly slot: number;
      readonly format: RowFormat;
      readonly columns: readonly ColumnLayout[];
    };

/** Where an integer stands: in `rows.longs[slot]`, at the record's place or, where it is the same for a group of records, at the group's. */
export interface LongSlot {
  readonly slot: number;
  readonly isGrouped?: true;
}

/** The rows of one batch as they came, and what else its records are made of. All per-record arrays have at least `count` entries, those of groups one for each. */
export interface WireRows {
  readonly bytes: Buffer;
  readonly count: number;
  readonly positions: readonly Int32Array[];
  readonly longs: readonly BigInt64Array[];
  readonly longNulls?: readonly (Uint8Array | undefined)[];
  /** The group of each record, counted from 0: neighbours mostly have the same. What they share is written once a group. */
  readonly groups?: Int32Array;
  readonly choices: readonly Uint8Array[];
  readonly constants: readonly unknown[];
}

/** Where record `index` has that integer. */
export const longAt = (rows: WireRows, { isGrouped }: LongSlot, index: number): number =>
  isGrouped ? rows.groups![index] : index;
