/**
 * Finds the plan for a run of records and a table, reads tables from the catalog once, and creates or changes them where the config allows it.
 * DDL runs by itself, never beside data: everything written before is flushed first.
 */
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { DELETED_FIELD } from '../../shared/changeEnvelope.ts';
import type { ChangeRun } from '../../shared/changeRun.ts';
import type { Retry } from '../../shared/retryTransient.ts';
import type { SqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import type { TableName } from '../../shared/tableName.ts';
import { quoteIdentifier, readSchemaName, readTable, type TargetTable } from './catalog.ts';
import { isState, reasonOf } from './pgFailure.ts';
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
import type { Session } from './session.ts';
import {
  addColumnsSql,
  columnType,
  createSchemaSql,
  createTableSql,
  tableSql,
  widenColumnsSql,
  widenSql,
} from './tableDdl.ts';
import type { ColumnTooNarrow } from './widthGuard.ts';

/** Duplicate table, column, object, and unique violations of the catalog: another task did the same at the same time. */
const RACED = ['42P07', '42701', '42710', '23505', 'XX000'];
const MAX_PLANS = 1000;

/** Without modifiers, under the short one of its names. */
const shortType = (type: string): string =>
  type
    .replace(/\(.*?\)/, '')
    .replace(' without time zone', '')
    .replace(' with time zone', 'tz')
    .replace('character varying', 'varchar')
    .replace('bit varying', 'varbit');

const columnsId = (run: ChangeRun, table: TargetTable): string => `${table.oid}:${run.batch.topic}`;

export class Planner {
  readonly #session: Session;
  readonly #settings: SqlSinkSettings;
  readonly #shapes: ShapeList;
  readonly #retry: Retry;
  readonly #drain: () => Promise<void>;
  readonly #logger: Logger;
  readonly #tables = new Map<string, TargetTable>();
  readonly #plans = new Map<string, RowPlan>();
  /** By topic and table: the columns that records had last, with their types. */
  readonly #lastColumns = new Map<string, ReadonlyMap<string, string>>();
  readonly #schemaIds = new WeakMap<Schema, number>();
  #nextSchemaId = 1;

  constructor(options: {
    session: Session;
    settings: SqlSinkSettings;
    shapes: ShapeList;
    retry: Retry;
    /** Flushes what was collected so far. */
    drain: () => Promise<void>;
    logger: Logger;
  }) {
    this.#session = options.session;
    this.#settings = options.settings;
    this.#shapes = options.shapes;
    this.#retry = options.retry;
    this.#drain = options.drain;
    this.#logger = options.logger;
  }

  /** null = there is nothing to do: only deletions, from a table that is still to be created. */
  async plan(run: ChangeRun, name: TableName): Promise<RowPlan | null> {
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
  async widen(
    run: ChangeRun,
    name: TableName,
    plan: RowPlan,
    { column, widerType }: ColumnTooNarrow,
  ): Promise<RowPlan> {
    await this.#change(name, widenSql(plan.table, column, widerType));
    return (await this.plan(run, name)) ?? plan;
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

  async #makePlan(run: ChangeRun, name: TableName): Promise<RowPlan | null> {
    const { topic } = run.batch;
    const wanted = wantedColumns(run, this.#settings);
    const hasRows = run.fields.length > 0;
    let table = await this.#table(name);
    if (table === null) {
      if (this.#settings.autoCreate && !hasRows) return null;
      if (!this.#settings.autoCreate)
        throw new ConnectError(
          'SINK_TABLE_MISSING',
          `table ${tableSql(name)} does not exist; create it, correct table.name.format, or set auto.create=true`,
          { place: { topic, table: name.table } },
        );
      table = await this.#createTable(name, wanted);
    }
    let { matched, missing } = matchColumns(wanted, table);
    if (missing.length > 0) {
      // The user may have added them since the table was read.
      table = (await this.#readAgain(name)) ?? table;
      ({ matched, missing } = matchColumns(wanted, table));
    }
    if (missing.length > 0) {
      if (!this.#settings.autoEvolve)
        throw new ConnectError(
          'SINK_COLUMN_MISSING',
          `${table.name} has no column for ${missing.map(w => `"${w.name}"`).join(', ')}; add it, leave it out with field.exclude.list, or set auto.evolve=true`,
          { place: { topic, table: table.name, column: missing[0]!.name } },
        );
      this.#refuseRename(run, table, wanted, missing);
      table = await this.#change(name, addColumnsSql(table, missing));
      ({ matched, missing } = matchColumns(wanted, table));
    }
    const widen = this.#settings.autoEvolve ? widenColumnsSql(table, matched) : null;
    if (widen !== null) {
      table = await this.#change(name, widen);
      matched = matchColumns(wanted, table).matched;
    }
    return this.#checkedPlan(run, table, matched);
  }

  #checkedPlan(run: ChangeRun, table: TargetTable, matched: readonly Matched[]): RowPlan {
    const plan = makePlan(run, table, matched, this.#settings, this.#shapes);
    if (run.fields.length > 0 && this.#settings.insertMode !== 'update') checkRequired(plan, run.batch.topic);
    if (run.fields.length > 0) {
      const columns = new Map(matched.map(({ column }) => [column.name, shortType(column.typeSql)]));
      this.#lastColumns.set(columnsId(run, table), columns);
    }
    return plan;
  }

  /**
   * A field with a default comes where one of the same type goes: a column was renamed, and rows that are there must keep their values, or one was added
   * and another dropped, and they take the default. The records do not tell.
   */
  #refuseRename(
    run: ChangeRun,
    table: TargetTable,
    wanted: readonly WantedColumn[],
    missing: readonly WantedColumn[],
  ): void {
    const names = new Set(matchColumns(wanted, table).matched.map(({ column }) => column.name));
    const gone = [...(this.#lastColumns.get(columnsId(run, table)) ?? [])].filter(([column]) => !names.has(column));
    for (const { name, field } of missing) {
      const { schema } = field;
      if (schema === null || schema.defaultValue === undefined || schema.defaultValue === null) continue;
      const type = columnType({ name, schema });
      const twin = gone.find(([, goneType]) => goneType === shortType(type));
      if (twin === undefined) continue;
      const [from, to] = [twin[0], name].map(quoteIdentifier);
      throw new ConnectError(
        'SINK_COLUMN_RENAMED',
        `field "${name}" with a default is new and "${twin[0]}" of the same type is gone: if it was renamed, run ALTER TABLE ${table.sql} RENAME COLUMN ${from} TO ${to}; if it was added, ALTER TABLE ${table.sql} ADD COLUMN ${to} ${type} with its default; then restart the task`,
        { place: { topic: run.batch.topic, table: table.name, column: name } },
      );
    }
  }

  async #table(name: TableName): Promise<TargetTable | null> {
    const id = tableSql(name);
    const known = this.#tables.get(id);
    if (known) return known;
    const table = await this.#retry(() => this.#session.use(client => readTable(client, name)));
    if (table) this.#tables.set(id, table);
    return table;
  }

  #readAgain(name: TableName): Promise<TargetTable | null> {
    this.#tables.delete(tableSql(name));
    this.#plans.clear();
    return this.#table(name);
  }

  async #createTable(name: TableName, wanted: readonly WantedColumn[]): Promise<TargetTable> {
    const columns = wanted.filter(w => w.name !== DELETED_FIELD);
    const sql = createTableSql(await this.#createSchema(name), columns);
    return this.#change(name, sql);
  }

  /** Makes the schema of a table to come where there is none. It is the exact one, or the only one that differs by case. */
  async #createSchema(name: TableName): Promise<TableName> {
    const { schema } = name;
    if (schema === null) return name;
    const found = await this.#retry(() => this.#session.use(client => readSchemaName(client, schema)));
    if (found !== null) return { ...name, schema: found };
    await this.#runDdl(name, createSchemaSql(schema));
    return name;
  }

  /** Runs DDL and reads the table anew. */
  async #change(name: TableName, sql: string): Promise<TargetTable> {
    await this.#runDdl(name, sql);
    const table = await this.#readAgain(name);
    if (table) return table;
    throw new ConnectError('SINK_DDL_FAILED', `${tableSql(name)} is not there after ${sql}`);
  }

  /** Another task may have been faster: what counts is what the table is afterwards. */
  async #runDdl(name: TableName, sql: string): Promise<void> {
    await this.#drain();
    this.#logger.info({ statement: sql }, 'changing the target as auto.create or auto.evolve ask');
    await this.#retry(() => this.#session.use(client => client.query(sql))).catch(error => {
      if (isState(error, ...RACED)) return;
      const options = { cause: error, place: { table: name.table } };
      throw isState(error, '42501')
        ? new ConnectError(
            'SINK_PRIVILEGE',
            `the user of the sink may not run ${sql}: ${reasonOf(error)}; grant it the right, or make the change yourself`,
            options,
          )
        : new ConnectError('SINK_DDL_FAILED', `${sql} failed: ${reasonOf(error)}`, options);
    });
  }
}
