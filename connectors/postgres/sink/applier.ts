/**
 * Writes rows of a log to the target: folds them by key, groups them by shape and runs what is left as one transaction in one round trip.
 * Rows that may be new go by COPY as long as their keys are new here; a key that is there already (a replay, a change in a flat record) costs one
 * more try without COPY, and a number of flushes without it.
 */
import type { Client } from 'pg';
import {
  ConnectError,
  partitionOf,
  type SinkBatch,
  type SinkTaskContext,
  type TaskMetrics,
} from '../../../runtime/api/index.ts';
import type { FlushTarget } from '../../shared/flushLane.ts';
import { type FoldRules, type FoldStep, foldRows } from '../../shared/foldRows.ts';
import type { Advance, OffsetLedger } from '../../shared/offsetLedger.ts';
import type { FailureClass } from '../../shared/retryTransient.ts';
import { type RowLog, RowOp } from '../../shared/rowLog.ts';
import type { ShapeList } from '../../shared/rowShape.ts';
import type { InsertMode } from '../../shared/sqlSinkConfig.ts';
import type { CopyTrust } from './copyTrust.ts';
import type { OffsetStore } from './offsetStore.ts';
import {
  classifyPgFailure,
  EXCLUSION_VIOLATION,
  FOREIGN_KEY_VIOLATION,
  isState,
  reasonOf,
  refusedColumn,
  UNIQUE_VIOLATION,
} from './pgFailure.ts';
import type { PgShape, PgTypes } from './pgTypes.ts';
import { runScript, type Statement } from './script.ts';
import type { Session } from './session.ts';
import {
  arrayStatement,
  copyStatement,
  deleteSql,
  insertMissingSql,
  insertSql,
  truncateSql,
  updateSql,
  upsertSql,
} from './statements.ts';

const FOLD_MODES: Readonly<Record<InsertMode, FoldRules['mode']>> = {
  insert: 'keep',
  upsert: 'merge',
  update: 'change',
};
/** Below it an upsert takes no longer than COPY, and never has to be tried again. */
const MIN_COPY_ROWS = 64;

/** Of exactly-once delivery. */
export interface PgOffsets {
  readonly ledger: OffsetLedger;
  readonly store: OffsetStore;
}

/** What a statement's row count is added to. */
type Counter = 'written' | 'updated' | 'deleted' | 'patched' | null;
interface Script {
  readonly statements: Statement[];
  readonly counters: { counter: Counter; rows: number }[];
  /** Tables whose rows go by COPY in the hope that they are new. */
  readonly hopeful: Set<number>;
}

export class Applier implements FlushTarget {
  readonly #session: Session;
  readonly #shapes: ShapeList<PgTypes>;
  readonly #mode: InsertMode;
  readonly #metrics: TaskMetrics;
  readonly #context: SinkTaskContext;
  readonly #copyTrust: CopyTrust;
  readonly #offsets: PgOffsets | null;

  constructor(options: {
    session: Session;
    shapes: ShapeList<PgTypes>;
    mode: InsertMode;
    copyTrust: CopyTrust;
    offsets: PgOffsets | null;
    context: SinkTaskContext;
  }) {
    this.#session = options.session;
    this.#shapes = options.shapes;
    this.#mode = options.mode;
    this.#copyTrust = options.copyTrust;
    this.#offsets = options.offsets;
    this.#metrics = options.context.metrics;
    this.#context = options.context;
  }

  classify(error: unknown): FailureClass {
    return classifyPgFailure(error);
  }

  /** With exactly-once offsets move on with the rows behind: nothing can be held back. */
  isCollision(error: unknown): boolean {
    if (this.#offsets !== null) return false;
    return (
      isState(error, FOREIGN_KEY_VIOLATION) ||
      (this.#mode !== 'insert' && isState(error, UNIQUE_VIOLATION, EXCLUSION_VIOLATION))
    );
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    const { steps, foldedRows } = foldRows(log, from, to, {
      mode: FOLD_MODES[this.#mode],
      isComplete: shape => this.#shapes.get(shape).isComplete,
      merge: (rows, earlier, later) => this.#shapes.merge(rows, earlier, later),
    });
    const advances = this.#offsets?.ledger.advanceOf(log, from, to) ?? [];
    const script = await this.#session.use(client =>
      this.#run(client, log, steps, advances, true).catch(error => {
        if (!(error instanceof CopyRefused)) throw error;
        return this.#run(client, log, steps, advances, false);
      }),
    );
    this.#offsets?.ledger.committed(advances);
    this.#metrics.count('folded_records', foldedRows);
    this.#metrics.count('records_written', to - from);
    this.#metrics.count('bytes_written', log.ends[to - 1]! - log.starts[from]!);
    this.#metrics.count('statements', script.statements.length);
  }

  async #run(
    client: Client,
    log: RowLog,
    steps: readonly FoldStep[],
    advances: readonly Advance[],
    mayCopy: boolean,
  ): Promise<Script> {
    const script: Script = { statements: [], counters: [], hopeful: new Set() };
    if (this.#offsets && advances.length > 0) {
      script.statements.push(this.#offsets.store.statement(advances));
      script.counters.push({ counter: null, rows: 0 });
    }
    for (const step of steps) this.#addStep(script, log, step, mayCopy);
    if (script.statements.length === 0) return script;
    let counts: readonly number[];
    try {
      counts = await runScript(client, script.statements);
    } catch (error) {
      if (this.#offsets?.store.isRefusal(error)) {
        // Its counts were lost with the connection that it was committed on.
        this.#offsets.ledger.checkCommitted(await this.#offsets.store.read(client, advances), advances);
        return script;
      }
      if (script.hopeful.size === 0 || !isState(error, UNIQUE_VIOLATION)) throw error;
      for (const table of script.hopeful) if (this.#copyTrust.failed(table)) this.#metrics.count('copy_fallbacks');
      throw new CopyRefused();
    }
    for (const table of script.hopeful) this.#copyTrust.succeeded(table);
    script.counters.forEach(({ counter, rows }, at) => {
      const touched = counts[at] ?? 0;
      if (counter === 'updated') this.#metrics.count('rows_without_match', rows - touched);
      if (counter === 'patched') this.#metrics.count('rows_incomplete', touched);
      if (counter === 'deleted') this.#metrics.count('rows_deleted', touched);
      if (counter === 'written' || counter === 'updated') this.#metrics.count('rows_written', touched);
    });
    return script;
  }

  #addStep(script: Script, log: RowLog, step: FoldStep, mayCopy: boolean): void {
    const add = (statement: Statement, counter: Counter, rows: number): void => {
      script.statements.push(statement);
      script.counters.push({ counter, rows });
    };
    for (const [shape] of this.#byShape(log, step.truncates))
      add({ sql: truncateSql(shape), params: [], copy: null }, null, 0);
    // Children go before their parents, and come after them.
    for (const [shape, rows] of this.#byShape(log, step.deletes).sort(([a], [b]) => depthOf(b) - depthOf(a)))
      add(arrayStatement(deleteSql(shape), shape, log, rows), 'deleted', rows.length);
    for (const [shape, rows] of this.#byShape(log, step.writes).sort(([a], [b]) => depthOf(a) - depthOf(b))) {
      if (this.#mode === 'update') {
        add(arrayStatement(updateSql(shape), shape, log, rows), 'updated', rows.length);
        continue;
      }
      if (this.#mode === 'insert') {
        add(this.#insert(shape, log, rows), 'written', rows.length);
        continue;
      }
      if (shape.kind === 'patch') {
        add(arrayStatement(updateSql(shape), shape, log, rows), 'written', rows.length);
        add(arrayStatement(insertMissingSql(shape), shape, log, rows), 'patched', rows.length);
        continue;
      }
      const created = mayCopy ? this.#worthCopying(shape, log, rows) : [];
      if (created.length > 0) {
        script.hopeful.add(shape.table.oid);
        add(copyStatement(shape, log, created), 'written', created.length);
      }
      const rest = created.length === 0 ? rows : rows.filter(row => log.ops[row] !== RowOp.create);
      if (rest.length > 0) add(arrayStatement(upsertSql(shape), shape, log, rest), 'written', rest.length);
    }
  }

  #insert(shape: PgShape, log: RowLog, rows: readonly number[]): Statement {
    return takesCopy(shape) ? copyStatement(shape, log, rows) : arrayStatement(insertSql(shape), shape, log, rows);
  }

  /** The rows that are most likely new, if COPY is possible and they are many. */
  #worthCopying(shape: PgShape, log: RowLog, rows: readonly number[]): readonly number[] {
    if (rows.length < MIN_COPY_ROWS || !takesCopy(shape)) return [];
    if (!this.#copyTrust.mayTry(shape.table.oid)) return [];
    const created = rows.filter(row => log.ops[row] === RowOp.create);
    return created.length >= MIN_COPY_ROWS ? created : [];
  }

  #byShape(log: RowLog, rows: readonly number[]): [PgShape, number[]][] {
    const groups = new Map<PgShape, number[]>();
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
    const { table, columns } = this.#shapes.get(log.shapes[row]!);
    const refused = new ConnectError(
      'SINK_RECORD_REJECTED',
      `the target refused the record: ${reasonOf(error)}; correct the record or the table, or send such records to a dead letter queue with errors.tolerance=all`,
      {
        // No cause: its reason is in the message, and the rest of it holds values of the row.
        place: {
          ...partitionOf(batch),
          offset: batch.offset(index),
          table: table.name,
          column: refusedColumn(
            error,
            columns.map(c => c.column),
          ),
        },
      },
    );
    await this.#context.reportErrantRecord(batch.record(index), refused);
  }
}

/** Never leaves this module. */
class CopyRefused extends Error {}

const depthOf = (shape: PgShape): number => shape.table.foreignDepth;

const takesCopy = (shape: PgShape): boolean =>
  shape.table.takesCopy && shape.columns.every(c => c.codec.cast === null) && shape.columns.length > 0;
