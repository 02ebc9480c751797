/** The events of the schema change topic: their schemas, Debezium's, and a table's definition in their form. */
import {
  array,
  BOOLEAN,
  INT32,
  INT64,
  OPTIONAL_INT32,
  OPTIONAL_STRING,
  optional,
  type Schema,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../../schemas/data/index.ts';
import { NOW } from './parseColumn.ts';
import type { TableChange } from './schemaModel.ts';
import { type ColumnDefinition, isTextual, type TableDefinition, typeName } from './tableDefinition.ts';

const COLUMN = struct(
  [
    ['name', STRING],
    ['jdbcType', INT32],
    ['nativeType', OPTIONAL_INT32],
    ['typeName', STRING],
    ['typeExpression', OPTIONAL_STRING],
    ['charsetName', OPTIONAL_STRING],
    ['length', OPTIONAL_INT32],
    ['scale', OPTIONAL_INT32],
    ['position', INT32],
    ['optional', optional(BOOLEAN)],
    ['autoIncremented', optional(BOOLEAN)],
    ['generated', optional(BOOLEAN)],
    ['comment', OPTIONAL_STRING],
    ['defaultValueExpression', OPTIONAL_STRING],
    ['enumValues', optional(array(STRING))],
  ],
  { name: 'io.debezium.connector.schema.Column', version: 1 },
);
const TABLE = struct(
  [
    ['defaultCharsetName', OPTIONAL_STRING],
    ['primaryKeyColumnNames', optional(array(STRING))],
    ['columns', array(COLUMN)],
    ['comment', OPTIONAL_STRING],
  ],
  { name: 'io.debezium.connector.schema.Table', version: 1, optional: true },
);
const CHANGE = struct(
  [
    ['type', STRING],
    ['id', STRING],
    ['table', TABLE],
  ],
  { name: 'io.debezium.connector.schema.Change', version: 1 },
);

export const schemaChangeKey = (connector: string): StructSchema =>
  struct([['databaseName', STRING]], { name: `io.debezium.connector.${connector}.SchemaChangeKey`, version: 1 });

export const schemaChangeValue = (connector: string, source: Schema): StructSchema =>
  struct(
    [
      ['source', source],
      ['ts_ms', INT64],
      ['databaseName', OPTIONAL_STRING],
      ['schemaName', OPTIONAL_STRING],
      ['ddl', OPTIONAL_STRING],
      ['tableChanges', array(CHANGE)],
    ],
    { name: `io.debezium.connector.${connector}.SchemaChangeValue`, version: 1 },
  );

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function changeStruct(change: TableChange, keyColumns: readonly string[], hasComments: boolean): Struct {
  const { database, name } = change.table;
  const { definition } = change;
  const table = definition === null ? null : tableStruct(definition, keyColumns, hasComments);
  return new Struct(CHANGE, [change.type, `${quoted(database)}.${quoted(name)}`, table]);
}

const tableStruct = (table: TableDefinition, keyColumns: readonly string[], hasComments: boolean): Struct =>
  new Struct(TABLE, [
    table.charset,
    keyColumns,
    table.columns.map((column, i) => columnStruct(column, i + 1, hasComments)),
    hasComments ? table.comment : null,
  ]);

function columnStruct(column: ColumnDefinition, position: number, hasComments: boolean): Struct {
  // A column that the server changes by itself at each update passes for generated, as in Debezium.
  const isAutomatic = column.isAutoIncrement || column.isOnUpdate;
  const type = typeName(column);
  return new Struct(COLUMN, [
    column.name,
    jdbcType(column.type),
    null,
    type,
    type,
    isTextual(column.type) ? column.charset : null,
    column.length,
    column.scale,
    position,
    !column.isRequired,
    isAutomatic,
    isAutomatic,
    hasComments ? column.comment : null,
    column.defaultText === NOW ? '1970-01-01 00:00:00' : column.defaultText,
    column.values?.map(value => `'${value}'`) ?? null,
  ]);
}

/** Numbers of java.sql.Types, as Debezium gives them. */
function jdbcType(type: string): number {
  switch (type) {
    case 'TINYINT':
    case 'SMALLINT':
      return 5;
    case 'MEDIUMINT':
    case 'INT':
    case 'YEAR':
      return 4;
    case 'BIGINT':
      return -5;
    case 'DECIMAL':
      return 3;
    case 'FLOAT':
      return 6;
    case 'DOUBLE':
      return 8;
    case 'BIT':
      return -7;
    case 'CHAR':
    case 'ENUM':
    case 'SET':
      return 1;
    case 'VARCHAR':
    case 'TINYTEXT':
    case 'TEXT':
    case 'MEDIUMTEXT':
    case 'LONGTEXT':
      return 12;
    case 'BINARY':
      return -2;
    case 'VARBINARY':
      return -3;
    case 'TINYBLOB':
    case 'BLOB':
    case 'MEDIUMBLOB':
    case 'LONGBLOB':
      return 2004;
    case 'DATE':
      return 91;
    case 'TIME':
      return 92;
    case 'DATETIME':
      return 93;
    case 'TIMESTAMP':
      return 2014;
    default:
      return 1111;
  }
}
