/** CREATE TABLE and ALTER TABLE from the schemas of records: types that hold every value of the field exactly. Pure text; the planner runs it. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { decimalScale, type Schema } from '../../../schemas/data/index.ts';
import type { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import type { Matched, WantedColumn } from '../../shared/rowPlan.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { RenameStatements } from '../../shared/sqlDialect.ts';
import type { TableName } from '../../shared/tableName.ts';
import { textOf } from '../../shared/textForm.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import { quoteText, type TargetColumn, type TargetTable } from './catalog.ts';
import type { MysqlTypes } from './mysqlTypes.ts';

const TEXT = 'character set utf8mb4';
/** Keys must tell apart what their source tells apart: case, accents, spaces at the end. */
const keyText = (isMariaDb: boolean, length: number): string =>
  `varchar(${length}) ${TEXT} collate ${isMariaDb ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'}`;
/** What an index takes. */
const MAX_KEY_BYTES = 3072;
const TEXT_BYTES = 4;
const MAX_KEY_LENGTH = MAX_KEY_BYTES / TEXT_BYTES;
/** Of the largest decimal. */
const NUMBER_BYTES = 30;
const KEY_LENGTH = 255;
const MAX_VARCHAR_LENGTH = 16_383;

const KAFKA_TYPES = ['varchar(249) character set ascii collate ascii_bin', 'int', 'bigint'];

/** `keyLength` = of texts and bytes of a key whose length their source does not tell. */
export function columnType(wanted: WantedColumn, isMariaDb: boolean, keyLength = KEY_LENGTH): string {
  if (wanted.input.from === 'kafka') return KAFKA_TYPES[wanted.input.index]!;
  const { schema } = wanted.field;
  if (schema === null)
    throw new ConnectError(
      'SINK_SCHEMA_NEEDED',
      `field "${wanted.name}" comes without schema, so that no column can be made for it; create it by hand, or use a converter that carries schemas`,
    );
  if (wanted.isKey) {
    const kind = sourceKind(schema);
    const length = Math.min(sourceLength(schema) ?? keyLength, MAX_KEY_LENGTH);
    if (kind === 'bytes') return `varbinary(${length})`;
    if (fromKind(schema) === `longtext ${TEXT}`) return keyText(isMariaDb, length);
  }
  return fromSourceType(schema) ?? fromKind(schema);
}

/** The longest that all columns of the key can be together, at most the usual one. */
function openKeyLength(wanted: readonly WantedColumn[], isMariaDb: boolean): number {
  const key = wanted.filter(w => w.isKey);
  const bytesAt = (length: number): number =>
    key.reduce((sum, w) => sum + indexBytes(columnType(w, isMariaDb, length)), 0);
  let length = KEY_LENGTH;
  while (length > 1 && bytesAt(length) > MAX_KEY_BYTES) length--;
  return length;
}

function indexBytes(type: string): number {
  const [, kind, length] = /^(?:var)?(char|binary)\((\d+)\)/.exec(type) ?? [];
  if (kind === undefined) return NUMBER_BYTES;
  return Number(length) * (kind === 'char' && !type.includes('ascii') ? TEXT_BYTES : 1);
}

/** From what Debezium tells of the column with `column.propagate.source.type`: types whose values come under the same schema. */
function fromSourceType(schema: Schema): string | null {
  const type = schema.parameters?.['__debezium.source.column.type']?.toLowerCase();
  const length = sourceLength(schema);
  switch (type) {
    case 'varchar':
    case 'character varying':
      return schema.type === 'STRING' && length !== null && length <= MAX_VARCHAR_LENGTH
        ? `varchar(${length}) ${TEXT}`
        : null;
    case 'char':
    case 'bpchar':
      return schema.type === 'STRING' && length !== null && length <= 255 ? `char(${length}) ${TEXT}` : null;
    case 'tinyint unsigned':
    case 'smallint unsigned':
    case 'mediumint unsigned':
      return sourceKind(schema) === 'integer' ? type : null;
    case 'int unsigned':
      return schema.type === 'INT64' && sourceKind(schema) === 'integer' ? type : null;
    case 'bigint unsigned':
      return sourceKind(schema) === 'decimal' ? type : null;
    case 'year':
      return schema.type === 'INT32' ? type : null;
    default:
      return null;
  }
}

function sourceLength(schema: Schema): number | null {
  const length = Number(schema.parameters?.['__debezium.source.column.length']);
  return Number.isInteger(length) && length > 0 ? length : null;
}

function fromKind(schema: Schema): string {
  switch (sourceKind(schema)) {
    case 'integer':
      return schema.type === 'INT64' ? 'bigint' : schema.type === 'INT32' ? 'int' : 'smallint';
    case 'float':
      return schema.type === 'FLOAT32' ? 'float' : 'double';
    case 'boolean':
      return 'tinyint(1)';
    case 'decimal':
      return decimalType(schema);
    case 'variableScaleDecimal':
      return 'decimal(65,30)';
    case 'bytes':
      return 'longblob';
    case 'date':
    case 'isoDate':
      return 'date';
    case 'timeMs':
      return 'time(3)';
    case 'timeUs':
    case 'timeNs':
    case 'isoTime':
    case 'zonedTime':
      return 'time(6)';
    case 'timestampMs':
      return 'datetime(3)';
    case 'timestampUs':
    case 'timestampNs':
    case 'isoTimestamp':
    case 'zonedTimestamp':
      return 'datetime(6)';
    case 'durationUs':
    case 'durationNs':
      return 'bigint';
    case 'json':
    case 'map':
    case 'struct':
    case 'array':
      return 'json';
    case 'geometry':
    case 'point':
      return 'geometry';
    case 'uuid':
      return `char(36) ${TEXT}`;
    case 'bits': {
      const length = Number(schema.parameters?.length);
      return Number.isInteger(length) && length > 0 && length <= 64 ? `bit(${length})` : 'longblob';
    }
    case 'interval':
    case 'string':
    case 'untyped':
      return `longtext ${TEXT}`;
  }
}

/** Without a precision, all digits that the server has before the point. */
function decimalType(schema: Schema): string {
  const precision = Number(schema.parameters?.['connect.decimal.precision'] ?? 65);
  const scale = decimalScale(schema);
  const fits =
    Number.isInteger(precision) && precision >= 1 && precision <= 65 && scale >= 0 && scale <= 30 && scale <= precision;
  return fits ? `decimal(${precision},${scale})` : `longtext ${TEXT}`;
}

export const tableSql = (name: TableName): string =>
  name.schema === null ? quoteIdentifier(name.table) : `${quoteIdentifier(name.schema)}.${quoteIdentifier(name.table)}`;

export const createSchemaSql = (schema: string): string => `create database if not exists ${quoteIdentifier(schema)}`;

export function createTableSql(name: TableName, wanted: readonly WantedColumn[], isMariaDb: boolean): string {
  const keyLength = openKeyLength(wanted, isMariaDb);
  // Only the key: a column that may not be null today may be null after a change at the source.
  const columns = wanted.map(
    w => `${quoteIdentifier(w.name)} ${columnType(w, isMariaDb, keyLength)}${w.isKey ? ' not null' : ' null'}`,
  );
  const key = wanted.filter(w => w.isKey).map(w => quoteIdentifier(w.name));
  if (key.length > 0) columns.push(`primary key (${key.join(', ')})`);
  return `create table if not exists ${tableSql(name)} (${columns.join(', ')})`;
}

/** Throws for a field that existing rows cannot have. */
export function addColumnsSql(table: TargetTable, missing: readonly WantedColumn[]): string {
  const required = missing.find(
    w => w.field.schema !== null && !w.field.schema.optional && w.field.schema.defaultValue === undefined,
  );
  if (required)
    throw new ConnectError(
      'SINK_COLUMN_REQUIRED',
      `field "${required.name}" is new and may not be null, so that no column can be added for it to the rows of ${table.name}; add the column by hand, or make the field optional`,
      { place: { table: table.name, column: required.name } },
    );
  const parts = missing.map(
    w => `add column ${quoteIdentifier(w.name)} ${columnType(w, table.isMariaDb)} null${defaultOf(w)}`,
  );
  return `alter table ${table.sql} ${parts.join(', ')}`;
}

/** The default of the schema: rows that are there already have it at their source. Texts, JSON and bytes need brackets; a column with them is not widened later. */
function defaultOf(wanted: WantedColumn): string {
  const { schema } = wanted.field;
  if (schema === null || schema.defaultValue === undefined || schema.defaultValue === null) return '';
  const kind = sourceKind(schema);
  const value = schema.defaultValue;
  switch (kind) {
    case 'bytes':
      return ` default (x'${Buffer.from(value as Uint8Array).toString('hex')}')`;
    case 'bits':
      return ` default (b'${textOf(kind, schema)(value) || '0'}')`;
    case 'boolean':
      return ` default ${value === true ? 1 : 0}`;
    case 'timestampMs':
    case 'timestampUs':
    case 'timestampNs':
    case 'isoTimestamp':
    case 'zonedTimestamp':
      return ` default (${quoteText(textOf(kind, schema)(value).replace('T', ' ').replace(/Z$/, ''))})`;
    case 'geometry':
    case 'point':
      return '';
    default: {
      const text = textOf(kind, schema)(value);
      return /^[-+]?\d+(\.\d+)?$/.test(text) && schema.type !== 'STRING'
        ? ` default ${text}`
        : ` default (${quoteText(text)})`;
    }
  }
}

/** Columns that have become too narrow for their fields, made wider; null where all are wide enough. */
export function widenColumnsSql(table: TargetTable, matched: readonly Matched<MysqlTypes>[]): string | null {
  const parts = matched.flatMap(({ wanted, column }) => {
    const wider = wanted.field.schema === null ? null : widerType(column, wanted.field.schema);
    if (wider === null || column.restOfDefinition === null) return [];
    return [`modify column ${quoteIdentifier(column.name)} ${wider}${column.restOfDefinition}`];
  });
  return parts.length === 0 ? null : `alter table ${table.sql} ${parts.join(', ')}`;
}

/** Only for columns that may be touched, see `guardWidth`. */
export function widenSql(table: TargetTable, { column, widerType }: ColumnTooNarrow): string {
  const rest = table.columns.find(c => c.name === column)?.restOfDefinition ?? '';
  return `alter table ${table.sql} modify column ${quoteIdentifier(column)} ${widerType}${rest}`;
}

/** Only a column of the same type can be the one that a field is the new name of. */
export function renameSql(table: TargetTable, gone: TargetColumn, wanted: WantedColumn): RenameStatements | null {
  const type = columnType(wanted, table.isMariaDb);
  if (bareType(type) !== bareType(gone.displayType)) return null;
  const [from, to] = [gone.name, wanted.name].map(quoteIdentifier);
  return {
    rename: `ALTER TABLE ${table.sql} RENAME COLUMN ${from} TO ${to}`,
    add: `ALTER TABLE ${table.sql} ADD COLUMN ${to} ${type}`,
    copy: `UPDATE ${table.sql} SET ${to} = ${from} WHERE ${to} IS NULL`,
  };
}

/** Without lengths and character set; MariaDB shows JSON as what it is made of. */
const bareType = (type: string): string =>
  type
    .replace(/\(.*?\)/, '')
    .replace(/ character set .*/, '')
    .replace(/^json$/, 'longtext');

const INTEGER_RANKS: Readonly<Record<string, number>> = { tinyint: 1, smallint: 2, mediumint: 3, int: 4, bigint: 5 };

function widerType(column: TargetColumn, schema: Schema): string | null {
  const kind = sourceKind(schema);
  switch (column.dataType) {
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'int': {
      // tinyint(1) is a boolean, and an unsigned column holds more than its field's type tells.
      if (kind !== 'integer' || column.isUnsigned) return null;
      const wider = fromKind(schema);
      return INTEGER_RANKS[wider]! > INTEGER_RANKS[column.dataType]! && wider !== 'smallint' ? wider : null;
    }
    case 'float':
      return kind === 'float' && schema.type === 'FLOAT64' ? 'double' : null;
    case 'varchar': {
      const length = sourceLength(schema);
      if (kind !== 'string' || length === null || length <= (column.length ?? 0)) return null;
      return length <= MAX_VARCHAR_LENGTH ? `varchar(${length})` : null;
    }
    case 'decimal':
      return widerDecimal(column, schema);
    default:
      return null;
  }
}

function widerDecimal(column: TargetColumn, schema: Schema): string | null {
  const precision = Number(schema.parameters?.['connect.decimal.precision']);
  if (sourceKind(schema) !== 'decimal' || !Number.isInteger(precision)) return null;
  const scale = Math.max(column.scale, decimalScale(schema));
  const whole = Math.max((column.length ?? 0) - column.scale, precision - decimalScale(schema));
  if (whole + scale === column.length && scale === column.scale) return null;
  return whole + scale <= 65 && scale <= 30 ? `decimal(${whole + scale},${scale})` : null;
}
