/** How the rows of one kind of record are written to one table: made once per (schemas, table), from columns to the fields that fill them. */
import { ConnectError } from '../../runtime/api/index.ts';
import { DELETED_FIELD } from './changeEnvelope.ts';
import type { ChangeRun, RunField } from './changeRun.ts';
import { matchColumn } from './columnMatch.ts';
import { mayLack } from './lackingValues.ts';
import type { RowShape, ShapeColumn, ShapeList } from './rowShape.ts';
import type { SqlDialect } from './sqlDialect.ts';
import type { SqlSinkSettings } from './sqlSinkConfig.ts';
import { columnsOf, type SqlTable, type SqlTypes } from './sqlTypes.ts';
import type { FieldWriter } from './tupleFields.ts';

/** Where the value of a column comes from: a field of the record key, of the row, or the record's place in Kafka. */
export interface ColumnInput {
  readonly from: 'key' | 'row' | 'kafka';
  /** Of the field; for `kafka` 0 = topic, 1 = partition, 2 = offset. */
  readonly index: number;
  readonly field: RunField;
}

export interface PlannedColumn<S extends SqlTypes = SqlTypes> extends ShapeColumn<S> {
  readonly input: ColumnInput;
  readonly write: FieldWriter;
  /** Written for a null; undefined = null stays null. */
  readonly nullDefault: unknown;
}

export interface RowPlan<S extends SqlTypes = SqlTypes> {
  readonly table: S['table'];
  readonly columns: readonly PlannedColumn<S>[];
  readonly keyCount: number;
  /** Indexes of the columns whose values can be the placeholder of one that the source did not send. */
  readonly mayLack: readonly number[];
  readonly write: RowShape<S>;
  /** null = rows cannot be deleted by this key. */
  readonly delete: RowShape<S> | null;
  readonly truncate: RowShape<S>;
  /** Shapes without the columns whose values the source did not send, by their indexes. */
  patch(left: readonly number[]): RowShape<S>;
}

/** A field as the table must have it: what automatic DDL works from. */
export interface WantedColumn {
  readonly field: RunField;
  readonly name: string;
  readonly isKey: boolean;
  readonly input: ColumnInput;
}

/** The fields of a run that are to become columns, the key first. Throws for a key that the records do not have. */
export function wantedColumns(run: ChangeRun, settings: SqlSinkSettings): readonly WantedColumn[] {
  const { topic } = run.batch;
  const wanted = keyInputs(run, settings).map(input => ({
    field: input.field,
    name: input.field.name,
    isKey: true,
    input,
  }));
  const taken = new Set(wanted.map(w => w.name));
  run.fields.forEach((field, index) => {
    if (taken.has(field.name) || !settings.includes(topic, field.name)) return;
    wanted.push({ field, name: field.name, isKey: false, input: { from: 'row', index, field } });
  });
  return wanted;
}

function keyInputs(run: ChangeRun, settings: SqlSinkSettings): readonly ColumnInput[] {
  const { keyFields } = settings;
  const pick = (from: 'key' | 'row', fields: readonly RunField[]): ColumnInput[] =>
    (keyFields.length === 0 ? fields.map(f => f.name) : keyFields).map(name => {
      const index = fields.findIndex(f => f.name === name);
      if (index < 0)
        throw new ConnectError(
          'SINK_KEY_MISSING',
          `pk.mode=${settings.keyMode} and pk.fields=${keyFields.join()} name "${name}", which the record ${from === 'key' ? 'key' : 'value'} does not have; its fields are ${fields.map(f => f.name).join(', ')}`,
          { place: { topic: run.batch.topic } },
        );
      return { from, index, field: fields[index]! };
    });
  switch (settings.keyMode) {
    case 'none':
      return [];
    case 'kafka':
      return keyFields.map((name, index) => ({ from: 'kafka', index, field: { name, schema: null } }));
    case 'record_value':
      return run.fields.length === 0 ? [] : pick('row', run.fields);
    case 'record_key': {
      const [only] = run.keyFields;
      if (only?.name !== '') return run.keyFields.length === 0 ? [] : pick('key', run.keyFields);
      if (keyFields.length !== 1)
        throw new ConnectError(
          'SINK_KEY_MISSING',
          `the record key is no struct: pk.fields must name the one column it goes to, but is "${keyFields.join()}"`,
          { place: { topic: run.batch.topic } },
        );
      return [{ from: 'key', index: 0, field: { name: keyFields[0]!, schema: only.schema } }];
    }
  }
}

export type Matched<S extends SqlTypes = SqlTypes> = { readonly wanted: WantedColumn; readonly column: S['column'] };

/** Columns for the wanted ones, and those that have none. Throws for two fields of one column. Flags of flattening transforms are wanted only where the table has them. */
export function matchColumns<S extends SqlTypes>(
  wanted: readonly WantedColumn[],
  table: S['table'],
): { matched: Matched<S>[]; missing: WantedColumn[] } {
  const matched: Matched<S>[] = [];
  const missing: WantedColumn[] = [];
  const takenBy = new Map<S['column'], string>();
  for (const want of wanted) {
    const column = matchColumn(columnsOf<S>(table), want.name);
    if (column === null) {
      if (want.name !== DELETED_FIELD) missing.push(want);
      continue;
    }
    const other = takenBy.get(column);
    if (other !== undefined)
      throw new ConnectError(
        'SINK_FIELDS_COLLIDE',
        `the fields "${other}" and "${want.name}" of the record both go to column "${column.name}" of ${table.name}; rename or drop one with a transform, leave it out with field.exclude.list, or create a column of its exact name`,
        { place: { table: table.name, column: column.name } },
      );
    takenBy.set(column, want.name);
    if (!column.isGenerated) matched.push({ wanted: want, column });
  }
  return { matched, missing };
}

export function makePlan<S extends SqlTypes>(
  run: ChangeRun,
  table: S['table'],
  matched: readonly Matched<S>[],
  settings: SqlSinkSettings,
  shapes: ShapeList<S>,
  dialect: Pick<SqlDialect<S>, 'columnCodec' | 'guardWidth'>,
): RowPlan<S> {
  const place = { topic: run.batch.topic, table: table.name };
  const planned = matched.map(({ wanted, column }): PlannedColumn<S> => {
    const codec = dialect.columnCodec(column, wanted.field.schema);
    if (codec === null)
      throw new ConnectError(
        'SINK_TYPE_MISMATCH',
        `field "${wanted.name}" of type ${describeType(wanted.field)} can not be written to column "${column.name}" of type ${column.displayType}`,
        { place: { ...place, column: column.name } },
      );
    const replaces = settings.replaceNullWithDefault && !run.isEnvelope && wanted.input.from === 'row';
    const nullDefault = replaces ? (wanted.field.schema?.defaultValue ?? undefined) : undefined;
    const { schema } = wanted.field;
    const write = (settings.autoEvolve && dialect.guardWidth?.(column, schema, codec.write)) || codec.write;
    return { column, codec, input: wanted.input, write, nullDefault };
  });
  const byPosition = (a: PlannedColumn<S>, b: PlannedColumn<S>): number => a.column.position - b.column.position;
  const isKey = new Set(matched.filter(m => m.wanted.isKey).map(m => m.column));
  const key = planned.filter(c => isKey.has(c.column)).sort(byPosition);
  const rest = planned.filter(c => !isKey.has(c.column)).sort(byPosition);
  const columns = [...key, ...rest];
  checkRights(table, settings, place);
  checkKeyIndex(table, key, settings, place);
  const write = shapes.add('write', table, key.length, columns);
  const patches = new Map<string, RowShape<S>>();
  return {
    table,
    columns,
    keyCount: key.length,
    mayLack: columns.flatMap(({ input }, at) => (input.from === 'row' && mayLack(input.field) ? [at] : [])),
    write,
    delete: key.length === 0 ? null : shapes.add('delete', table, key.length, key),
    truncate: shapes.add('truncate', table, 0, []),
    patch(left) {
      const id = left.join();
      let shape = patches.get(id);
      if (shape === undefined) {
        shape = shapes.add(
          'patch',
          table,
          key.length,
          columns.filter((_, at) => !left.includes(at)),
        );
        patches.set(id, shape);
      }
      return shape;
    },
  };
}

/** Rows that are inserted need every column that may not be null. Throws where the records can never have it. */
export function checkRequired(plan: RowPlan, topic: string): void {
  const given = new Set(plan.columns.map(c => c.column.name));
  const lacking = plan.table.columns.find(c => c.isNotNull && !c.hasDefault && !c.isGenerated && !given.has(c.name));
  if (lacking === undefined) return;
  throw new ConnectError(
    'SINK_COLUMN_REQUIRED',
    `column "${lacking.name}" of ${plan.table.name} is NOT NULL without default and the records have no such field; give it a default, or allow null`,
    { place: { topic, table: plan.table.name, column: lacking.name } },
  );
}

type Place = { topic: string; table: string };

function checkRights(table: SqlTable, settings: SqlSinkSettings, place: Place): void {
  const needed: [boolean, keyof SqlTable['rights']][] = [
    [settings.insertMode !== 'update', 'insert'],
    [settings.insertMode !== 'insert', 'update'],
    [settings.deleteEnabled, 'delete'],
    [settings.truncateEnabled, 'truncate'],
  ];
  const lacking = needed
    .filter(([isNeeded, right]) => isNeeded && !table.rights[right])
    .map(([, right]) => right.toUpperCase());
  if (lacking.length > 0)
    throw new ConnectError(
      'SINK_PRIVILEGE',
      `the user of the sink may not ${lacking.join(', ')} on ${table.name}: run GRANT ${lacking.join(', ')} ON ${table.sql} TO it`,
      { place },
    );
}

function checkKeyIndex(table: SqlTable, key: readonly ShapeColumn[], settings: SqlSinkSettings, place: Place): void {
  if (settings.insertMode === 'insert' || key.length === 0) return;
  const names = new Set(key.map(c => c.column.name));
  if (table.uniqueKeys.some(unique => unique.length === names.size && unique.every(name => names.has(name)))) return;
  const existing = table.uniqueKeys.map(unique => `(${unique.join(', ')})`).join(', ');
  throw new ConnectError(
    'SINK_KEY_INDEX_MISSING',
    `insert.mode=${settings.insertMode} needs a primary key or unique index on (${[...names].join(', ')}) of ${table.name}, which has ${existing === '' ? 'none' : existing}; create one, or correct pk.mode and pk.fields`,
    { place },
  );
}

export const describeType = (field: RunField): string =>
  field.schema === null ? 'JSON without schema' : (field.schema.name ?? field.schema.type);
