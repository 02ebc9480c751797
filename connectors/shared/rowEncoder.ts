/** Appends the records of a run to a row log: a tuple of column bytes each, by plan, without an object per row. */
import { ConnectError, partitionOf } from '../../runtime/api/index.ts';
import type { UnavailableValue } from './changeEnvelope.ts';
import { Change, type ChangeRun } from './changeRun.ts';
import { ColumnTooNarrow } from './columnTooNarrow.ts';
import { lacksValues } from './lackingValues.ts';
import { type RowLog, RowOp } from './rowLog.ts';
import type { PlannedColumn, RowPlan } from './rowPlan.ts';
import type { SqlSinkSettings } from './sqlSinkConfig.ts';
import { writeInt16, writeNull } from './tupleFields.ts';

export interface EncodeStop {
  /** Where to go on, relative to the run. */
  readonly next: number;
  /** The record before `next` could not be encoded. */
  readonly error: ConnectError | null;
  /** The record at `next` can be encoded when this column is wider. */
  readonly tooNarrow: ColumnTooNarrow | null;
}

/** Counted by the caller. */
export interface EncodeCounts {
  ignoredDeletes: number;
  ignoredTruncates: number;
  otherEvents: number;
}

type Column = readonly unknown[];

export class RowEncoder {
  readonly #settings: SqlSinkSettings;
  readonly #unavailable: UnavailableValue;
  readonly counts: EncodeCounts = { ignoredDeletes: 0, ignoredTruncates: 0, otherEvents: 0 };

  constructor(settings: SqlSinkSettings, unavailable: UnavailableValue) {
    this.#settings = settings;
    this.#unavailable = unavailable;
  }

  /** Encodes records [from, to) of the run until one fails or the log is as full as `maxBytes`. */
  encode(run: ChangeRun, plan: RowPlan, from: number, to: number, log: RowLog, maxBytes: number): EncodeStop {
    const inputs = inputColumns(run, plan, 'values');
    const deleteInputs = this.#settings.deleteEnabled ? inputColumns(run, plan, 'befores') : [];
    const origin = log.origin(run.batch);
    for (let i = from; i < to; i++) {
      const { count } = log;
      const start = log.out.position;
      try {
        this.#encodeRecord(run, plan, i, log, origin, inputs, deleteInputs);
      } catch (error) {
        log.truncate(count, start);
        if (error instanceof ColumnTooNarrow) return { next: i, error: null, tooNarrow: error };
        return { next: i + 1, error: unfit(error, run, plan, i), tooNarrow: null };
      }
      if (log.out.position >= maxBytes) return { next: i + 1, error: null, tooNarrow: null };
    }
    return { next: to, error: null, tooNarrow: null };
  }

  #encodeRecord(
    run: ChangeRun,
    plan: RowPlan,
    i: number,
    log: RowLog,
    origin: number,
    inputs: readonly Column[],
    deleteInputs: readonly Column[],
  ): void {
    const recordIndex = run.from + i;
    const change = run.changes[i] as Change;
    switch (change) {
      case Change.create:
      case Change.update:
      case Change.write: {
        const left = this.#unavailableColumns(plan, inputs, i);
        if (left !== null && !this.#mayLeaveOut(change, left, plan))
          throw lacksValues(
            'row',
            left.map(c => plan.columns[c]!.column.name),
          );
        const start = log.out.position;
        const keyEnd = writeRow(plan.columns, plan.columns.length, plan.keyCount, inputs, i, log, left);
        const shape = left === null ? plan.write : plan.patch(left);
        const op = change === Change.update ? RowOp.write : RowOp.create;
        log.push(op, shape.index, shape.tableNumber, start, start + 2, keyEnd, origin, recordIndex);
        return;
      }
      case Change.delete:
      case Change.tombstone: {
        if (!this.#settings.deleteEnabled) {
          if (!this.#settings.deletesIgnored) throw deletesOff(change);
          this.counts.ignoredDeletes++;
          return;
        }
        if (plan.delete === null) throw noKey();
        const start = log.out.position;
        const keyEnd = writeRow(plan.columns, plan.keyCount, plan.keyCount, deleteInputs, i, log, null);
        const shape = plan.delete;
        log.push(RowOp.delete, shape.index, shape.tableNumber, start, start + 2, keyEnd, origin, recordIndex);
        return;
      }
      case Change.truncate: {
        if (!this.#settings.truncateEnabled) {
          this.counts.ignoredTruncates++;
          return;
        }
        const at = log.out.position;
        log.push(RowOp.truncate, plan.truncate.index, plan.truncate.tableNumber, at, at, at, origin, recordIndex);
        return;
      }
      case Change.other:
        this.counts.otherEvents++;
        return;
      case Change.unusable:
        throw new ConnectError(
          'SINK_VALUE_UNUSABLE',
          'the value of the record is neither a struct nor a JSON object; check value.converter',
        );
    }
  }

  /** Only an update of a row that is there can leave columns as they are. */
  #mayLeaveOut(change: Change, left: readonly number[], plan: RowPlan): boolean {
    return change === Change.update && this.#settings.insertMode !== 'insert' && left[0]! >= plan.keyCount;
  }

  #unavailableColumns(plan: RowPlan, inputs: readonly Column[], i: number): number[] | null {
    let left: number[] | null = null;
    for (const c of plan.mayLack) {
      const value = inputs[c]![i];
      if (value !== null && value !== undefined && this.#unavailable.is(value)) (left ??= []).push(c);
    }
    return left;
  }
}

/** Writes the first `count` columns but those `left` out; returns where the key ends. */
function writeRow(
  columns: readonly PlannedColumn[],
  count: number,
  keyCount: number,
  inputs: readonly Column[],
  i: number,
  log: RowLog,
  left: readonly number[] | null,
): number {
  const { out } = log;
  writeInt16(left === null ? count : count - left.length, out);
  for (let c = 0; c < keyCount; c++) {
    const value = inputs[c]![i];
    if (value === null || value === undefined) throw noKey(columns[c]!.column.name);
    writeValue(columns[c]!, value, log);
  }
  const keyEnd = out.position;
  for (let c = keyCount; c < count; c++) {
    if (left?.includes(c)) continue;
    let value = inputs[c]![i];
    if (value === null || value === undefined) value = columns[c]!.nullDefault;
    if (value === null || value === undefined) writeNull(out);
    else writeValue(columns[c]!, value, log);
  }
  return keyEnd;
}

function writeValue(column: PlannedColumn, value: unknown, log: RowLog): void {
  try {
    column.write(value, log.out);
  } catch (error) {
    if (error instanceof ColumnTooNarrow) throw error;
    throw new ConnectError(
      'SINK_VALUE_UNFIT',
      `the value of field "${column.input.field.name}" does not fit column "${column.column.name}" of type ${column.column.displayType}: ${error instanceof RangeError ? error.message : 'it is of another kind'}; change the column, or send such records to a dead letter queue with errors.tolerance=all`,
      // The text of a RangeError is in the message; it has no more to tell.
      { ...(error instanceof RangeError ? {} : { cause: error }), place: { column: column.column.name } },
    );
  }
}

function inputColumns(run: ChangeRun, plan: RowPlan, rows: 'values' | 'befores'): readonly Column[] {
  return plan.columns.map(({ input }) => {
    if (input.from === 'key') return run.keys[input.index]!;
    if (input.from === 'kafka') return kafkaColumn(run, input.index);
    // Flat records that are deletes have no image from before: their own fields are it.
    return (rows === 'befores' && run.isEnvelope ? run.befores : run.values)[input.index] ?? [];
  });
}

function kafkaColumn(run: ChangeRun, index: number): Column {
  const { batch, from, count } = run;
  const values =
    index === 0 ? () => batch.topic : index === 1 ? () => batch.partition : (i: number) => batch.offset(from + i);
  return Array.from({ length: count }, (_, i) => values(i));
}

const noKey = (column?: string): ConnectError =>
  new ConnectError(
    'SINK_KEY_MISSING',
    column === undefined
      ? 'the record has no key to find its row by; correct pk.mode and pk.fields, or the producer'
      : `the record has no value for key column "${column}"; correct pk.mode and pk.fields, or the producer`,
  );

const deletesOff = (change: Change): ConnectError =>
  new ConnectError(
    'SINK_NULL_VALUE',
    `${change === Change.tombstone ? 'the record has a null value' : 'the record is a delete'} and delete.enabled is false; set delete.enabled=true with pk.mode=record_key, or filter such records out`,
  );

function unfit(error: unknown, run: ChangeRun, plan: RowPlan, i: number): ConnectError {
  if (!(error instanceof ConnectError)) throw error;
  return error.at({ ...partitionOf(run.batch), offset: run.batch.offset(run.from + i), table: plan.table.name });
}
