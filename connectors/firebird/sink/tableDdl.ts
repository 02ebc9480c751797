/** CREATE TABLE and ALTER TABLE from the schemas of records: types that hold every value of the field exactly. Pure text. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { decimalScale, type Schema } from '../../../schemas/data/index.ts';
import type { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import type { Matched, WantedColumn } from '../../shared/rowPlan.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { TableName } from '../../shared/tableName.ts';
import { quoteName } from '../connection.ts';
import type { TargetColumn, TargetTable } from './catalog.ts';
import type { FbTypes } from './fbTypes.ts';

const KAFKA_TYPES = ['varchar(249) character set utf8', 'integer', 'bigint'];
/** Of texts and bytes of a key that has one of them. */
const KEY_LENGTH = 255;
/** An index key has a quarter of a page, of 8 KiB mostly, and takes five bytes for four where it has several columns. */
const MAX_KEY_BYTES = 1600;
const TEXT_BYTES = 4;
/** Of the largest number, date or UUID. */
const OTHER_BYTES = 36;
const TEXT = 'blob sub_type text character set utf8';
export const MAX_DIGITS = 38;

export const tableSql = (name: TableName): string => quoteName(name.table);

function typeOf({ name, field, input, isKey }: WantedColumn, keyLength: number = KEY_LENGTH): string {
  if (input.from === 'kafka') return KAFKA_TYPES[input.index]!;
  const { schema } = field;
  if (schema === null)
    throw new ConnectError(
      'SINK_SCHEMA_NEEDED',
      `field "${name}" comes without schema, so that no column can be made for it; create it by hand, or use a converter that carries schemas`,
    );
  return fromKind(schema, isKey ? keyLength : null);
}

/** `keyLength` = of texts and bytes of a key; null = the column is in none. */
function fromKind(schema: Schema, keyLength: number | null): string {
  switch (sourceKind(schema)) {
    case 'integer':
      return schema.type === 'INT64' ? 'bigint' : schema.type === 'INT32' ? 'integer' : 'smallint';
    case 'float':
      return schema.type === 'FLOAT32' ? 'float' : 'double precision';
    case 'boolean':
      return 'boolean';
    case 'decimal':
      return decimalType(schema);
    case 'variableScaleDecimal':
      return 'decfloat(34)';
    case 'bytes':
    case 'bits':
      return keyLength === null ? 'blob sub_type binary' : `varbinary(${keyLength})`;
    case 'date':
    case 'isoDate':
      return 'date';
    case 'timeMs':
    case 'timeUs':
    case 'timeNs':
    case 'isoTime':
      return 'time';
    case 'timestampMs':
    case 'timestampUs':
    case 'timestampNs':
    case 'isoTimestamp':
      return 'timestamp';
    case 'zonedTimestamp':
      return 'timestamp with time zone';
    case 'zonedTime':
      return 'time with time zone';
    case 'durationUs':
    case 'durationNs':
      return 'bigint';
    case 'uuid':
      return 'char(36) character set ascii';
    default:
      return keyLength === null ? TEXT : `varchar(${keyLength}) character set utf8`;
  }
}

function decimalType(schema: Schema): string {
  const precision = Number(schema.parameters?.['connect.decimal.precision']);
  const scale = decimalScale(schema);
  if (scale < 0 || scale > MAX_DIGITS || precision > MAX_DIGITS) return scale === 0 ? 'int128' : 'decfloat(34)';
  return `numeric(${Number.isInteger(precision) && precision > 0 ? precision : MAX_DIGITS},${scale})`;
}

/** The longest that all texts and bytes of the key can be together, at most the usual one. */
function openKeyLength(wanted: readonly WantedColumn[]): number {
  const key = wanted.filter(w => w.isKey);
  const open = key.filter(w => /^var(char|binary)/.test(typeOf(w))).length;
  const room = MAX_KEY_BYTES - (key.length - open) * OTHER_BYTES;
  return Math.max(1, Math.min(KEY_LENGTH, Math.floor(room / (open * TEXT_BYTES))));
}

export function createTableSql(name: TableName, wanted: readonly WantedColumn[]): string {
  const keyLength = openKeyLength(wanted);
  const columns = wanted.map(w => `${quoteName(w.name)} ${typeOf(w, keyLength)}${w.isKey ? ' not null' : ''}`);
  const key = wanted.filter(w => w.isKey).map(w => quoteName(w.name));
  if (key.length > 0) columns.push(`primary key (${key.join(', ')})`);
  return `create table ${tableSql(name)} (${columns.join(', ')})`;
}

/** Throws for a field that existing rows cannot have. */
export function addColumnsSql(table: TargetTable, missing: readonly WantedColumn[]): string {
  const required = missing.find(
    ({ field: { schema } }) => schema !== null && !schema.optional && schema.defaultValue === undefined,
  );
  if (required)
    throw new ConnectError(
      'SINK_COLUMN_REQUIRED',
      `field "${required.name}" is new and may not be null, so that no column can be added for it to the rows of ${table.name}; add the column by hand, or make the field optional`,
      { place: { table: table.name, column: required.name } },
    );
  return `alter table ${table.sql} ${missing.map(w => `add ${quoteName(w.name)} ${typeOf(w)}`).join(', ')}`;
}

const alterType = (table: TargetTable, columns: readonly (readonly [name: string, type: string])[]): string =>
  `alter table ${table.sql} ${columns.map(([name, type]) => `alter column ${quoteName(name)} type ${type}`).join(', ')}`;

/** Columns that have become too narrow for their fields, made wider; null where all are wide enough. */
export function widenColumnsSql(table: TargetTable, matched: readonly Matched<FbTypes>[]): string | null {
  const wider = matched.flatMap(({ wanted, column }) => {
    const { schema } = wanted.field;
    const type = schema === null || !column.isAlterable ? null : widerType(column, schema);
    return type === null ? [] : [[column.name, type] as const];
  });
  return wider.length === 0 ? null : alterType(table, wider);
}

/** Only for columns that may be touched, see `guardWidth`. */
export const widenSql = (table: TargetTable, { column, widerType: type }: ColumnTooNarrow): string =>
  alterType(table, [[column, type]]);

const INTEGER_RANKS: Readonly<Record<string, number>> = { smallint: 1, integer: 2, bigint: 3 };

/** Firebird changes a type only where every value that is there stays what it is. */
function widerType(column: TargetColumn, schema: Schema): string | null {
  const kind = sourceKind(schema);
  switch (column.kind) {
    case 'integer': {
      if (kind !== 'integer') return null;
      const wider = fromKind(schema, null);
      return INTEGER_RANKS[wider]! > (INTEGER_RANKS[column.typeSql] ?? 4) ? wider : null;
    }
    case 'float':
      return kind === 'float' && schema.type === 'FLOAT64' && column.typeSql === 'float' ? 'double precision' : null;
    case 'decimal':
      return kind === 'decimal' ? widerDecimal(column, schema) : null;
    default:
      return null;
  }
}

function widerDecimal(column: TargetColumn, schema: Schema): string | null {
  const precision = Number(schema.parameters?.['connect.decimal.precision']);
  if (!Number.isInteger(precision)) return null;
  const scale = Math.max(column.scale, decimalScale(schema));
  const whole = Math.max(column.length! - column.scale, precision - decimalScale(schema));
  if (whole + scale <= column.length! && scale === column.scale) return null;
  return whole + scale <= MAX_DIGITS ? `numeric(${whole + scale},${scale})` : null;
}
