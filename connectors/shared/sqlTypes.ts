/** What the SQL sinks know of their targets in common. Each sink has a family of types of its own, `SqlTypes`, that carries what its database adds. */
import type { Schema } from '../../schemas/data/index.ts';
import type { FieldWriter } from './tupleFields.ts';

export interface SqlColumn {
  readonly name: string;
  /** In the table; columns of a row are written in this order. */
  readonly position: number;
  /** As a user knows it, for messages. */
  readonly displayType: string;
  readonly isNotNull: boolean;
  readonly hasDefault: boolean;
  readonly isGenerated: boolean;
  /** Whether values that the target takes as equal are equal bytes in a row. */
  readonly comparesByBytes: boolean;
}

export interface SqlRights {
  readonly insert: boolean;
  readonly update: boolean;
  readonly delete: boolean;
  readonly truncate: boolean;
}

export interface SqlTable<C extends SqlColumn = SqlColumn> {
  /** The same for every description of this table. */
  readonly id: string;
  /** With its schema, for messages. */
  readonly name: string;
  /** Quoted, with its schema. */
  readonly sql: string;
  readonly columns: readonly C[];
  /** Column names of each unique index that can be a key; the primary key first. */
  readonly uniqueKeys: readonly (readonly string[])[];
  /** Whether rows can collide, or depend on each other, in more than the columns of one unique key: other unique indexes, exclusions, foreign keys. */
  readonly hasFurtherRules: boolean;
  /** Unique keys beside the one that rows are written by, where the target refuses a row that meets another in them, and nothing else makes rows meet. */
  readonly refusingKeys?: readonly (readonly string[])[];
  /** The same number for all tables that foreign keys join, if only through others. */
  readonly foreignGroup: number;
  /** How many foreign keys lead on from the table, one after the other: parents have less than their children. */
  readonly foreignDepth: number;
  readonly rights: SqlRights;
}

/** How a field of a record becomes a column. */
export interface SqlCodec {
  readonly write: FieldWriter;
  /** Codecs of one column with the same form write equal values as equal bytes. */
  readonly form: number;
  /** Whether what it writes is of the column's type; else the target casts it. */
  readonly isNative: boolean;
}

export interface SqlTypes {
  readonly column: SqlColumn;
  readonly codec: SqlCodec;
  readonly table: SqlTable;
}

export const columnsOf = <S extends SqlTypes>(table: S['table']): readonly S['column'][] => table.columns;

/** null = a value of that kind can never go into that column. */
export type FindCodec<S extends SqlTypes> = (column: S['column'], schema: Schema | null) => S['codec'] | null;
