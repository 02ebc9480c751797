/**
 * A layout of a table's records as events: schemas, layouts, and writers of rows. One object per layout, so that compiled code and registered
 * schemas, which are found by identity, serve all its batches.
 */
import type { Schema, StructSchema } from '../../../schemas/data/index.ts';
import { envelopeSchema, keySchema, rowSchema } from '../../../schemas/envelope/debezium.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import type { ColumnLayout, Layout } from '../../../schemas/transcode/layout.ts';
import { adjustName, adjustSchemaName, topicName } from '../../shared/eventNames.ts';
import type { SourceSettings } from '../config.ts';
import type { LayoutColumn, RecordLayout } from '../journal/tableState.ts';
import type { ColumnType } from './columnForm.ts';
import { columnType } from './columnType.ts';
import { eventLayout, POSITION, SOURCE_SCHEMA } from './envelope.ts';

export interface VersionColumn {
  readonly column: LayoutColumn;
  readonly type: ColumnType;
  /** Index among the fields of the row; -1 = only a column of the key. */
  readonly field: number;
}

export interface TableVersion {
  readonly table: string;
  /** What records of transactions count changes under. */
  readonly fullName: string;
  readonly topic: string;
  readonly columns: readonly VersionColumn[];
  /** Indexes into `columns`. */
  readonly keyIndexes: readonly number[];
  readonly hasBlobs: boolean;
  readonly keySchema: StructSchema | null;
  readonly keyLayout: Layout | null;
  readonly envelope: StructSchema;
  readonly valueLayout: Layout;
}

export class TableVersions {
  readonly #settings: SourceSettings;
  readonly #versions = new WeakMap<RecordLayout, TableVersion>();
  readonly #isIncluded = new Map<string, boolean>();

  constructor(settings: SourceSettings) {
    this.#settings = settings;
  }

  includes(table: string): boolean {
    let is = this.#isIncluded.get(table);
    if (is === undefined) {
      is = this.#settings.tables(table);
      this.#isIncluded.set(table, is);
    }
    return is;
  }

  of(layout: RecordLayout): TableVersion {
    let version = this.#versions.get(layout);
    if (version === undefined) {
      version = buildVersion(layout, this.#settings);
      this.#versions.set(layout, version);
    }
    return version;
  }
}

function buildVersion(layout: RecordLayout, settings: SourceSettings): TableVersion {
  const { name, key } = layout.table;
  const keyNames = settings.keyColumns(name) ?? key;
  const columns: VersionColumn[] = [];
  let count = 0;
  for (const column of layout.columns) {
    if (column.isDropped) continue;
    const type = columnType(column.field, column.precision, settings.decimals);
    const isPublished = settings.columns(`${name}.${column.name}`);
    if (type === null || !(isPublished || keyNames.includes(column.name))) continue;
    columns.push({ column, type, field: isPublished ? count++ : -1 });
  }
  const topic = topicName([settings.prefix, name].join(settings.topicDelimiter));
  const schemaName = adjustSchemaName(topic, settings.schemaNames);
  const fields = columns.map(({ column, type }): [string, Schema] => [
    adjustName(column.name, settings.fieldNames),
    type.schema({ optional: !column.isNotNull }),
  ]);
  const keyIndexes = keyOf(name, key, columns, settings);
  const rowLayout = (slot: number, fieldOf: (index: number) => number): Layout => ({
    kind: 'row',
    slot,
    format: 'pg-copy',
    columns: columns.map(({ type }, index): ColumnLayout => {
      const field = fieldOf(index);
      return field < 0 ? { field: -1, column: { wire: 'skip' } } : { field, column: type.wire };
    }),
  });
  const whole = (slot: number): Layout => rowLayout(slot, index => columns[index]!.field);
  const hasKey = keyIndexes.length > 0;
  const published = fields.filter((_, index) => columns[index]!.field >= 0);
  const { prefix, database } = settings;
  const place = { prefix, database, table: name, hasTransactions: settings.transactionTopic !== null };
  return {
    table: name,
    fullName: name,
    topic,
    columns,
    keyIndexes,
    hasBlobs: columns.some(({ type }) => type.blob !== undefined),
    keySchema: hasKey
      ? keySchema(
          schemaName,
          keyIndexes.map(index => fields[index]!),
        )
      : null,
    keyLayout: hasKey ? rowLayout(POSITION.key, index => keyIndexes.indexOf(index)) : null,
    envelope: envelopeSchema(schemaName, rowSchema(schemaName, published), SOURCE_SCHEMA),
    valueLayout: eventLayout(place, whole(POSITION.before), whole(POSITION.after)),
  };
}

function keyOf(
  table: string,
  key: readonly string[],
  columns: readonly VersionColumn[],
  settings: SourceSettings,
): readonly number[] {
  const chosen = settings.keyColumns(table);
  const indexes = (chosen ?? key).map(name => columns.findIndex(({ column }) => column.name === name));
  const missing = indexes.indexOf(-1);
  if (missing === -1) return indexes;
  if (chosen === null) return [];
  throw new ConnectError(
    'CONFIG_INVALID',
    `message.key.columns names ${chosen[missing]}, which ${table} does not have or which has no form in events.`,
    { place: { table } },
  );
}
