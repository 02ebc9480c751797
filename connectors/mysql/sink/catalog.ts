/** What the sink knows of a target table, read from information_schema: columns with their types, and unique keys. */

import type { RowDataPacket } from 'mysql2/promise';
import type { SqlColumn, SqlRights, SqlTable } from '../../shared/sqlTypes.ts';
import type { TableName } from '../../shared/tableName.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { OpenSession } from './session.ts';

export interface TargetColumn extends SqlColumn {
  /** In lower case: bigint, varchar, … */
  readonly dataType: string;
  readonly isUnsigned: boolean;
  /** Characters of a text, bytes of binary, bits of BIT, digits of DECIMAL; null = the type has none. */
  readonly length: number | null;
  /** Digits after the point of DECIMAL, of a second of times. */
  readonly scale: number;
  /** Whether it is the first column of an index, or part of the primary key. */
  readonly isIndexed: boolean;
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
    coalesce(generation_expression, '') as generation, column_comment as comment,
    column_key as key_kind
  from information_schema.columns where table_schema = ? and table_name = ? order by ordinal_position`;

const keysSql = `
  select index_name as name, column_name as column_name, sub_part as prefix
  from information_schema.statistics where table_schema = ? and table_name = ? and non_unique = 0
  order by index_name = 'PRIMARY' desc, index_name, seq_in_index`;

/** Of one database: to look through all of them takes long on servers that have many. */
const foreignKeysSql = `
  select concat(table_schema, '.', table_name) as child, concat(referenced_table_schema, '.', referenced_table_name) as parent
  from information_schema.key_column_usage where table_schema = ? and referenced_table_name is not null and ordinal_position = 1
  order by 1, 2`;

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
  key_kind: string;
}
type TableRow = RowDataPacket & { db: string; name: string };
type LinkRow = RowDataPacket & { child: string; parent: string };
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
  const [links] = await connection.query<LinkRow[]>(foreignKeysSql, [table.db]);
  const foreign = foreignPlace(`${table.db}.${table.name}`, links);
  const sql = `${quoteIdentifier(table.db)}.${quoteIdentifier(table.name)}`;
  return {
    id: sql,
    name: `${table.db}.${table.name}`,
    sql,
    columns: columns.map(row => targetColumn(row, server.isMariaDb)),
    uniqueKeys: wholeKeys.map(rows => rows.map(r => r.column_name!)),
    uniqueIndexes: keys.size,
    hasFurtherRules: keys.size > 1 || foreign.isJoined,
    foreignGroup: foreign.group,
    foreignDepth: foreign.depth,
    rights: RIGHTS,
    isMariaDb: server.isMariaDb,
  };
}

/** What foreign keys make of a table: whether any lead from or to it, the smallest name among the tables they join as a number, its depth. */
function foreignPlace(name: string, links: readonly LinkRow[]): { isJoined: boolean; group: number; depth: number } {
  const joined = new Set([name]);
  for (const table of joined)
    for (const { child, parent } of links) {
      if (child === table) joined.add(parent);
      if (parent === table) joined.add(child);
    }
  const depths = new Map([[name, 0]]);
  for (const [table, depth] of depths)
    for (const { child, parent } of links)
      if (child === table && parent !== table && depth < MAX_FOREIGN_DEPTH && (depths.get(parent) ?? -1) <= depth) {
        // Behind all others again, so that what it leads to is looked at once more.
        depths.delete(parent);
        depths.set(parent, depth + 1);
      }
  const isJoined = links.some(({ child, parent }) => child === name || parent === name);
  return { isJoined, group: numberOf([...joined].sort()[0]!), depth: Math.max(...depths.values()) };
}

const MAX_FOREIGN_DEPTH = 16;

/** FNV-1a. */
function numberOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Types whose equal values have one literal; texts only where their collation tells all texts apart. */
const BYTES_TYPES = /^(tinyint|smallint|mediumint|int|bigint|decimal|bit|year|date|datetime|timestamp|time|varbinary)$/;
const BYTES_COLLATION = /^(utf8mb4_0900_bin|[a-z0-9]+_nopad_bin)$/;

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
    comparesByBytes:
      row.collation === null
        ? BYTES_TYPES.test(row.data_type)
        : /^(char|varchar)$/.test(row.data_type) && BYTES_COLLATION.test(row.collation),
    dataType: row.data_type,
    isUnsigned: /\bunsigned\b/i.test(row.column_type),
    length: length === null ? null : Number(length),
    scale: Number(row.scale ?? row.second_digits ?? 0),
    isIndexed: row.key_kind !== '',
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
