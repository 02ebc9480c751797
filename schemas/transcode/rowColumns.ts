/** How the columns of a row layout lie to the fields of its struct schema, and where they lie in a row: what all readers of rows share. */
import type { Field, Schema, StructSchema } from '../data/index.ts';
import type { ColumnLayout, Layout, RowFormat } from './layout.ts';
import { layoutError, RowFault, rowError, SliceFault } from './rowErrors.ts';
import { tupleKind } from './tupleKind.ts';

export type RowLayout = Extract<Layout, { kind: 'row' }>;

export function structOf(schema: Schema): StructSchema {
  if (schema.type !== 'STRUCT') throw layoutError(`a struct's layout stands for a ${schema.type}`);
  return schema;
}

/** The column of each field. Throws TRANSCODE_LAYOUT_INVALID unless every field has exactly one. */
export function columnOrder(fields: readonly Field[], columns: readonly ColumnLayout[]): number[] {
  const columnOf = new Map<number, number>();
  columns.forEach((column, at) => {
    if (column.field === -1) return;
    if (columnOf.has(column.field)) throw layoutError(`two columns fill field ${column.field}`);
    columnOf.set(column.field, at);
  });
  if (columnOf.size > fields.length) throw layoutError('a column fills a field that the schema does not have');
  return fields.map((field, at) => {
    const column = columnOf.get(at);
    if (column === undefined) throw layoutError(`no column fills field "${field.name}"`);
    return column;
  });
}

/** Whether the columns of the fields, one after the other, follow each other in the row. */
export const isRowOrder = (order: readonly number[]): boolean =>
  order.every((column, at) => at === 0 || order[at - 1] < column);

/** The name of the field that a column of the record's rows fills; null where it fills none. */
export function fieldOfColumn(schema: Schema, layout: Layout, column: number): string | null {
  switch (layout.kind) {
    case 'row':
      return structOf(schema).fields[layout.columns[column]?.field ?? -1]?.name ?? null;
    case 'struct': {
      const { fields } = structOf(schema);
      for (const [at, inner] of layout.fields.entries()) {
        const name = fieldOfColumn(fields[at]!.schema, inner, column);
        if (name !== null) return name;
      }
      return null;
    }
    case 'choice':
      return layout.of.map(inner => fieldOfColumn(schema, inner, column)).find(name => name !== null) ?? null;
    default:
      return null;
  }
}

/** Columns behind the last one wanted are not looked at: a key is often the first column of many. */
export const wantedColumns = (columns: readonly ColumnLayout[]): number =>
  columns.findLastIndex(column => column.field !== -1) + 1;

/** Bytes of a bitmap with a bit a column. */
export const bitmapBytes = (columnCount: number): number => (columnCount + 7) >> 3;

/** What is written for null in place of null; undefined = nothing is. */
export const nullSubstitute = (schema: Schema, { nullValue, whenNull }: ColumnLayout): unknown =>
  whenNull ?? (schema.optional ? undefined : (nullValue ?? undefined));

export const NULL_COLUMN = -1;
export const UNCHANGED_COLUMN = -2;

const kindMask = { text: 1, binary: 2, any: 3 } as const;

/** Finds the columns of one row after the other. */
export class ColumnFinder {
  /** Of the row last found, by column: where the value starts, and its length or one of the two marks above. */
  readonly starts: Int32Array;
  readonly lengths: Int32Array;
  readonly #columnCount: number;
  readonly #format: RowFormat;
  readonly #isTuple: boolean;
  readonly #kinds: Uint8Array;
  readonly #extents: Int32Array;

  constructor({ columns, format }: RowLayout) {
    const wanted = columns.slice(0, wantedColumns(columns));
    this.starts = new Int32Array(wanted.length);
    this.lengths = new Int32Array(wanted.length);
    this.#columnCount = columns.length;
    this.#format = format;
    this.#isTuple = format === 'pg-tuple';
    this.#extents = Int32Array.from(wanted, column => column.extent ?? 0);
    this.#kinds = Uint8Array.from(wanted, column => kindMask[column.field === -1 ? 'any' : tupleKind(column.column)]);
  }

  /** Throws TRANSCODE_ROW_INVALID naming column and record `index`. */
  find(view: DataView, position: number, index: number): void {
    switch (this.#format) {
      case 'pg-tuple':
      case 'pg-copy':
        this.#findPostgres(view, position, index);
        break;
      case 'mysql-binlog':
        this.#findImage(view, position, index);
        break;
      case 'mysql-text':
        this.#findText(view, position, index);
        break;
    }
  }

  #findImage(view: DataView, position: number, index: number): void {
    const end = view.byteLength;
    const { starts, lengths } = this;
    let p = position + bitmapBytes(this.#columnCount);
    if (position < 0 || p > end) throw rowError(RowFault.truncated, -1, index);
    for (let at = 0; at < starts.length; at++) {
      if (((view.getUint8(position + (at >> 3)) >> (at & 7)) & 1) === 1) {
        lengths[at] = NULL_COLUMN;
        continue;
      }
      let length = this.#extents[at];
      if (length < 0) {
        const size = -length;
        if (p + size > end) throw rowError(RowFault.truncated, at, index);
        length = view.getUint8(p);
        if (size > 1) length += view.getUint8(p + 1) * 0x100;
        if (size > 2) length += view.getUint8(p + 2) * 0x10000;
        if (size > 3) length += view.getUint8(p + 3) * 0x1000000;
        p += size;
      }
      if (p + length > end) throw rowError(RowFault.truncated, at, index);
      starts[at] = p;
      lengths[at] = length;
      p += length;
    }
  }

  #findText(view: DataView, position: number, index: number): void {
    const end = view.byteLength;
    const { starts, lengths } = this;
    let p = position;
    if (p < 0) throw rowError(RowFault.truncated, -1, index);
    for (let at = 0; at < starts.length; at++) {
      if (p + 1 > end) throw rowError(RowFault.truncated, at, index);
      let length = view.getUint8(p++);
      if (length === 251) {
        lengths[at] = NULL_COLUMN;
        continue;
      }
      if (length > 251) {
        const size = length === 252 ? 2 : length === 253 ? 3 : length === 254 ? 8 : 0;
        if (size === 0) throw rowError(RowFault.columnKind, at, index);
        if (p + size > end) throw rowError(RowFault.truncated, at, index);
        length = view.getUint16(p, true);
        if (size > 2) length += view.getUint8(p + 2) * 0x10000;
        if (size > 3) length = view.getUint32(p, true) + view.getUint32(p + 4, true) * 4294967296;
        p += size;
      }
      if (p + length > end) throw rowError(RowFault.truncated, at, index);
      starts[at] = p;
      lengths[at] = length;
      p += length;
    }
  }

  #findPostgres(view: DataView, position: number, index: number): void {
    const end = view.byteLength;
    const { starts, lengths } = this;
    if (position < 0 || position + 2 > end) throw rowError(RowFault.truncated, -1, index);
    if (view.getInt16(position) !== this.#columnCount) throw rowError(RowFault.columnCount, -1, index);
    let p = position + 2;
    for (let at = 0; at < starts.length; at++) {
      if (this.#isTuple) {
        if (p >= end) throw rowError(RowFault.truncated, at, index);
        const kind = view.getUint8(p++);
        if (kind === 110 || kind === 117) {
          lengths[at] = kind === 110 ? NULL_COLUMN : UNCHANGED_COLUMN;
          continue;
        }
        const mask = kind === 116 ? kindMask.text : kind === 98 ? kindMask.binary : 0;
        if ((mask & this.#kinds[at]) === 0) throw rowError(RowFault.columnKind, at, index);
      }
      if (p + 4 > end) throw rowError(RowFault.truncated, at, index);
      const length = view.getInt32(p);
      p += 4;
      starts[at] = p;
      lengths[at] = length;
      if (length === -1 && !this.#isTuple) continue;
      if (length < 0 || p + length > end) throw rowError(RowFault.truncated, at, index);
      p += length;
    }
  }
}

/** What stands for a value that a row does not have. */
export class AbsentValue {
  /** undefined where null is a fault. */
  readonly #ifNull: unknown;
  readonly #unchanged: unknown;

  constructor(schema: Schema, column: ColumnLayout) {
    const isAllowed = schema.optional || (schema.defaultValue ?? null) !== null;
    this.#ifNull = nullSubstitute(schema, column) ?? (isAllowed ? null : undefined);
    this.#unchanged = column.unchanged;
  }

  /** `length` is NULL_COLUMN, UNCHANGED_COLUMN, or that of a value which the schema cannot hold, such as NaN in a Decimal. Throws SliceFault. */
  value(length: number): unknown {
    if (length === UNCHANGED_COLUMN) {
      if (this.#unchanged === undefined) throw new SliceFault(RowFault.unchangedNotAllowed);
      if (this.#unchanged !== null) return this.#unchanged;
    }
    if (this.#ifNull === undefined) throw new SliceFault(RowFault.nullNotAllowed);
    return this.#ifNull;
  }
}
