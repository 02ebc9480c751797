/** A table as its DDL defines it. Immutable: a change gives another one. */

export interface ColumnDefinition {
  readonly name: string;
  /** The base type as the server shows it, in capitals: INT, VARCHAR, DECIMAL. */
  readonly type: string;
  readonly isUnsigned: boolean;
  readonly isZerofill: boolean;
  /** Of the type's parentheses, with the type's own where it has none: characters, digits, bits, fraction digits. */
  readonly length: number | null;
  readonly scale: number | null;
  /** Only of text, ENUM and SET; null = the table's. */
  readonly charset: string | null;
  /** The literals of an ENUM or SET, as they are written. */
  readonly values: readonly string[] | null;
  readonly isRequired: boolean;
  readonly isAutoIncrement: boolean;
  /** ON UPDATE CURRENT_TIMESTAMP. */
  readonly isOnUpdate: boolean;
  /** A constant as it is written, without quotes; null = none. */
  readonly defaultText: string | null;
  readonly comment: string | null;
}

export interface KeyDefinition {
  readonly name: string;
  readonly columns: readonly string[];
  /** Of whole columns: not of expressions or of their beginnings. */
  readonly isWhole: boolean;
}

export interface TableDefinition {
  readonly database: string;
  readonly name: string;
  readonly charset: string | null;
  readonly columns: readonly ColumnDefinition[];
  readonly primaryKey: readonly string[];
  readonly uniqueKeys: readonly KeyDefinition[];
  readonly comment: string | null;
}

const TEXTUAL: ReadonlySet<string> = new Set([
  'CHAR',
  'VARCHAR',
  'TINYTEXT',
  'TEXT',
  'MEDIUMTEXT',
  'LONGTEXT',
  'ENUM',
  'SET',
]);

export const isTextual = (type: string): boolean => TEXTUAL.has(type);

/** The columns that a row is found by: of the primary key, else of the first unique key by name without NULL. */
export function keyColumnsOf(table: TableDefinition): readonly string[] {
  if (table.primaryKey.length > 0) return table.primaryKey;
  const isRequired = (name: string): boolean =>
    table.columns.find(column => sameName(column.name, name))?.isRequired ?? false;
  const keys = table.uniqueKeys.filter(key => key.isWhole && key.columns.every(isRequired));
  const [first] = keys.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  return first?.columns ?? [];
}

/** Names of columns and keys do not differ by case. */
export const sameName = (a: string, b: string): boolean => a === b || a.toLowerCase() === b.toLowerCase();

/** The type as the server shows it: INT UNSIGNED ZEROFILL. */
export const typeName = ({ type, isUnsigned, isZerofill }: ColumnDefinition): string =>
  `${type}${isUnsigned ? ' UNSIGNED' : ''}${isZerofill ? ' ZEROFILL' : ''}`;
