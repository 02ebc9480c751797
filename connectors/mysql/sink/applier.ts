/**
 * Writes rows of a log to the target: folds them by key, groups them by shape and runs what is left as one transaction of multi-row statements. An
 * update that leaves columns out is an UPDATE; for those that find no row, what is known of it is inserted.
 */
import type { Connection, ResultSetHeader } from 'mysql2/promise';
import {
  ConnectError,
  partitionOf,
  type SinkBatch,
  type SinkTaskContext,
  type TaskMetrics,
} from '../../../runtime/api/index.ts';
import type { FlushTarget } from '../../shared/flushLane.ts';
import { type FoldRules, type FoldStep, foldRows } from '../../shared/foldRows.ts';
import type { Advance } from '../../shared/offsetLedger.ts';
import { checkRefused, OffsetsRefused } from '../../shared/refusedOffsets.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';
import type { RowLog } from '../../shared/rowLog.ts';
import type { ShapeList } from '../../shared/rowShape.ts';
import type { InsertMode } from '../../shared/sqlSinkConfig.ts';
import {
  classifyMysqlFailure,
  DUPLICATE_ENTRY,
  FOREIGN_KEY_ERRORS,
  isErrno,
  reasonOf,
  refusedColumn,
  SUBQUERY_ROWS,
} from './mysqlFailure.ts';
import type { MysqlShape, MysqlTypes } from './mysqlTypes.ts';
import type { MysqlOffsets } from './offsetStore.ts';
import { type Counted, Script } from './script.ts';
import type { OpenSession, Session } from './session.ts';
import { addUpdates, deleteStatement, insertStatement, truncateSql, upsertStatement } from './statements.ts';

const FOLD_MODES: Readonly<Record<InsertMode, FoldRules['mode']>> = {
  insert: 'keep',
  upsert: 'merge',
  update: 'change',
};

type Tally = { written: number; updated: number; deleted: number; withoutMatch: number; patched: number };
const newTally = (): Tally => ({ written: 0, updated: 0, deleted: 0, withoutMatch: 0, patched: 0 });

export class Applier implements FlushTarget {
  readonly #session: Session;
  readonly #shapes: ShapeList<MysqlTypes>;
  readonly #mode: InsertMode;
  readonly #metrics: TaskMetrics;
  readonly #context: SinkTaskContext;
  readonly #offsets: MysqlOffsets | null;
  #script: Script | null = null;
  #scriptPacket = 0;

  constructor(options: {
    session: Session;
    shapes: ShapeList<MysqlTypes>;
    mode: InsertMode;
    offsets: MysqlOffsets | null;
    context: SinkTaskContext;
  }) {
    this.#session = options.session;
    this.#shapes = options.shapes;
    this.#mode = options.mode;
    this.#offsets = options.offsets;
    this.#metrics = options.context.metrics;
    this.#context = options.context;
  }

  classify(error: unknown): FailureClass {
    return classifyMysqlFailure(error);
  }

  /** With exactly-once offsets move on with the rows behind: nothing can be held back. */
  isCollision(error: unknown): boolean {
    if (this.#offsets !== null) return false;
    return (
      isErrno(error, ...FOREIGN_KEY_ERRORS) ||
      (this.#mode !== 'insert' && isErrno(error, DUPLICATE_ENTRY, SUBQUERY_ROWS))
    );
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    const { steps, foldedRows } = foldRows(log, from, to, {
      mode: FOLD_MODES[this.#mode],
      isComplete: shape => this.#shapes.get(shape).isComplete,
      merge: (rows, earlier, later) => this.#shapes.merge(rows, earlier, later),
    });
    const advances = this.#offsets?.ledger.advanceOf(log, from, to) ?? [];
    const tally = await this.#session.use(open => this.#transaction(open, log, steps, advances));
    this.#offsets?.ledger.committed(advances);
    this.#metrics.count('folded_records', foldedRows);
    this.#metrics.count('records_written', to - from);
    this.#metrics.count('bytes_written', log.ends[to - 1]! - log.starts[from]!);
    this.#metrics.count('rows_written', tally.written + tally.updated);
    this.#metrics.count('rows_deleted', tally.deleted);
    if (tally.withoutMatch > 0) this.#metrics.count('rows_without_match', tally.withoutMatch);
    if (tally.patched > 0) this.#metrics.count('rows_incomplete', tally.patched);
  }

  async #transaction(
    open: OpenSession,
    log: RowLog,
    steps: readonly FoldStep[],
    advances: readonly Advance[],
  ): Promise<Tally> {
    const { connection, server } = open;
    const script = this.#emptyScript(server.maxAllowedPacket);
    const tally = newTally();
    script.add('start transaction', null, 0);
    try {
      await this.#moveOffsets(connection, script, advances);
      for (const step of steps) await this.#addStep(connection, script, log, step, tally);
      script.add('commit', null, 0);
      count(await this.#run(connection, script), tally);
    } catch (error) {
      await this.#rollBack(connection, error);
      if (!(error instanceof OffsetsRefused)) throw error;
      // If it was committed, its counts were lost with the connection that it was committed on.
      await checkRefused(connection, this.#offsets!, advances);
    }
    return tally;
  }

  /** First of all, since nothing may be written where it fails. */
  async #moveOffsets(connection: Connection, script: Script, advances: readonly Advance[]): Promise<void> {
    if (this.#offsets === null || advances.length === 0) return;
    for (const advance of advances) script.add(this.#offsets.store.moveSql(advance), 'moved', 1);
    const results = await this.#run(connection, script);
    if (results.some(r => r.counter === 'moved' && r.touched !== 1)) throw new OffsetsRefused();
  }

  #emptyScript(maxAllowedPacket: number): Script {
    if (this.#script === null || this.#scriptPacket !== maxAllowedPacket) this.#script = new Script(maxAllowedPacket);
    this.#scriptPacket = maxAllowedPacket;
    this.#script.clear();
    return this.#script;
  }

  async #addStep(connection: Connection, script: Script, log: RowLog, step: FoldStep, tally: Tally): Promise<void> {
    for (const [shape] of this.#byShape(log, step.truncates)) script.add(truncateSql(shape), null, 0);
    // Children go before their parents, and come after them.
    for (const [shape, rows] of this.#byShape(log, step.deletes).sort(([a], [b]) => depthOf(b) - depthOf(a)))
      script.addRows(deleteStatement(shape), shape.keyCount, log, rows);
    for (const [shape, rows] of this.#byShape(log, step.writes).sort(([a], [b]) => depthOf(a) - depthOf(b))) {
      if (this.#mode === 'update') addUpdates(script, shape, log, rows);
      else if (this.#mode === 'insert') script.addRows(insertStatement(shape), shape.columns.length, log, rows);
      else if (shape.kind === 'patch') await this.#patch(connection, script, shape, log, rows, tally);
      else script.addRows(upsertStatement(shape), shape.columns.length, log, rows);
    }
  }

  /** Updates, then inserts what was not there. */
  async #patch(
    connection: Connection,
    script: Script,
    shape: MysqlShape,
    log: RowLog,
    rows: readonly number[],
    tally: Tally,
  ): Promise<void> {
    count(await this.#run(connection, script), tally);
    addUpdates(script, shape, log, rows);
    const results = await this.#run(connection, script);
    const missing = rows.filter((_, at) => results[at]!.touched === 0);
    tally.written += rows.length - missing.length;
    if (missing.length === 0) return;
    tally.patched += missing.length;
    script.addRows(insertStatement(shape), shape.columns.length, log, missing);
  }

  /** Runs what is collected; the rows that each statement touched. */
  async #run(connection: Connection, script: Script): Promise<readonly Result[]> {
    const { texts, counted } = script.take();
    const results: Result[] = [];
    for (const text of texts) {
      const [answer] = await connection.query<ResultSetHeader | ResultSetHeader[]>(text);
      for (const header of Array.isArray(answer) ? answer : [answer])
        results.push({ ...counted[results.length]!, touched: header.affectedRows });
    }
    this.#metrics.count('statements', counted.length);
    return results;
  }

  /** A connection that cannot even do that has rolled back by itself. */
  async #rollBack(connection: Connection, cause: unknown): Promise<void> {
    try {
      await connection.query('rollback');
    } catch (error) {
      this.#context.logger.debug({ reason: String(error), cause: reasonOf(cause) }, 'the connection is given up');
      this.#session.discard(connection);
    }
  }

  #byShape(log: RowLog, rows: readonly number[]): [MysqlShape, number[]][] {
    const groups = new Map<MysqlShape, number[]>();
    let lastShape = -1;
    let group: number[] = [];
    for (const row of rows) {
      if (log.shapes[row] !== lastShape) {
        lastShape = log.shapes[row]!;
        const shape = this.#shapes.get(lastShape);
        group = groups.get(shape) ?? [];
        groups.set(shape, group);
      }
      group.push(row);
    }
    return [...groups];
  }

  async reject(log: RowLog, row: number, error: unknown): Promise<void> {
    const batch = log.origins[log.originIds[row]!] as SinkBatch;
    const index = log.originIndexes[row]!;
    const { table } = this.#shapes.get(log.shapes[row]!);
    const refused = new ConnectError(
      'SINK_RECORD_REJECTED',
      `the target refused the record: ${reasonOf(error)}; correct the record or the table, or send such records to a dead letter queue with errors.tolerance=all`,
      {
        // No cause: its reason is in the message, and the rest of it holds values of the row.
        place: {
          ...partitionOf(batch),
          offset: batch.offset(index),
          table: table.name,
          column: refusedColumn(error, table.columns),
        },
      },
    );
    await this.#context.reportErrantRecord(batch.record(index), refused);
  }
}

const depthOf = (shape: MysqlShape): number => shape.table.foreignDepth;

interface Result extends Counted {
  readonly touched: number;
}

function count(results: readonly Result[], tally: Tally): void {
  for (const { counter, rows, touched } of results) {
    switch (counter) {
      case 'written':
        tally.written += rows;
        break;
      case 'deleted':
        tally.deleted += touched;
        break;
      case 'updated':
        tally.updated += touched;
        tally.withoutMatch += rows - touched;
        break;
      case 'moved':
      case null:
        break;
    }
  }
}
