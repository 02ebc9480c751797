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
  /** `\x` and hex digits. */
  | { readonly wire: 'hex-t' }
  /** A decimal number, as text or in PostgreSQL's binary numeric, for a Decimal schema. NaN and infinities, which a Decimal cannot hold, are null; more fraction digits than the schema's scale are an error. */
  | { readonly wire: 'decimal-t' | 'numeric-pg' }
  /** Sixteen bytes, written as a UUID's 36 characters. */
  | { readonly wire: 'uuid' }
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
  /** An integer of its own in each record: `rows.longs[slot][i]`; null where `rows.longNulls?.[slot]?.[i]` is 1. */
  | { readonly kind: 'long'; readonly slot: number }
  /** A string made of fixed text and integers of the record, such as PostgreSQL's `["1","2"]`. Its longs are never null: use a choice of texts. */
  | { readonly kind: 'text'; readonly parts: readonly (string | { readonly slot: number })[] }
  /** One of a few layouts, by `rows.choices[slot][i]`. */
  | { readonly kind: 'choice'; readonly slot: number; readonly of: readonly Layout[] }
  /** A struct read from the row at `rows.positions[slot][i]`; null where that is -1. */
  | {
      readonly kind: 'row';
      readonly slot: number;
      readonly format: RowFormat;
      readonly columns: readonly ColumnLayout[];
    };

/** The rows of one batch as they came, and what else its records are made of. All per-record arrays have at least `count` entries. */
export interface WireRows {
  readonly bytes: Buffer;
  readonly count: number;
  readonly positions: readonly Int32Array[];
  readonly longs: readonly BigInt64Array[];
  readonly longNulls?: readonly (Uint8Array | undefined)[];
  readonly choices: readonly Uint8Array[];
  readonly constants: readonly unknown[];
}
