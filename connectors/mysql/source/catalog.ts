/** What information_schema says of tables now: all for a snapshot, and what the log does not carry for the stream: defaults and unique keys. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { ColumnDef, ColumnKind } from '../types/columnDef.ts';
import { type DeclaredType, declaredType } from '../types/declaredType.ts';
import { isMariaText } from '../types/mariaTextTypes.ts';

export interface TableName {
  readonly database: string;
  readonly name: string;
}

export interface CatalogColumn {
  readonly def: ColumnDef | null;
  readonly name: string;
  /** Such as `int unsigned`. */
  readonly columnType: string;
  readonly isRequired: boolean;
  /** null = none; the text of the catalogue, without the quotes that MariaDB has. */
  readonly defaultText: string | null;
  readonly isDefaultExpression: boolean;
  readonly declared: DeclaredType;
  readonly comment: string | null;
}

export interface CatalogTable extends TableName {
  /** MariaDB keeps sequences as tables of one row. */
  readonly isSequence: boolean;
  readonly columns: readonly CatalogColumn[];
  /** Of the primary key, else of the first unique index without nullable columns. */
  readonly keyColumns: readonly string[];
}

export const fullName = (table: TableName): string => `${table.database}.${table.name}`;

const SYSTEM = ['mysql', 'performance_schema', 'information_schema', 'sys'];
export const isSystemDatabase = (database: string): boolean => SYSTEM.includes(database.toLowerCase());

/** All tables of users, in order of name. */
export async function listTables(connection: Connection): Promise<TableName[]> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT table_schema AS db, table_name AS name FROM information_schema.tables
      WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN (${SYSTEM.map(name => `'${name}'`).join(', ')})`,
  );
  const tables = rows.map(row => ({ database: String(row.db), name: String(row.name) }));
  return tables.sort((a, b) => (fullName(a) < fullName(b) ? -1 : 1));
}

/** null = there is no such table (any more). */
export async function readTable(
  connection: Connection,
  table: TableName,
  isMariaDb: boolean,
): Promise<CatalogTable | null> {
  const place = [table.database, table.name];
  const [columns] = await connection.query<(ColumnRow & RowDataPacket)[]>(
    `SELECT column_name AS name, data_type AS type, column_type AS columnType, is_nullable AS nullable, column_default AS defaultText,
            character_set_name AS charset, character_octet_length AS octets, numeric_precision AS digits, numeric_scale AS scale,
            datetime_precision AS fraction, extra AS extra, column_comment AS comment, generation_expression AS expression,
            (SELECT table_type FROM information_schema.tables t WHERE t.table_schema = c.table_schema AND t.table_name = c.table_name) AS tableType
       FROM information_schema.columns c WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position`,
    place,
  );
  if (columns.length === 0) return null;
  const isHidden = columns[0]!.tableType === VERSIONED && columns.every(({ expression }) => expression !== 'ROW END');
  const [indexes] = await connection.query<RowDataPacket[]>(
    `SELECT index_name AS name, column_name AS col, sub_part AS part, nullable AS nullable FROM information_schema.statistics
      WHERE table_schema = ? AND table_name = ? AND non_unique = 0 ORDER BY index_name <> 'PRIMARY', index_name, seq_in_index`,
    place,
  );
  return {
    ...table,
    isSequence: columns[0]!.tableType === 'SEQUENCE',
    columns: [...columns, ...(isHidden ? PERIOD : [])].map(row => catalogColumn(row, isMariaDb)),
    keyColumns: isHidden ? withPeriod(keyOf(indexes)) : keyOf(indexes),
  };
}

/** A column as information_schema has it. */
interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly columnType: string;
  readonly nullable: string;
  readonly defaultText: string | null;
  readonly charset: string | null;
  readonly octets: number | null;
  readonly digits: number | null;
  readonly scale: number | null;
  readonly fraction: number | null;
  readonly extra: string;
  readonly comment: string | null;
}

/** MariaDB's tables that keep old versions of their rows. */
const VERSIONED = 'SYSTEM VERSIONED';
const ROW_END = 'row_end';
/** The columns that they have unless others are named, as the log has them; the catalog does not show these. */
const PERIOD = ['row_start', ROW_END].map(
  (name): ColumnRow => ({
    name,
    type: 'timestamp',
    columnType: 'timestamp(6)',
    nullable: 'NO',
    defaultText: null,
    charset: null,
    octets: null,
    digits: null,
    scale: null,
    fraction: 6,
    extra: '',
    comment: null,
  }),
);
const withPeriod = (key: readonly string[]): readonly string[] => (key.length === 0 ? key : [...key, ROW_END]);

function keyOf(rows: readonly RowDataPacket[]): readonly string[] {
  const indexes = new Map<string, RowDataPacket[]>();
  for (const row of rows) indexes.set(row.name, [...(indexes.get(row.name) ?? []), row]);
  for (const [name, parts] of indexes) {
    const isKey = parts.every(part => part.col !== null && part.part === null && part.nullable !== 'YES');
    if (isKey || name === 'PRIMARY') return parts.map(part => String(part.col));
  }
  return [];
}

function catalogColumn(row: ColumnRow, isMariaDb: boolean): CatalogColumn {
  const columnType = String(row.columnType);
  const isRequired = row.nullable === 'NO';
  const kind = kindOf(String(row.type));
  const text: string | null = row.defaultText === null ? null : String(row.defaultText);
  const shown = isMariaDb ? mariaDefault(text) : { text, isExpression: /DEFAULT_GENERATED/i.test(row.extra) };
  const isTimestamp = /^current_timestamp/i.test(shown.text ?? '');
  return {
    name: String(row.name),
    columnType,
    isRequired,
    defaultText: shown.text,
    isDefaultExpression: shown.isExpression && !isTimestamp,
    declared: declaredType(columnType),
    comment: row.comment ? String(row.comment) : null,
    def:
      kind === null
        ? null
        : {
            name: String(row.name),
            kind,
            isRequired,
            isUnsigned: /\bunsigned\b/.test(columnType),
            length:
              kind === 'decimal' || kind === 'bit' ? Number(row.digits) : kind === 'binary' ? Number(row.octets) : 0,
            scale: kind === 'decimal' ? Number(row.scale) : Number(row.fraction ?? 0),
            charset: row.charset === null ? null : String(row.charset),
            values: kind === 'enum' || kind === 'set' ? valuesOf(columnType) : [],
            isPoint: row.type === 'point',
            hasFloatScale: /^float\(\d+,\d+\)/.test(columnType),
            isZerofill: /\bzerofill\b/.test(columnType),
          },
  };
}

/** MariaDB shows an expression: quoted text, a number, NULL, current_timestamp(). */
function mariaDefault(text: string | null): { text: string | null; isExpression: boolean } {
  if (text === null || text === 'NULL') return { text: null, isExpression: false };
  const quoted = /^'((?:[^'\\]|''|\\.)*)'$/s.exec(text);
  if (quoted !== null) {
    return { text: quoted[1]!.replace(/''/g, "'").replace(/\\(.)/gs, '$1'), isExpression: false };
  }
  return { text, isExpression: !/^(-?\d+(\.\d+)?(e[-+]?\d+)?|b'[01]+'|current_timestamp.*)$/i.test(text) };
}

/** The names in `enum('a','b''c')`. */
export function valuesOf(columnType: string): string[] {
  return Array.from(columnType.matchAll(/'((?:[^']|'')*)'/g), m => m[1]!.replace(/''/g, "'").replace(/\\\\/g, '\\'));
}

const KINDS: Readonly<Record<string, ColumnKind>> = {
  char: 'text',
  varchar: 'text',
  tinytext: 'text',
  text: 'text',
  mediumtext: 'text',
  longtext: 'text',
  varbinary: 'blob',
  tinyblob: 'blob',
  blob: 'blob',
  mediumblob: 'blob',
  longblob: 'blob',
  point: 'geometry',
  linestring: 'geometry',
  polygon: 'geometry',
  multipoint: 'geometry',
  multilinestring: 'geometry',
  multipolygon: 'geometry',
  geomcollection: 'geometry',
  geometrycollection: 'geometry',
};
const PLAIN_KINDS: ReadonlySet<string> = new Set<ColumnKind>([
  'tinyint',
  'smallint',
  'mediumint',
  'int',
  'bigint',
  'float',
  'double',
  'decimal',
  'bit',
  'year',
  'date',
  'time',
  'datetime',
  'timestamp',
  'binary',
  'enum',
  'set',
  'json',
  'geometry',
  'vector',
]);

export const kindOf = (type: string): ColumnKind | null =>
  KINDS[type] ?? (PLAIN_KINDS.has(type) ? (type as ColumnKind) : isMariaText(type) ? type : null);

/** Character sets by the numbers of their collations, which the log has. */
export async function readCollations(connection: Connection, isMariaDb: boolean): Promise<ReadonlyMap<number, string>> {
  const table = isMariaDb ? 'collation_character_set_applicability' : 'collations';
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT id, character_set_name AS charset FROM information_schema.${table} WHERE id IS NOT NULL`,
  );
  return new Map(rows.map(row => [Number(row.id), String(row.charset)]));
}
