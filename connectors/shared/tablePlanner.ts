/**
 * Finds the plan for a run of records and a table, reads tables from the catalog once, and creates or changes them where the config allows it.
 * DDL runs by itself, never beside data: everything written before is flushed first.
 */
import { isDeepStrictEqual } from 'node:util';
import { ConnectError, type Logger } from '../../runtime/api/index.ts';
import type { Schema } from '../../schemas/data/index.ts';
import { DELETED_FIELD } from './changeEnvelope.ts';
import type { ChangeRun } from './changeRun.ts';
import type { ColumnTooNarrow } from './columnTooNarrow.ts';
import type { Retry } from './retryTransient.ts';
import {
  checkRequired,
  type Matched,
  makePlan,
  matchColumns,
  type RowPlan,
  type WantedColumn,
  wantedColumns,
} from './rowPlan.ts';
import type { ShapeList } from './rowShape.ts';
import type { SqlDialect } from './sqlDialect.ts';
import type { SqlSinkSettings } from './sqlSinkConfig.ts';
import type { SqlTable, SqlTypes } from './sqlTypes.ts';
import type { TableName } from './tableName.ts';

const MAX_PLANS = 1000;
const MAX_ADD_TRIES = 5;
/** A table is looked at no more often for the sake of values that do not fit. */
const RECHECK_MS = 1000;

const columnsId = (run: ChangeRun, table: SqlTable): string => `${table.id}:${run.batch.topic}`;

export class TablePlanner<S extends SqlTypes> {
  readonly #dialect: SqlDialect<S>;
  readonly #settings: SqlSinkSettings;
  readonly #shapes: ShapeList<S>;
  readonly #retry: Retry;
  readonly #drain: () => Promise<void>;
  readonly #logger: Logger;
  readonly #tables = new Map<string, S['table']>();
  readonly #plans = new Map<string, RowPlan<S>>();
  /** By topic and table: the columns that records had last. */
  readonly #lastColumns = new Map<string, readonly S['column'][]>();
  /** By table: when it was read again for a value that did not fit. */
  readonly #checkedMs = new Map<string, number>();
  /** By table: the name that it was found by. */
  readonly #spellings = new Map<string, string>();
  readonly #schemaIds = new WeakMap<Schema, number>();
  #nextSchemaId = 1;

  constructor(options: {
    dialect: SqlDialect<S>;
    settings: SqlSinkSettings;
    shapes: ShapeList<S>;
    retry: Retry;
    /** Flushes what was collected so far. */
    drain: () => Promise<void>;
    logger: Logger;
  }) {
    this.#dialect = options.dialect;
    this.#settings = options.settings;
    this.#shapes = options.shapes;
    this.#retry = options.retry;
    this.#drain = options.drain;
    this.#logger = options.logger;
  }

  /** null = there is nothing to do: only deletions, from a table that is still to be created. */
  async plan(run: ChangeRun, name: TableName): Promise<RowPlan<S> | null> {
    const id = this.#planId(run, name);
    const known = this.#plans.get(id);
    if (known) return known;
    const plan = await this.#makePlan(run, name);
    if (plan === null) return null;
    if (this.#plans.size >= MAX_PLANS) this.#plans.clear();
    this.#plans.set(id, plan);
    return plan;
  }

  /** Makes a column wider, and plans anew. */
  async widen(run: ChangeRun, name: TableName, plan: RowPlan<S>, tooNarrow: ColumnTooNarrow): Promise<RowPlan<S>> {
    const sql = this.#dialect.widenSql?.(plan.table, tooNarrow);
    if (sql === undefined) throw tooNarrow;
    await this.#change(name, sql);
    return (await this.plan(run, name)) ?? plan;
  }

  /** For a value that does not fit: the plan for the table as it is now, if it was changed since it was read. Null = it is the same, or was looked at a moment ago. */
  async changed(run: ChangeRun, name: TableName, plan: RowPlan<S>): Promise<RowPlan<S> | null> {
    const { id, columns } = plan.table;
    const now = performance.now();
    if (now - (this.#checkedMs.get(id) ?? Number.NEGATIVE_INFINITY) < RECHECK_MS) return null;
    this.#checkedMs.set(id, now);
    // Plans hold on to their table: they are made again only where it is another.
    const table = await this.#retry(() => this.#dialect.readTable(name));
    if (table === null || isDeepStrictEqual(table.columns, columns)) return null;
    await this.#readAgain(name);
    return this.plan(run, name);
  }

  #planId(run: ChangeRun, name: TableName): string {
    const { keySchema, valueSchema, topic } = run.batch;
    const names = (fields: ChangeRun['fields']): string => JSON.stringify(fields.map(f => f.name));
    const key = keySchema ? this.#schemaId(keySchema) : names(run.keyFields);
    const value = valueSchema ? this.#schemaId(valueSchema) : names(run.fields);
    return JSON.stringify([name.schema, name.table, topic, key, value, run.isEnvelope]);
  }

  #schemaId(schema: Schema): number {
    let id = this.#schemaIds.get(schema);
    if (id === undefined) {
      id = this.#nextSchemaId++;
      this.#schemaIds.set(schema, id);
    }
    return id;
  }

  async #makePlan(run: ChangeRun, name: TableName): Promise<RowPlan<S> | null> {
    const { topic } = run.batch;
    const wanted = wantedColumns(run, this.#settings);
    const hasRows = run.fields.length > 0;
    let table = await this.#table(name);
    if (table === null) {
      if (this.#settings.autoCreate && !hasRows) return null;
      if (!this.#settings.autoCreate)
        throw new ConnectError(
          'SINK_TABLE_MISSING',
          `table ${this.#dialect.tableSql(name)} does not exist; create it, correct table.name.format, or set auto.create=true`,
          { place: { topic, table: name.table } },
        );
      table = await this.#createTable(name, wanted);
    }
    let { matched, missing } = matchColumns<S>(wanted, table);
    if (missing.length > 0) {
      // The user may have added them since the table was read.
      table = (await this.#readAgain(name)) ?? table;
      ({ matched, missing } = matchColumns<S>(wanted, table));
    }
    if (missing.length > 0) {
      if (!this.#settings.autoEvolve)
        throw new ConnectError(
          'SINK_COLUMN_MISSING',
          `${table.name} has no column for ${missing.map(w => `"${w.name}"`).join(', ')}; add it, leave it out with field.exclude.list, or set auto.evolve=true`,
          { place: { topic, table: table.name, column: missing[0]!.name } },
        );
      this.#lookForRename(run, table, wanted, missing);
      // Another task that adds one of them at the same time makes the statement fail as a whole.
      for (let left = MAX_ADD_TRIES; missing.length > 0; left--) {
        const sql = this.#dialect.addColumnsSql(table, missing);
        if (left === 0)
          throw new ConnectError('SINK_DDL_FAILED', `${table.name} still lacks columns after ${sql}`, {
            place: { topic, table: table.name, column: missing[0]!.name },
          });
        table = await this.#change(name, sql);
        ({ matched, missing } = matchColumns<S>(wanted, table));
      }
    }
    const widen = this.#settings.autoEvolve ? this.#dialect.widenColumnsSql(table, matched) : null;
    if (widen !== null) {
      table = await this.#change(name, widen);
      matched = matchColumns<S>(wanted, table).matched;
    }
    return this.#checkedPlan(run, table, matched);
  }

  #checkedPlan(run: ChangeRun, table: S['table'], matched: readonly Matched<S>[]): RowPlan<S> {
    const plan = makePlan(run, table, matched, this.#settings, this.#shapes, this.#dialect);
    if (run.fields.length > 0 && this.#settings.insertMode !== 'update') checkRequired(plan, run.batch.topic);
    if (run.fields.length > 0) {
      this.#lastColumns.set(
        columnsId(run, table),
        matched.map(({ column }) => column),
      );
    }
    return plan;
  }

  /**
   * A field comes where one of the same type goes: a column was renamed, and rows that are there must keep their values, or one was added and another
   * dropped. The records do not tell. With a default, rows would take it in place of their values: that is refused; without one they are left to be copied.
   */
  #lookForRename(
    run: ChangeRun,
    table: S['table'],
    wanted: readonly WantedColumn[],
    missing: readonly WantedColumn[],
  ): void {
    const { renameSql } = this.#dialect;
    if (renameSql === undefined) return;
    const names = new Set(matchColumns<S>(wanted, table).matched.map(({ column }) => column.name));
    const gone = (this.#lastColumns.get(columnsId(run, table)) ?? []).filter(column => !names.has(column.name));
    for (const want of missing) {
      const hasDefault = (want.field.schema?.defaultValue ?? null) !== null;
      const choices = gone.map(column => ({ column, choice: renameSql(table, column, want) }));
      if (gone.length > 0 && choices.every(({ choice }) => choice === null)) {
        this.#logger.warn(
          { table: table.name, column: want.name, gone: gone.map(column => column.name) },
          `a column is added while others of other types are gone from the records; if one was renamed and its type changed, the rows that are there have ${hasDefault ? 'the default' : 'NULL'} in it, and their values stay in the old column`,
        );
      }
      for (const { column, choice } of choices) {
        if (choice === null) continue;
        if (!hasDefault) {
          this.#logger.warn(
            { table: table.name, column: want.name, gone: column.name, statement: choice.copy },
            'a column is added where one of the same type is gone from the records; if it was renamed, the statement gives the rows that are there their values',
          );
          continue;
        }
        throw new ConnectError(
          'SINK_COLUMN_RENAMED',
          `field "${want.name}" with a default is new and "${column.name}" of the same type is gone: if it was renamed, run ${choice.rename}; if it was added, ${choice.add} with its default; then restart the task`,
          { place: { topic: run.batch.topic, table: table.name, column: want.name } },
        );
      }
    }
  }

  async #table(name: TableName): Promise<S['table'] | null> {
    const id = this.#dialect.tableSql(name);
    const known = this.#tables.get(id);
    if (known) return known;
    const table = await this.#retry(() => this.#dialect.readTable(name));
    if (table) {
      this.#checkSpelling(table, name.table);
      this.#tables.set(id, table);
    }
    return table;
  }

  /** A table is found by a name that differs by case, too, but not by several that do: their rows would be mixed. */
  #checkSpelling(table: S['table'], name: string): void {
    const other = this.#spellings.get(table.id);
    if (other !== undefined && other !== name && other.toLowerCase() === name.toLowerCase()) {
      throw new ConnectError(
        'SINK_TABLE_NAME',
        `the tables "${other}" and "${name}" of the records differ only by case, and both go to ${table.name}; create a table for the other one, or tell their topics apart with topics.to.tables.mapping`,
        { place: { table: table.name } },
      );
    }
    this.#spellings.set(table.id, name);
  }

  #readAgain(name: TableName): Promise<S['table'] | null> {
    this.#tables.delete(this.#dialect.tableSql(name));
    this.#plans.clear();
    return this.#table(name);
  }

  async #createTable(name: TableName, wanted: readonly WantedColumn[]): Promise<S['table']> {
    const columns = wanted.filter(w => w.name !== DELETED_FIELD);
    if (columns.some(w => w.field.schema === null && w.input.from !== 'kafka'))
      throw new ConnectError(
        'SINK_SCHEMA_NEEDED',
        `table ${this.#dialect.tableSql(name)} does not exist, and auto.create can not make it from records without schema; create it by hand, or use a converter that carries schemas`,
        { place: { table: name.table } },
      );
    const sql = this.#dialect.createTableSql(await this.#createSchema(name), columns);
    return this.#change(name, sql);
  }

  /** Makes the schema of a table to come where there is none. It is the exact one, or the only one that differs by case. */
  async #createSchema(name: TableName): Promise<TableName> {
    const { schema } = name;
    if (schema === null) return name;
    const found = await this.#retry(() => this.#dialect.readSchemaName(schema));
    if (found !== null) return { ...name, schema: found };
    await this.#runDdl(name, this.#dialect.createSchemaSql(schema));
    return name;
  }

  /** Runs DDL and reads the table anew. */
  async #change(name: TableName, sql: string): Promise<S['table']> {
    await this.#runDdl(name, sql);
    const table = await this.#readAgain(name);
    if (table) return table;
    throw new ConnectError('SINK_DDL_FAILED', `${this.#dialect.tableSql(name)} is not there after ${sql}`);
  }

  /** Another task may have been faster: what counts is what the table is afterwards. */
  async #runDdl(name: TableName, sql: string): Promise<void> {
    await this.#drain();
    this.#logger.info({ statement: sql }, 'changing the target as auto.create or auto.evolve ask');
    await this.#retry(() => this.#dialect.runDdl(sql)).catch(error => {
      const kind = this.#dialect.classifyDdl(error);
      if (kind === 'raced') return;
      const options = { cause: error, place: { table: name.table } };
      throw kind === 'privilege'
        ? new ConnectError(
            'SINK_PRIVILEGE',
            `the user of the sink may not run ${sql}: ${this.#dialect.reasonOf(error)}; grant it the right, or make the change yourself`,
            options,
          )
        : new ConnectError('SINK_DDL_FAILED', `${sql} failed: ${this.#dialect.reasonOf(error)}`, options);
    });
  }
}
