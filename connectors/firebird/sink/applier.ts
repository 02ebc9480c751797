/**
 * Writes rows of a log to the target: folds them by key, groups them by shape, and sends each group through the server's batch interface, all in one
 * transaction; with exactly-once the offsets move in it too.
 */
import { ConnectError, partitionOf, type SinkBatch, type SinkTaskContext } from '../../../runtime/api/index.ts';
import type { FlushTarget } from '../../shared/flushLane.ts';
import { type FoldRules, type FoldStep, foldRows } from '../../shared/foldRows.ts';
import type { Advance } from '../../shared/offsetLedger.ts';
import { checkRefused, OffsetsRefused } from '../../shared/refusedOffsets.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';
import type { RowLog } from '../../shared/rowLog.ts';
import type { ShapeList } from '../../shared/rowShape.ts';
import type { InsertMode } from '../../shared/sqlSinkConfig.ts';
import type { Database, Transaction } from '../connection.ts';
import type { Session } from '../session.ts';
import type { FbShape, FbTypes } from './fbTypes.ts';
import { classifyFailure, reasonOf } from './firebirdFailure.ts';
import type { FirebirdOffsets } from './offsetStore.ts';
import { deleteSql, insertSql, rowParameters, truncateSql, updateSql, upsertSql } from './statements.ts';

const FOLD_MODES: Readonly<Record<InsertMode, FoldRules['mode']>> = {
  insert: 'keep',
  upsert: 'merge',
  update: 'change',
};
const WRITES: Readonly<Record<InsertMode, (shape: FbShape) => string>> = {
  insert: insertSql,
  upsert: upsertSql,
  update: updateSql,
};

export class Applier implements FlushTarget {
  readonly #session: Session;
  readonly #shapes: ShapeList<FbTypes>;
  readonly #mode: InsertMode;
  readonly #offsets: FirebirdOffsets | null;
  readonly #context: SinkTaskContext;

  constructor(options: {
    session: Session;
    shapes: ShapeList<FbTypes>;
    mode: InsertMode;
    /** null = at least once. */
    offsets: FirebirdOffsets | null;
    context: SinkTaskContext;
  }) {
    this.#session = options.session;
    this.#shapes = options.shapes;
    this.#mode = options.mode;
    this.#offsets = options.offsets;
    this.#context = options.context;
  }

  classify(error: unknown): FailureClass {
    return classifyFailure(error);
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    const { metrics } = this.#context;
    const { steps, foldedRows } = foldRows(log, from, to, {
      mode: FOLD_MODES[this.#mode],
      isComplete: shape => this.#shapes.get(shape).isComplete,
      merge: (rows, earlier, later) => this.#shapes.merge(rows, earlier, later),
    });
    const advances = this.#offsets?.ledger.advanceOf(log, from, to) ?? [];
    await this.#session.use(database => this.#transaction(database, log, steps, advances));
    this.#offsets?.ledger.committed(advances);
    metrics.count('folded_records', foldedRows);
    metrics.count('records_written', to - from);
    metrics.count('bytes_written', log.ends[to - 1]! - log.starts[from]!);
  }

  async #transaction(
    database: Database,
    log: RowLog,
    steps: readonly FoldStep[],
    advances: readonly Advance[],
  ): Promise<void> {
    const transaction = await database.transactionAsync();
    try {
      // First of all, since nothing may be written where it fails.
      await this.#offsets?.store.moveIn(transaction, advances);
      for (const step of steps) await this.#apply(transaction, log, step);
      await transaction.commitAsync();
    } catch (error) {
      await transaction.rollbackAsync().catch(() => {
        // The connection is lost, and with it the transaction.
      });
      if (!(error instanceof OffsetsRefused)) throw error;
      // It was committed before, on a connection that was lost then, or another task has the partition.
      await checkRefused(database, this.#offsets!, advances);
    }
  }

  async #apply(transaction: Transaction, log: RowLog, step: FoldStep): Promise<void> {
    const { metrics } = this.#context;
    for (const [shape] of this.#byShape(log, step.truncates)) await transaction.queryAsync(truncateSql(shape));
    for (const [shape, rows] of this.#byShape(log, step.deletes)) {
      metrics.count('rows_deleted', await batch(transaction, deleteSql(shape), shape, log, rows, false));
    }
    for (const [shape, rows] of this.#byShape(log, step.writes)) {
      const isUpdate = this.#mode === 'update';
      const touched = await batch(transaction, WRITES[this.#mode](shape), shape, log, rows, isUpdate);
      metrics.count('rows_written', touched);
      if (isUpdate) metrics.count('rows_without_match', rows.length - touched);
    }
  }

  #byShape(log: RowLog, rows: readonly number[]): Map<FbShape, number[]> {
    const groups = new Map<FbShape, number[]>();
    for (const row of rows) {
      const shape = this.#shapes.get(log.shapes[row]!);
      const group = groups.get(shape);
      if (group === undefined) groups.set(shape, [row]);
      else group.push(row);
    }
    return groups;
  }

  async reject(log: RowLog, row: number, error: unknown): Promise<void> {
    const of = log.origins[log.originIds[row]!] as SinkBatch;
    const index = log.originIndexes[row]!;
    const { table } = this.#shapes.get(log.shapes[row]!);
    const refused = new ConnectError(
      'SINK_RECORD_REJECTED',
      `the target refused the record: ${reasonOf(error)}; correct the record or the table, or send such records to a dead letter queue with errors.tolerance=all`,
      // No cause: its reason is in the message, and the rest of it holds values of the row.
      { place: { ...partitionOf(of), offset: of.offset(index), table: table.name } },
    );
    await this.#context.reportErrantRecord(of.record(index), refused);
  }
}

/** Number of rows touched. */
async function batch(
  transaction: Transaction,
  sql: string,
  shape: FbShape,
  log: RowLog,
  rows: readonly number[],
  isKeyLast: boolean,
): Promise<number> {
  const parameters = rows.map(row => rowParameters(shape, log, row, isKeyLast));
  const result = await transaction.executeBatchAsync(sql, parameters, { multiError: false });
  const [failed] = result.errors;
  if (failed !== undefined) throw failed.error;
  if (!result.success)
    throw new ConnectError('SINK_WRITE_FAILED', `the target refused a batch without a reason: ${sql}`);
  return result.updateCounts.reduce((sum, count) => sum + Math.max(count, 0), 0);
}
