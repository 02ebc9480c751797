/** CREATE TABLE and ALTER TABLE from the schemas of records: types that hold every value of the field exactly. Pure text; `Planner` runs it. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { decimalScale, type Schema } from '../../../schemas/data/index.ts';
import type { ColumnTooNarrow } from '../../shared/columnTooNarrow.ts';
import type { Matched, WantedColumn } from '../../shared/rowPlan.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import type { RenameStatements } from '../../shared/sqlDialect.ts';
import type { TableName } from '../../shared/tableName.ts';
import { textOf } from '../../shared/textForm.ts';
import { quoteIdentifier, type TargetColumn, type TargetTable } from './catalog.ts';
import { arrayLiteral } from './literals.ts';
import { numericScale } from './numericWriter.ts';
import type { PgTypes } from './pgTypes.ts';

const KAFKA_TYPES = ['text', 'integer', 'bigint'];

/** Type names of other databases never reach SQL: only these, which mean the same in PostgreSQL. */
const SAME_TYPES =
  /^(smallint|int2|integer|int|int4|bigint|int8|real|float4|float8|double precision|boolean|bool|text|varchar|character varying|char|bpchar|character|citext|bytea|date|json|jsonb|xml|uuid|inet|cidr|macaddr|macaddr8|money|interval|numeric|bit|varbit|timestamp|timestamptz|time|timetz|point|hstore|ltree|tsvector|int4range|int8range|numrange|tsrange|tstzrange|daterange|_?(int2|int4|int8|float4|float8|bool|text|varchar|bpchar|numeric|uuid|date|timestamp|timestamptz|time|timetz|json|jsonb|bytea|inet|cidr))$/i;

/** Types that the optional extension types stand in for: without the extension the CREATE fails, and text holds them too. */
const EXTENSION_TYPES = /^(citext|hstore|ltree)$/i;

export function columnType(field: { name: string; schema: Schema | null }): string {
  const { schema } = field;
  if (schema === null)
    throw new ConnectError(
      'SINK_SCHEMA_NEEDED',
      `field "${field.name}" comes without schema, so that no column can be made for it; create it by hand, or use a converter that carries schemas`,
    );
  return fromSourceType(schema) ?? fromKind(schema);
}

/** From what Debezium tells of the column with `column.propagate.source.type`. */
function fromSourceType(schema: Schema): string | null {
  const type = schema.parameters?.['__debezium.source.column.type']?.toLowerCase();
  if (type === undefined || !SAME_TYPES.test(type) || EXTENSION_TYPES.test(type)) return null;
  const length = parameterNumber(schema, 'length');
  const scale = parameterNumber(schema, 'scale');
  const sized = (name: string): string => (length === null || length > 10_485_760 ? name : `${name}(${length})`);
  switch (type) {
    case 'varchar':
    case 'character varying':
      return sized('varchar');
    case 'char':
    case 'bpchar':
    case 'character':
      return length === null ? 'text' : sized('char');
    case 'bit':
    case 'varbit':
      // Of another database a bit column may be of another kind: it must be bits here as well.
      return schema.type === 'BOOLEAN' ? 'bit(1)' : sourceKind(schema) === 'bits' ? sized(type) : null;
    case 'numeric':
      return schema.type === 'STRUCT' || length === null || length > 1000
        ? 'numeric'
        : `numeric(${length},${scale ?? 0})`;
    // Unsigned columns of MySQL come under the same names with a wider schema.
    case 'smallint':
    case 'int2':
    case 'int':
    case 'integer':
    case 'int4':
    case 'bigint':
    case 'int8':
    case 'bool':
    case 'boolean':
    case 'timestamp':
    case 'date':
    case 'time':
      return fromKind(schema);
    default:
      return type.startsWith('_') ? `${type.slice(1)}[]` : type;
  }
}

function parameterNumber(schema: Schema, name: string): number | null {
  const text = schema.parameters?.[`__debezium.source.column.${name}`];
  const number = text === undefined ? Number.NaN : Number(text);
  return Number.isInteger(number) && number > 0 ? number : null;
}

function fromKind(schema: Schema): string {
  switch (sourceKind(schema)) {
    case 'integer':
      return schema.type === 'INT64' ? 'bigint' : schema.type === 'INT32' ? 'integer' : 'smallint';
    case 'float':
      return schema.type === 'FLOAT32' ? 'real' : 'double precision';
    case 'boolean':
      return 'boolean';
    case 'decimal':
      return decimalType(schema);
    case 'variableScaleDecimal':
      return 'numeric';
    case 'bytes':
      return 'bytea';
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
      return 'timestamptz';
    case 'zonedTime':
      return 'timetz';
    case 'durationUs':
    case 'durationNs':
    case 'interval':
      return 'interval';
    case 'json':
    case 'map':
    case 'struct':
    case 'geometry':
      return 'jsonb';
    case 'uuid':
      return 'uuid';
    case 'bits': {
      const length = Number(schema.parameters?.length);
      return Number.isInteger(length) && length > 0 && length <= 83_886_080 ? `varbit(${length})` : 'varbit';
    }
    case 'point':
      return 'point';
    case 'array':
      return schema.type === 'ARRAY' ? arrayType(schema.valueSchema) : 'jsonb';
    case 'string':
      return schema.name === 'io.debezium.data.Xml' ? 'xml' : 'text';
    case 'untyped':
      return 'text';
  }
}

const arrayType = (element: Schema): string =>
  ['array', 'map', 'struct', 'point', 'geometry'].includes(sourceKind(element)) ? 'jsonb' : `${fromKind(element)}[]`;

/** numeric(p,s) where the precision is known; else without limit, since a guess could cut. */
function decimalType(schema: Schema): string {
  const precision = Number(schema.parameters?.['connect.decimal.precision']);
  const scale = decimalScale(schema);
  return Number.isInteger(precision) && precision >= 1 && precision <= 1000
    ? `numeric(${precision},${scale})`
    : 'numeric';
}

const typeOf = (wanted: WantedColumn): string =>
  wanted.input.from === 'kafka'
    ? KAFKA_TYPES[wanted.input.index]!
    : columnType({ name: wanted.name, schema: wanted.field.schema });

export const tableSql = (name: TableName): string =>
  name.schema === null ? quoteIdentifier(name.table) : `${quoteIdentifier(name.schema)}.${quoteIdentifier(name.table)}`;

export const createSchemaSql = (schema: string): string => `create schema if not exists ${quoteIdentifier(schema)}`;

export function createTableSql(name: TableName, wanted: readonly WantedColumn[]): string {
  // Only the key: a column that may not be null today may be null after a change at the source.
  const columns = wanted.map(w => `${quoteIdentifier(w.name)} ${typeOf(w)}${w.isKey ? ' not null' : ''}`);
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
  const parts = missing.map(w => `add column if not exists ${quoteIdentifier(w.name)} ${typeOf(w)}${defaultOf(w)}`);
  return `alter table ${table.sql} ${parts.join(', ')}`;
}

/** The default of the schema: rows that are there already have it at their source. */
function defaultOf(wanted: WantedColumn): string {
  const { schema } = wanted.field;
  if (schema === null || schema.defaultValue === undefined || schema.defaultValue === null) return '';
  const kind = sourceKind(schema);
  const text =
    kind === 'bytes'
      ? `\\x${Buffer.from(schema.defaultValue as Uint8Array).toString('hex')}`
      : kind === 'array'
        ? arrayLiteral(schema)(schema.defaultValue)
        : textOf(kind, schema)(schema.defaultValue);
  const literal = `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  return ` default ${literal}`;
}

/** Columns that have become too narrow for their fields, made wider; null where all are wide enough. */
export function widenColumnsSql(table: TargetTable, matched: readonly Matched<PgTypes>[]): string | null {
  const parts = matched.flatMap(({ wanted, column }) => {
    const wider = wanted.field.schema === null ? null : widerType(column, wanted.field.schema);
    return wider === null ? [] : [`alter column ${quoteIdentifier(column.name)} type ${wider}`];
  });
  return parts.length === 0 ? null : `alter table ${table.sql} ${parts.join(', ')}`;
}

export const widenSql = (table: TargetTable, { column, widerType }: ColumnTooNarrow): string =>
  `alter table ${table.sql} alter column ${quoteIdentifier(column)} type ${widerType}`;

/** Only a column of the same type can be the one that a field is the new name of. */
export function renameSql(table: TargetTable, gone: TargetColumn, wanted: WantedColumn): RenameStatements | null {
  const type = columnType({ name: wanted.name, schema: wanted.field.schema });
  if (shortType(type) !== shortType(gone.typeSql)) return null;
  const [from, to] = [gone.name, wanted.name].map(quoteIdentifier);
  return {
    rename: `ALTER TABLE ${table.sql} RENAME COLUMN ${from} TO ${to}`,
    add: `ALTER TABLE ${table.sql} ADD COLUMN ${to} ${type}`,
    copy: `UPDATE ${table.sql} SET ${to} = ${from} WHERE ${to} IS NULL`,
  };
}

/** Without modifiers, under the short one of its names. */
const shortType = (type: string): string =>
  type
    .replace(/\(.*?\)/, '')
    .replace(' without time zone', '')
    .replace(' with time zone', 'tz')
    .replace('character varying', 'varchar')
    .replace('bit varying', 'varbit');

function widerType(column: TargetColumn, schema: Schema): string | null {
  const kind = sourceKind(schema);
  switch (column.typeName) {
    case 'int2':
      if (kind !== 'integer') return null;
      return schema.type === 'INT64' ? 'bigint' : schema.type === 'INT32' ? 'integer' : null;
    case 'int4':
      return kind === 'integer' && schema.type === 'INT64' ? 'bigint' : null;
    case 'float4':
      return kind === 'float' && schema.type === 'FLOAT64' ? 'double precision' : null;
    case 'varchar': {
      if (kind !== 'string' || column.modifier < 4) return null;
      const length = parameterNumber(schema, 'length');
      return length !== null && length > column.modifier - 4
        ? length > 10_485_760
          ? 'text'
          : `varchar(${length})`
        : null;
    }
    case 'numeric':
      return column.modifier < 4 ? null : widerNumeric(column, schema);
    default:
      return null;
  }
}

function widerNumeric(column: TargetColumn, schema: Schema): string | null {
  const kind = sourceKind(schema);
  if (kind === 'variableScaleDecimal') return 'numeric';
  if (kind !== 'decimal') return null;
  const scale = decimalScale(schema);
  const precision = Number(schema.parameters?.['connect.decimal.precision']);
  const hereScale = numericScale(column.modifier)!;
  const hereWhole = ((column.modifier - 4) >> 16) - hereScale;
  if (!Number.isInteger(precision)) return scale > hereScale ? 'numeric' : null;
  const whole = Math.max(hereWhole, precision - scale);
  const widerScale = Math.max(hereScale, scale);
  if (whole === hereWhole && widerScale === hereScale) return null;
  return whole + widerScale <= 1000 ? `numeric(${whole + widerScale},${widerScale})` : 'numeric';
}
