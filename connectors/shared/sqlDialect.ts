/** What differs between the databases that a SQL sink writes to, as the shared parts of a sink ask for it. */
import type { ConnectError, TopicPartition } from '../../runtime/api/index.ts';
import type { Schema } from '../../schemas/data/index.ts';
import type { ColumnTooNarrow } from './columnTooNarrow.ts';
import type { FlushTarget } from './flushLane.ts';
import type { Advance, LedgerRow, OffsetLedger } from './offsetLedger.ts';
import type { FailureClass } from './retryTransient.ts';
import type { Matched, WantedColumn } from './rowPlan.ts';
import type { FindCodec, SqlTypes } from './sqlTypes.ts';
import type { TableName } from './tableName.ts';
import type { FieldWriter } from './tupleFields.ts';

/** What a user runs where a column was renamed, added, or renamed and added already: for that, the new one gets the old one's values. */
export interface RenameStatements {
  readonly rename: string;
  readonly add: string;
  readonly copy: string;
}

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
  /** Where columns can be made wider for single values: the writer, or one that throws ColumnTooNarrow before it. */
  guardWidth?(column: S['column'], schema: Schema | null, write: FieldWriter): FieldWriter;
  widenSql?(table: S['table'], tooNarrow: ColumnTooNarrow): string;
  /** The statements between which only the user can choose, if a column that is gone could be the new one by another name; null = it could not. */
  renameSql?(table: S['table'], gone: S['column'], wanted: WantedColumn): RenameStatements | null;
  runDdl(sql: string): Promise<void>;
  /** `raced`: another task did the same at the same time. `privilege`: the user may not. */
  classifyDdl(error: unknown): 'raced' | 'privilege' | 'other';
  /** The database's reason without the values in it. */
  reasonOf(error: unknown): string;
}

/** A target that is being written to. */
export interface SqlTarget<S extends SqlTypes> {
  readonly dialect: SqlDialect<S>;
  /** One for each connection that may write at the same time. */
  readonly writers: readonly FlushTarget[];
  classify(error: unknown): FailureClass;
  /** Deadlocks and their like: whoever is in the way goes on at once. */
  isContention(error: unknown): boolean;
  /** Of exactly-once delivery; null = at least once. */
  readonly ledger: OffsetLedger | null;
  /** Raises the fences of the partitions, and gives what is stored of them. */
  claimOffsets(partitions: readonly TopicPartition[]): Promise<readonly LedgerRow[]>;
  /** As a transaction of its own. */
  moveOffsets(advances: readonly Advance[]): Promise<void>;
  /** Connects, so that a wrong login is known at the start. */
  open(): Promise<void>;
  /** Drops the connections; what they are doing does not come about any more. */
  close(): Promise<void>;
  /** An error as the task fails with it. */
  asFailure(error: unknown): ConnectError;
}
