/**
 * A shape: one table and the columns that a row gives, the key first, in the order of the table, so that equal keys are equal bytes whatever
 * record they came from. Rows are tuples of their shape; this module also puts two rows of one key together.
 */
import { type RowLog, RowOp } from './rowLog.ts';
import { columnsOf, type SqlTable, type SqlTypes } from './sqlTypes.ts';
import { fieldBytes, writeInt16 } from './tupleFields.ts';

export interface ShapeColumn<S extends SqlTypes = SqlTypes> {
  readonly column: S['column'];
  readonly codec: S['codec'];
}

/** `write`: a whole row. `patch`: an update that leaves columns out. `delete`: the key only. `truncate`: nothing. */
export type ShapeKind = 'write' | 'patch' | 'delete' | 'truncate';

export interface RowShape<S extends SqlTypes = SqlTypes> {
  readonly index: number;
  readonly kind: ShapeKind;
  readonly table: S['table'];
  /** Number of the table, the same for all its shapes with these key columns. */
  readonly tableNumber: number;
  readonly keyCount: number;
  readonly columns: readonly ShapeColumn<S>[];
  /** Whether no column of the table is left out. */
  readonly isComplete: boolean;
  /** What `OrderOf` says of it. */
  readonly order: number | null;
  /** What `UniquesOf` says of it, where rows that meet are refused and can wait: then it has no order. */
  readonly uniques: readonly (readonly number[])[] | null;
}

export class ShapeList<S extends SqlTypes> {
  readonly #shapes: RowShape<S>[] = [];
  readonly #byId = new Map<string, RowShape<S>>();
  readonly #tableNumbers = new Map<string, number>();

  get(index: number): RowShape<S> {
    return this.#shapes[index]!;
  }

  /** `keyCount` columns of `columns` come first and are the key. */
  add(kind: ShapeKind, table: S['table'], keyCount: number, columns: readonly ShapeColumn<S>[]): RowShape<S> {
    const keyId = [table.id, ...columns.slice(0, keyCount).map(formOf)].join();
    const id = `${kind}|${keyId}|${columns.map(formOf).join()}`;
    const known = this.#byId.get(id);
    // The table is read anew after DDL: then the old shape stands for a description that is gone.
    if (known?.table === table) return known;
    let tableNumber = this.#tableNumbers.get(keyId);
    if (tableNumber === undefined) {
      tableNumber = this.#tableNumbers.size;
      this.#tableNumbers.set(keyId, tableNumber);
    }
    const given = new Set(columns.map(c => c.column.name));
    const shape: RowShape<S> = {
      index: this.#shapes.length,
      kind,
      table,
      tableNumber,
      keyCount,
      columns,
      isComplete: columnsOf<S>(table).every(c => c.isGenerated || given.has(c.name)),
      order: spreadsByKey(table, columns.slice(0, keyCount)) ? null : table.foreignGroup,
      uniques: furtherUniques(table, keyCount, columns),
    };
    this.#shapes.push(shape);
    this.#byId.set(id, shape);
    return shape;
  }

  /** Appends the row with the columns of `later`, and of `earlier` where `later` lacks them; or gives `later` where it lacks none. */
  merge(log: RowLog, earlier: number, later: number): number {
    const [old, young] = [this.get(log.shapes[earlier]!), this.get(log.shapes[later]!)];
    if (old === young) return later;
    const given = new Set(young.columns.map(c => c.column.position));
    const missing = old.columns.flatMap((c, at) => (given.has(c.column.position) ? [] : [at]));
    if (missing.length === 0 && (young.kind === 'write' || old.kind === 'patch')) return later;
    const kind = old.kind === 'patch' && young.kind === 'patch' ? 'patch' : 'write';
    const columns = [...young.columns, ...missing.map(at => old.columns[at]!)];
    const shape = this.add(kind, young.table, young.keyCount, columns);
    const { out } = log;
    const start = out.position;
    writeInt16(columns.length, out);
    const youngBytes = log.ends[later]! - log.starts[later]! - 2;
    copyWithin(log, log.starts[later]! + 2, youngBytes);
    const fields = fieldStarts(log, earlier, old.columns.length);
    for (const at of missing) copyWithin(log, fields[at]!, fields[at + 1]! - fields[at]!);
    const keyStart = start + 2;
    const keyEnd = keyStart + log.keyEnds[later]! - log.keyStarts[later]!;
    return log.push(
      RowOp.write,
      shape.index,
      shape.tableNumber,
      start,
      keyStart,
      keyEnd,
      log.originIds[later]!,
      log.originIndexes[later]!,
    );
  }
}

const formOf = (c: ShapeColumn): string => `${c.column.position}:${c.codec.form}`;

/** Of the unique keys beside the one that rows are written by, those that the shape has all columns of. */
function furtherUniques(
  table: SqlTable,
  keyCount: number,
  columns: readonly ShapeColumn[],
): readonly (readonly number[])[] | null {
  const { refusingKeys = [] } = table;
  const key = columns.slice(0, keyCount);
  const own = refusingKeys.find(unique => isKeyOf(unique, key));
  if (own === undefined || refusingKeys.length < 2) return null;
  return refusingKeys
    .filter(unique => unique !== own)
    .map(unique => unique.map(name => columns.findIndex(c => c.column.name === name)))
    .filter(indexes => !indexes.includes(-1));
}

const isKeyOf = (unique: readonly string[], key: readonly ShapeColumn[]): boolean =>
  unique.length === key.length &&
  key.every(c => unique.includes(c.column.name) && c.column.comparesByBytes && c.codec.isNative);

/** Whether rows with different key bytes never meet in the table: its one unique index is the key, and no rows of other tables depend on them. */
const spreadsByKey = (table: SqlTable, key: readonly ShapeColumn[]): boolean =>
  !table.hasFurtherRules && table.uniqueKeys.length === 1 && isKeyOf(table.uniqueKeys[0]!, key);

function copyWithin(log: RowLog, start: number, length: number): void {
  const { out } = log;
  out.ensure(length);
  out.bytes.copyWithin(out.position, start, start + length);
  out.position += length;
}

/** Where each field of a row begins, and behind the last one its end. */
function fieldStarts(log: RowLog, row: number, columns: number): number[] {
  const starts: number[] = [];
  let at = log.starts[row]! + 2;
  for (let c = 0; c < columns; c++) {
    starts.push(at);
    at += 4 + Math.max(fieldBytes(log.out.bytes, at), 0);
  }
  starts.push(at);
  return starts;
}
