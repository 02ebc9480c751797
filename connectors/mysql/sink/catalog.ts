/** What the sink knows of a target table, read from information_schema: columns with their types, and unique keys. */
import type { RowDataPacket } from 'mysql2/promise';
import type { SqlColumn, SqlRights, SqlTable } from '../../shared/sqlTypes.ts';
import type { TableName } from '../../shared/tableName.ts';
import type { OpenSession } from './session.ts';

export interface TargetColumn extends SqlColumn {
  /** In lower case: bigint, varchar, … */
  readonly dataType: string;
  readonly isUnsigned: boolean;
  /** Characters of a text, bytes of binary, bits of BIT, digits of DECIMAL; null = the type has none. */
  readonly length: number | null;
  /** Digits after the point of DECIMAL, of a second of times. */
  readonly scale: number;
  /** Of ENUM and SET. */
  readonly labels: readonly string[];
  /** For MODIFY COLUMN: everything behind the type, as SQL; null = not to be touched. */
  readonly restOfDefinition: string | null;
}

/** `uniqueKeys` are those of indexes over whole columns. */
export interface TargetTable extends SqlTable<TargetColumn> {
  /** All unique indexes, those over prefixes and expressions too. */
  readonly uniqueIndexes: number;
  readonly isMariaDb: boolean;
}

export const quoteIdentifier = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

export const quoteText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Rights come from grants to users, roles, schemas, tables and columns that a user may not see: the server says what is missing. */
const RIGHTS: SqlRights = { insert: true, update: true, delete: true, truncate: true };

const tableSql = `
  select table_schema as db, table_name as name from information_schema.tables
  where table_type in ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')
    and lower(table_schema) = lower(coalesce(?, database())) and lower(table_name) = lower(?)
  order by binary table_name = ? desc, binary table_schema = coalesce(?, database()) desc`;

const columnsSql = `
  select column_name as name, ordinal_position as position, lower(data_type) as data_type, column_type as column_type,
    character_maximum_length as length, numeric_precision as digits, numeric_scale as scale, datetime_precision as second_digits,
    character_set_name as charset, collation_name as collation, is_nullable as nullable, column_default as default_value, extra as extra,
    coalesce(generation_expression, '') as generation, column_comment as comment
  from information_schema.columns where table_schema = ? and table_name = ? order by ordinal_position`;

const keysSql = `
  select index_name as name, column_name as column_name, sub_part as prefix
  from information_schema.statistics where table_schema = ? and table_name = ? and non_unique = 0
  order by index_name = 'PRIMARY' desc, index_name, seq_in_index`;

interface ColumnRow extends RowDataPacket {
  name: string;
  position: number;
  data_type: string;
  column_type: string;
  length: number | string | null;
  digits: number | string | null;
  scale: number | string | null;
  second_digits: number | string | null;
  charset: string | null;
  collation: string | null;
  nullable: string;
  default_value: string | null;
  extra: string;
  generation: string;
  comment: string;
}
type TableRow = RowDataPacket & { db: string; name: string };
type KeyRow = RowDataPacket & { name: string; column_name: string | null; prefix: number | null };

/** The table of that name (the exact one, else the only one that differs by case), or null. */
export async function readTable({ connection, server }: OpenSession, name: TableName): Promise<TargetTable | null> {
  const [tables] = await connection.query<TableRow[]>(tableSql, [name.schema, name.table, name.table, name.schema]);
  const table = tables[0];
  if (table === undefined) return null;
  const isExact = table.name === name.table && (name.schema === null || table.db === name.schema);
  if (!isExact && tables.length > 1) return null;
  const [columns] = await connection.query<ColumnRow[]>(columnsSql, [table.db, table.name]);
  const [keyRows] = await connection.query<KeyRow[]>(keysSql, [table.db, table.name]);
  const keys = new Map<string, KeyRow[]>();
  for (const row of keyRows) keys.set(row.name, [...(keys.get(row.name) ?? []), row]);
  const wholeKeys = [...keys.values()].filter(rows => rows.every(r => r.prefix === null && r.column_name !== null));
  const sql = `${quoteIdentifier(table.db)}.${quoteIdentifier(table.name)}`;
  return {
    id: sql,
    name: `${table.db}.${table.name}`,
    sql,
    columns: columns.map(row => targetColumn(row, server.isMariaDb)),
    uniqueKeys: wholeKeys.map(rows => rows.map(r => r.column_name!)),
    uniqueIndexes: keys.size,
    rights: RIGHTS,
    isMariaDb: server.isMariaDb,
  };
}

function targetColumn(row: ColumnRow, isMariaDb: boolean): TargetColumn {
  // MariaDB shows defaults as SQL, MySQL as bare text.
  const hasDefault = row.default_value !== null && !(isMariaDb && row.default_value === 'NULL');
  const isNotNull = row.nullable === 'NO';
  const length = row.length ?? row.digits;
  return {
    name: row.name,
    position: Number(row.position),
    displayType: row.column_type,
    isNotNull,
    hasDefault: hasDefault || /auto_increment|DEFAULT_GENERATED/i.test(row.extra),
    isGenerated: row.generation !== '',
    dataType: row.data_type,
    isUnsigned: /\bunsigned\b/i.test(row.column_type),
    length: length === null ? null : Number(length),
    scale: Number(row.scale ?? row.second_digits ?? 0),
    labels: row.data_type === 'enum' || row.data_type === 'set' ? labelsOf(row.column_type) : [],
    restOfDefinition: restOfDefinition(row, hasDefault, isNotNull, isMariaDb),
  };
}

/** `enum('a','it''s')` */
const labelsOf = (columnType: string): string[] =>
  [...columnType.matchAll(/'((?:[^']|'')*)'/g)].map(m => m[1]!.replaceAll("''", "'"));

/** MODIFY COLUMN takes away what it does not repeat. */
function restOfDefinition(row: ColumnRow, hasDefault: boolean, isNotNull: boolean, isMariaDb: boolean): string | null {
  if (row.extra !== '' || row.generation !== '') return null;
  const charset = row.charset === null ? '' : ` character set ${row.charset} collate ${row.collation}`;
  const value = isMariaDb ? row.default_value! : quoteText(row.default_value ?? '');
  const comment = row.comment === '' ? '' : ` comment ${quoteText(row.comment)}`;
  return `${charset}${isNotNull ? ' not null' : ''}${hasDefault ? ` default ${value}` : ''}${comment}`;
}

/** The database of that name, else the first that differs by case only; null = there is none. */
export async function readSchemaName({ connection }: OpenSession, name: string): Promise<string | null> {
  const [rows] = await connection.query<TableRow[]>(
    'select schema_name as name from information_schema.schemata where lower(schema_name) = lower(?) order by binary schema_name = ? desc limit 1',
    [name, name],
  );
  return rows[0]?.name ?? null;
}
