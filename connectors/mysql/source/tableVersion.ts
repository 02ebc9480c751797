/**
 * A table as it is at one point of the log: schemas and layouts of its events, and how its rows lie. One object per version and form, so that compiled code
 * and registered schemas, which are found by identity, serve all its batches.
 */

import { ConnectError } from '../../../runtime/api/index.ts';
import { type Schema, type SchemaOptions, type StructSchema, withOptions } from '../../../schemas/data/index.ts';
import { envelopeSchema, keySchema as keySchemaOf, rowSchema } from '../../../schemas/envelope/debezium.ts';
import type { ColumnLayout, ColumnWire, Layout, RowFormat } from '../../../schemas/transcode/layout.ts';
import { sliceReader } from '../../../schemas/transcode/plainColumn.ts';
import { ViewCache } from '../../../schemas/transcode/viewCache.ts';
import type { ColumnShape } from '../../shared/columnShaping.ts';
import { adjustName, adjustSchemaName, topicName } from '../../shared/eventNames.ts';
import type { SourceSettings } from '../config.ts';
import { RowShape } from '../protocol/rowShape.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { ColumnDef } from '../types/columnDef.ts';
import type { ColumnType, ReadValue } from '../types/columnType.ts';
import type { DeclaredType } from '../types/declaredType.ts';
import { resolveType } from '../types/resolveType.ts';
import { type CatalogTable, fullName, type TableName } from './catalog.ts';
import { POSITION, SOURCE_SCHEMAS, snapshotLayout, streamLayout, type TransactionForm } from './envelope.ts';

const SOURCE_COLUMN = '__debezium.source.column';
const views = new ViewCache();

/** A column of the rows at hand. */
export interface RowColumn {
  readonly name: string;
  /** null = a type that is not read: an error unless nobody wants the column. */
  readonly def: ColumnDef | null;
  /** Bytes of a value, or, negative, of its length; only of rows of the log. */
  readonly extent: number;
  readonly declared: DeclaredType | null;
}

interface ResolvedColumn extends RowColumn {
  readonly field: string;
  readonly type: ColumnType | null;
  readonly schema: Schema | null;
  readonly isPublished: boolean;
  readonly shape: ColumnShape | null;
  /** What the schema of the field in rows says beyond the type; keys have none of it. */
  readonly options: SchemaOptions;
}

export class TableVersion {
  readonly database: string;
  readonly table: string;
  readonly fullName: string;
  readonly topic: string;
  readonly keySchema: StructSchema | null;
  readonly envelope: StructSchema;
  readonly keyLayout: Layout | null;
  readonly snapshotLayout: Layout;
  readonly shape: RowShape;
  readonly keyIndexes: readonly number[];
  readonly publishedIndexes: readonly number[];
  /** Whether writes, updates and deletes are left out: by RowKind. */
  readonly isSkipped: readonly boolean[];
  readonly jsonColumns: readonly number[];
  /** What a snapshot selects, in row order. */
  readonly select: readonly string[];
  private readonly rowLayout: (slot: number) => Layout;
  private readonly settings: SourceSettings;
  private readonly streamLayouts = new Map<string, Layout>();

  constructor(
    table: TableName,
    rowColumns: readonly RowColumn[],
    keyNames: readonly string[],
    catalog: CatalogTable | null,
    format: Extract<RowFormat, 'mysql-binlog' | 'mysql-text'>,
    settings: SourceSettings,
  ) {
    this.settings = settings;
    this.database = table.database;
    this.table = table.name;
    const skipped = settings.skippedOperations(fullName(table));
    this.isSkipped = ['c', 'u', 'd'].map(operation => skipped.has(operation));
    this.fullName = fullName(table);
    const columns = rowColumns.map(column => resolveColumn(this.fullName, column, keyNames, catalog, settings));
    const topic = topicName([settings.prefix, table.database, table.name].join(settings.topicDelimiter));
    this.topic = topic;
    const schemaName = adjustSchemaName(topic, settings.schemaNames);
    const published = columns.filter(column => column.isPublished);
    this.publishedIndexes = published.map(column => columns.indexOf(column));
    const row = rowSchema(
      schemaName,
      published.map(column => [column.field, rowFieldSchema(column)]),
    );
    this.keyIndexes = keyNames.map(name => columns.findIndex(column => column.name === name));
    const keys = this.keyIndexes.map(i => columns[i]!);
    this.keySchema =
      keys.length === 0
        ? null
        : keySchemaOf(
            schemaName,
            keys.map(column => [column.field, column.schema!]),
          );
    this.envelope = envelopeSchema(schemaName, row, SOURCE_SCHEMAS[settings.connector]);
    const layout = (slot: number, isKey: boolean, fieldOf: (column: ResolvedColumn) => number): Layout => ({
      kind: 'row',
      slot,
      format,
      columns: columns.map(column => columnLayout(column, fieldOf(column), format, isKey)),
    });
    this.rowLayout = slot => layout(slot, false, column => published.indexOf(column));
    this.keyLayout =
      this.keySchema === null
        ? null
        : layout(format === 'mysql-text' ? POSITION.after : POSITION.key, true, column => keys.indexOf(column));
    this.snapshotLayout = snapshotLayout(this.place, this.rowLayout(POSITION.after));
    this.jsonColumns = columns.flatMap((column, i) => (column.def?.kind === 'json' ? [i] : []));
    this.shape = new RowShape(columns.map(column => column.extent));
    this.select = columns.map(column => selectOf(column));
  }

  private get place() {
    const { connector, prefix } = this.settings;
    return { connector, prefix, database: this.database, table: this.table };
  }

  /** The layout for transactions of one form. */
  streamLayout(form: TransactionForm): Layout {
    const name = `${form.gtidPrefix} ${form.hasThread} ${form.idFile}`;
    let layout = this.streamLayouts.get(name);
    if (layout === undefined) {
      layout = streamLayout(this.place, this.rowLayout(POSITION.before), this.rowLayout(POSITION.after), form);
      this.streamLayouts.set(name, layout);
    }
    return layout;
  }
}

function columnLayout(column: ResolvedColumn, field: number, format: RowFormat, isKey: boolean): ColumnLayout {
  const { type, extent, def, shape, declared } = column;
  if (field < 0 || type === null) return { field: -1, column: { wire: 'skip' }, extent };
  const wire = format === 'mysql-text' ? type.text : type.binlog;
  const length = def!.kind === 'text' ? (declared?.length ?? 0) : 0;
  return {
    field,
    ...(shape === null || isKey ? { column: wire } : shape.layout({ read: textReader(column.schema!, wire), length })),
    extent,
    ...(def!.isRequired && { nullValue: type.zero }),
  };
}

/** The value that the column has without its shape: a text, in whatever form the row has it. */
function textReader(schema: Schema, wire: ColumnWire): ReadValue {
  const read = sliceReader(schema, wire);
  return (bytes, start, end) => read(bytes, views.of(bytes), start, end);
}

function rowFieldSchema({ schema, options }: ResolvedColumn): Schema {
  if (Object.keys(options).length === 0) return schema!;
  return withOptions(schema!, { ...options, parameters: { ...schema!.parameters, ...options.parameters } });
}

function resolveColumn(
  table: string,
  column: RowColumn,
  keyNames: readonly string[],
  catalog: CatalogTable | null,
  settings: SourceSettings,
): ResolvedColumn {
  const field = adjustName(column.name, settings.fieldNames);
  const isPublished = settings.columns(`${table}.${column.name}`);
  if (!isPublished && !keyNames.includes(column.name)) {
    return { ...column, field, type: null, schema: null, isPublished: false, shape: null, options: {} };
  }
  const type = column.def === null ? null : resolveType(column.def, settings.types);
  if (type === null) {
    const now = catalog?.columns.find(other => other.name === column.name)?.columnType;
    const what = column.def === null ? `the type ${now ?? 'unknown'}` : `the character set ${column.def.charset}`;
    throw new ConnectError(
      'MYSQL_COLUMN_UNSUPPORTED',
      `Column ${column.name} of ${table} has ${what}, which is not read. Leave it out with column.exclude.list.`,
      { place: { table, column: column.name } },
    );
  }
  const schema = type.schema({
    optional: !column.def!.isRequired,
    defaultValue: defaultOf(column, type, catalog),
  });
  const shape = isPublished ? shapeOf(`${table}.${column.name}`, schema, settings) : null;
  const options = optionsOf(table, column, shape, catalog, settings);
  return { ...column, field, type, schema, isPublished, shape, options };
}

/** Only texts can be masked, hashed or cut; to publish in full what was to be hidden would be worse than to stop. */
function shapeOf(column: string, schema: Schema, settings: SourceSettings): ColumnShape | null {
  const shape = settings.shaping.shape(column);
  if (shape === null || schema.type === 'STRING') return shape;
  if (shape.kind === 'truncate') return null;
  throw new ConnectError(
    'MYSQL_MASK_INVALID',
    `A column.mask option matches ${column}, whose values are not texts but ${schema.type}. Leave the column out with column.exclude.list, or correct the option.`,
    { place: { column } },
  );
}

function optionsOf(
  table: string,
  { name, declared }: RowColumn,
  shape: ColumnShape | null,
  catalog: CatalogTable | null,
  settings: SourceSettings,
): SchemaOptions {
  const comment = settings.hasComments ? (catalog?.columns.find(other => other.name === name)?.comment ?? null) : null;
  const parameters: Record<string, string> = { ...shape?.parameters };
  if (declared !== null && settings.shaping.tellsSourceType(`${table}.${name}`, table, declared.name)) {
    parameters[`${SOURCE_COLUMN}.type`] = declared.name;
    if (declared.length !== null) parameters[`${SOURCE_COLUMN}.length`] = String(declared.length);
    if (declared.scale !== null) parameters[`${SOURCE_COLUMN}.scale`] = String(declared.scale);
    parameters[`${SOURCE_COLUMN}.name`] = name;
  }
  if (comment !== null) parameters[`${SOURCE_COLUMN}.comment`] = comment;
  return {
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(comment !== null && { doc: comment }),
  };
}

/** From the catalogue of now, where the column is of the same kind there. */
function defaultOf(column: RowColumn, type: ColumnType, catalog: CatalogTable | null): unknown {
  const now = catalog?.columns.find(other => other.name === column.name);
  if (now?.defaultText == null || now.isDefaultExpression || now.def?.kind !== column.def?.kind) return undefined;
  try {
    const value = type.fromDefault(now.defaultText);
    return value ?? (column.def!.isRequired ? type.zero : undefined);
  } catch {
    // A default of a later version of the table, or in a form that is no constant: none is published.
    return undefined;
  }
}

function selectOf({ name, type }: ResolvedColumn): string {
  const column = quoteIdentifier(name);
  switch (type?.select) {
    case undefined:
      return 'NULL';
    case 'plain':
      return column;
    case 'double':
      return `${column} + 0e0`;
    case 'signed':
      return `CAST(${column} AS SIGNED)`;
    case 'number':
      return `${column} + 0`;
  }
}

/** The key that message.key.columns names, else the given one. */
export function chosenKey(
  table: TableName,
  columns: readonly RowColumn[],
  own: readonly string[],
  settings: SourceSettings,
): readonly string[] {
  const name = fullName(table);
  const chosen = settings.keyColumns(name);
  if (chosen === null) return own;
  const missing = chosen.find(key => !columns.some(column => column.name === key));
  if (missing === undefined) return chosen;
  throw new ConnectError(
    'MYSQL_KEY_INVALID',
    `message.key.columns names "${missing}", which ${name} does not have. Correct the option.`,
    { place: { table: name, column: missing } },
  );
}
