/** What differs between the databases that a SQL sink writes to, as the shared parts of a sink ask for it. */
import type { ConnectError } from '../../runtime/api/index.ts';
import type { FlushTarget } from './flushLane.ts';
import type { Matched, WantedColumn } from './rowPlan.ts';
import type { FindCodec, SqlTypes } from './sqlTypes.ts';
import type { TableName } from './tableName.ts';

/** Tables and their DDL. */
export interface SqlDialect<S extends SqlTypes> {
  readonly columnCodec: FindCodec<S>;
  /** The table of that name (the exact one, else the only one that differs by case), or null. */
  readTable(name: TableName): Promise<S['table'] | null>;
  /** The schema as it is spelt in the target, the exact one first; null = there is none. */
  readSchemaName(schema: string): Promise<string | null>;
  tableSql(name: TableName): string;
  createSchemaSql(schema: string): string;
  createTableSql(name: TableName, wanted: readonly WantedColumn[]): string;
  /** Throws for a field that existing rows cannot have. */
  addColumnsSql(table: S['table'], missing: readonly WantedColumn[]): string;
  /** Columns that have become too narrow for their fields, made wider; null where all are wide enough. */
  widenColumnsSql(table: S['table'], matched: readonly Matched<S>[]): string | null;
  runDdl(sql: string): Promise<void>;
  /** `raced`: another task did the same at the same time. `privilege`: the user may not. */
  classifyDdl(error: unknown): 'raced' | 'privilege' | 'other';
  /** The database's reason without the values in it. */
  reasonOf(error: unknown): string;
}

/** A target that is being written to. */
export interface SqlTarget<S extends SqlTypes> {
  readonly dialect: SqlDialect<S>;
  readonly writer: FlushTarget;
  /** Connects, so that a wrong login is known at the start. */
  open(): Promise<void>;
  /** Drops the connection; what it is doing does not come about any more. */
  close(): Promise<void>;
  /** An error as the task fails with it. */
  asFailure(error: unknown): ConnectError;
}
