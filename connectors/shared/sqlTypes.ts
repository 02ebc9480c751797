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
  readonly rights: SqlRights;
}

/** How a field of a record becomes a column. */
export interface SqlCodec {
  readonly write: FieldWriter;
  /** Codecs of one column with the same form write equal values as equal bytes. */
  readonly form: number;
}

export interface SqlTypes {
  readonly column: SqlColumn;
  readonly codec: SqlCodec;
  readonly table: SqlTable;
}

export const columnsOf = <S extends SqlTypes>(table: S['table']): readonly S['column'][] => table.columns;

/** null = a value of that kind can never go into that column. */
export type FindCodec<S extends SqlTypes> = (column: S['column'], schema: Schema | null) => S['codec'] | null;
