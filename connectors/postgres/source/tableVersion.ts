/**
 * A table as it is at one point of the log: schemas and layouts of its events. One object per version and form, so that compiled code and registered
 * schemas, which are found by identity, serve all its batches.
 */

import { ConnectError } from '../../../runtime/api/index.ts';
import { type Schema, type StructSchema, withOptions } from '../../../schemas/data/index.ts';
import { envelopeSchema, keySchema as keySchemaOf, rowSchema } from '../../../schemas/envelope/debezium.ts';
import type { ColumnLayout, Layout, RowFormat } from '../../../schemas/transcode/layout.ts';
import type { ColumnShape } from '../../shared/columnShaping.ts';
import { adjustName, adjustSchemaName, topicName } from '../../shared/eventNames.ts';
import type { SourceSettings } from '../config.ts';
import { columnDefault } from '../types/columnDefault.ts';
import type { ColumnType } from '../types/columnType.ts';
import { type CatalogType, resolveType } from '../types/resolveType.ts';
import { sourceTypeParameters } from '../types/sourceType.ts';
import { type CatalogTable, fullName } from './catalog.ts';
import { POSITION, SOURCE_SCHEMA, snapshotLayout, streamLayout } from './envelope.ts';

/** A column as the rows at hand carry it; what else is known comes from the catalogue of now. */
export interface RowColumn {
  readonly name: string;
  readonly typeOid: number;
  readonly typmod: number;
}

/** `copy`: rows of COPY BINARY; `binary` and `text`: pgoutput with and without its option binary. */
export type RowForm = 'copy' | 'binary' | 'text';

export interface TableVersion {
  readonly oid: number;
  readonly form: RowForm;
  readonly schema: string;
  readonly table: string;
  /** schema.table */
  readonly fullName: string;
  readonly topic: string;
  readonly keySchema: StructSchema | null;
  readonly envelope: StructSchema;
  readonly keyLayout: Layout | null;
  readonly valueLayout: Layout;
  /** For rows under a new key, whose missing values may be gone: null in a NOT NULL column is written as in `before`. */
  readonly keyChangeLayout: Layout;
  /** Number of columns of a row, and which of them make the key. */
  readonly columnCount: number;
  readonly keyIndexes: readonly number[];
  readonly publishedIndexes: readonly number[];
  /** Columns asked for, in row order, and whether each has to be cast to text: what a snapshot selects. */
  readonly rowColumns: readonly { readonly name: string; readonly typeOid: number; readonly isPublished: boolean }[];
  readonly select: readonly { readonly name: string; readonly isText: boolean }[];
}

interface ResolvedColumn {
  readonly name: string;
  readonly typeOid: number;
  readonly field: string;
  readonly type: ColumnType | null;
  readonly schema: Schema | null;
  readonly isPublished: boolean;
  readonly isRequired: boolean;
  readonly isText: boolean;
  readonly nullValue: unknown;
  readonly shape: ColumnShape | null;
  /** The declared length of a text, 0 = none. */
  readonly length: number;
  /** Of the field in rows; keys have none. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Thrown where a column has no binary reader: the stream must go on in text. */
export class NeedsTextForm extends Error {}

export function buildTableVersion(
  table: CatalogTable,
  rowColumns: readonly RowColumn[],
  relationKey: readonly string[],
  types: ReadonlyMap<number, CatalogType>,
  form: RowForm,
  settings: SourceSettings,
): TableVersion {
  const name = fullName(table);
  const keyNames = keyColumns(table, rowColumns, relationKey, settings);
  const columns = rowColumns
    .map(column => resolveColumn(table, column, types, form, settings))
    // A snapshot selects only what it needs; a streamed row has all columns, and the others are stepped over.
    .filter(
      column => form !== 'copy' || (column.type !== null && (column.isPublished || keyNames.includes(column.name))),
    );

  const topic = topicName([settings.prefix, table.schema, table.name].join(settings.topicDelimiter));
  const schemaName = adjustSchemaName(topic, settings.schemaNames);
  const published = columns.filter(column => column.isPublished && column.schema !== null);
  const row = rowSchema(
    schemaName,
    published.map(column => [column.field, withParameters(column.schema!, column.parameters)]),
  );
  const indexes = keyNames.map(key => columns.findIndex(column => column.name === key && column.schema !== null));
  // A key column of a type that has no form in events leaves the table without key.
  const keyIndexes = indexes.includes(-1) ? [] : indexes;
  const keySchema =
    keyIndexes.length === 0
      ? null
      : keySchemaOf(
          schemaName,
          keyIndexes.map(i => [columns[i]!.field, columns[i]!.schema!]),
        );

  const format: RowFormat = form === 'copy' ? 'pg-copy' : 'pg-tuple';
  const rowLayout = (slot: number, isPartial: boolean): Layout => ({
    kind: 'row',
    slot,
    format,
    columns: columns.map(column => {
      const field = published.indexOf(column);
      return column.shape !== null && field >= 0
        ? shapedLayout(column, column.shape, field, form, isPartial)
        : columnLayout(column, field, form, isPartial);
    }),
  });
  const place = { prefix: settings.prefix, database: settings.database, schema: table.schema, table: table.name };
  const after = rowLayout(POSITION.after, false);
  const streamed = (row: Layout): Layout =>
    streamLayout(place, rowLayout(POSITION.before, true), row, settings.transactionMetadata);
  const keyLayout: Layout | null =
    keySchema === null
      ? null
      : {
          kind: 'row',
          slot: form === 'copy' ? POSITION.after : POSITION.key,
          format,
          columns: columns.map((column, at) => columnLayout(column, keyIndexes.indexOf(at), form, true)),
        };
  return {
    oid: table.oid,
    form,
    schema: table.schema,
    table: table.name,
    fullName: name,
    topic,
    keySchema,
    envelope: envelopeSchema(schemaName, row, SOURCE_SCHEMA),
    keyLayout,
    valueLayout: form === 'copy' ? snapshotLayout(place, after) : streamed(after),
    keyChangeLayout: streamed(rowLayout(POSITION.after, true)),
    columnCount: columns.length,
    keyIndexes,
    publishedIndexes: published.map(column => columns.indexOf(column)),
    rowColumns: columns.map(column => ({
      name: column.name,
      typeOid: column.typeOid,
      isPublished: published.includes(column) || keyIndexes.includes(columns.indexOf(column)),
    })),
    select: columns.map(({ name, isText }) => ({ name, isText })),
  };
}

function columnLayout(column: ResolvedColumn, field: number, form: RowForm, isPartial: boolean): ColumnLayout {
  const { type } = column;
  if (field < 0 || type === null) return { field: -1, column: { wire: 'skip' } };
  const isText = form === 'text' || column.isText;
  return {
    field,
    column: isText ? type.textWire : type.binaryWire!,
    unchanged: type.unchanged ?? (column.isRequired ? type.zero : null),
    ...(isPartial && column.isRequired && { nullValue: column.nullValue }),
  };
}

function shapedLayout(
  column: ResolvedColumn,
  shape: ColumnShape,
  field: number,
  form: RowForm,
  isPartial: boolean,
): ColumnLayout {
  const { fromText, fromBinary, unchanged } = column.type!;
  const isText = form === 'text' || column.isText;
  const read = (bytes: Buffer, start: number, end: number): unknown =>
    isText ? fromText(bytes.toString('utf8', start, end)) : fromBinary!(bytes, start, end);
  return {
    field,
    ...shape.layout({ read, unchanged, length: column.length }),
    ...(isPartial && column.isRequired && { nullValue: column.nullValue }),
  };
}

function withParameters(schema: Schema, parameters: Readonly<Record<string, string>>): Schema {
  if (Object.keys(parameters).length === 0) return schema;
  return withOptions(schema, { parameters: { ...schema.parameters, ...parameters } });
}

function resolveColumn(
  table: CatalogTable,
  column: RowColumn,
  types: ReadonlyMap<number, CatalogType>,
  form: RowForm,
  settings: SourceSettings,
): ResolvedColumn {
  // A column that was renamed or dropped since is optional, without default.
  const now = table.columns.find(c => c.name === column.name);
  const catalogType = types.get(column.typeOid);
  const type = catalogType === undefined ? null : resolveType(catalogType, column.typmod, settings.types);
  const isPublished = settings.columns(`${table.schema}.${table.name}.${column.name}`, table.schema);
  const isRequired = now?.isRequired ?? false;
  const defaultValue =
    type === null || now === undefined || now.typeOid !== column.typeOid
      ? undefined
      : columnDefault(now.defaultExpression, type);
  const isText = form === 'copy' && (type?.binaryWire == null || !catalogType!.isSendable);
  if (form === 'binary' && type !== null && type.binaryWire === null) {
    throw new NeedsTextForm(`${fullName(table)}.${column.name}`);
  }
  const schema = type === null ? null : type.schema({ optional: !isRequired, defaultValue });
  const columnName = `${fullName(table)}.${column.name}`;
  const shape = isPublished && schema !== null ? shapeOf(columnName, schema, settings) : null;
  return {
    name: column.name,
    typeOid: column.typeOid,
    field: adjustName(column.name, settings.fieldNames),
    type,
    schema,
    isPublished,
    isRequired,
    isText,
    nullValue: defaultValue ?? type?.zero,
    shape,
    length: catalogType?.name === 'varchar' || catalogType?.name === 'bpchar' ? Math.max(0, column.typmod - 4) : 0,
    parameters: {
      ...shape?.parameters,
      ...(catalogType !== undefined &&
        settings.shaping.tellsSourceType(columnName, fullName(table), catalogType.name) &&
        sourceTypeParameters(catalogType, column.typmod, column.name)),
    },
  };
}

/** Only texts can be masked, hashed or cut; to publish in full what was to be hidden would be worse than to stop. */
function shapeOf(column: string, schema: Schema, settings: SourceSettings): ColumnShape | null {
  const shape = settings.shaping.shape(column);
  if (shape === null || schema.type === 'STRING') return shape;
  if (shape.kind === 'truncate') return null;
  throw new ConnectError(
    'PG_MASK_INVALID',
    `A column.mask option matches ${column}, whose values are not texts but ${schema.type}. Leave the column out with column.exclude.list, or correct the option.`,
    { place: { column } },
  );
}

/** The key of now where the rows at hand have its columns, else the one the relation names. */
function keyColumns(
  table: CatalogTable,
  rowColumns: readonly RowColumn[],
  relationKey: readonly string[],
  settings: SourceSettings,
): readonly string[] {
  const isHere = (name: string): boolean => rowColumns.some(column => column.name === name);
  const chosen = settings.keyColumns(fullName(table));
  if (chosen !== null) {
    const missing = chosen.find(name => !isHere(name));
    if (missing === undefined) return chosen;
    throw new ConnectError(
      'PG_KEY_INVALID',
      `message.key.columns names "${missing}", which ${fullName(table)} does not have. Correct the option.`,
      { place: { table: fullName(table), column: missing } },
    );
  }
  return table.keyColumns.every(isHere) ? table.keyColumns : relationKey;
}
