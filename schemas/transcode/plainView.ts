/**
 * The same record that a transcoder writes, as Connect values: for transforms, for converters without a fast path, and as the meaning of a layout
 * against which generated code is tested. Each layout is compiled once to a tree of readers; a record costs no more than its values.
 */
import { type Schema, Struct } from '../data/index.ts';
import { type Layout, type LongSlot, longAt, type WireRows } from './layout.ts';
import { shiftOf, sliceReader } from './plainColumn.ts';
import { AbsentValue, ColumnFinder, columnOrder, type RowLayout, structOf } from './rowColumns.ts';
import { layoutError, RowFault, rowError, SliceFault } from './rowErrors.ts';
import { ViewCache } from './viewCache.ts';

type Read = (rows: WireRows, index: number) => unknown;

const views = new ViewCache();

/** A layout belongs to one schema, so that one reader of each is kept. */
const readers = new WeakMap<Layout, { readonly schema: Schema; readonly read: Read }>();

/**
 * Record `index` of the batch; null for a null record. Nulls stay null here where the schema has a default: converters replace them.
 * Throws TRANSCODE_LAYOUT_INVALID or TRANSCODE_ROW_INVALID.
 */
export function plainValue(schema: Schema, layout: Layout, rows: WireRows, index: number): unknown {
  let reader = readers.get(layout);
  if (reader === undefined || reader.schema !== schema) {
    reader = { schema, read: compile(schema, layout) };
    readers.set(layout, reader);
  }
  return reader.read(rows, index);
}

function compile(schema: Schema, layout: Layout): Read {
  switch (layout.kind) {
    case 'struct':
      return structReader(schema, layout.fields);
    case 'null':
      return () => null;
    case 'constant': {
      const { value } = layout;
      return () => value;
    }
    case 'batch': {
      const { slot } = layout;
      return rows => rows.constants[slot];
    }
    case 'long':
      return longReader(schema, layout);
    case 'text':
      return textReader(layout.parts);
    case 'choice': {
      const { slot } = layout;
      const of = layout.of.map(chosen => compile(schema, chosen));
      return (rows, index) => {
        const chosen = rows.choices[slot][index];
        if (chosen >= of.length) throw rowError(RowFault.badChoice, -1, index);
        return of[chosen](rows, index);
      };
    }
    case 'row':
      return rowReader(schema, layout);
  }
}

/** Fields that are the same in all records are copied at once. */
function structReader(schema: Schema, layouts: readonly Layout[]): Read {
  const struct = structOf(schema);
  if (struct.fields.length !== layouts.length)
    throw layoutError(`${schema.name ?? 'a struct'} has ${struct.fields.length} fields, its layout ${layouts.length}`);
  const constants = layouts.map(layout => (layout.kind === 'constant' ? layout.value : null));
  const varying = layouts.flatMap((layout, at) => (layout.kind === 'constant' || layout.kind === 'null' ? [] : [at]));
  const fields = varying.map(at => compile(struct.fields[at].schema, layouts[at]));
  return (rows, index) => {
    const values = constants.slice();
    for (let i = 0; i < fields.length; i++) values[varying[i]] = fields[i](rows, index);
    return new Struct(struct, values);
  };
}

function longReader(schema: Schema, long: LongSlot): Read {
  const { slot } = long;
  if (long.isGrouped) {
    const ofRecord = longReader(schema, { slot });
    return (rows, index) => ofRecord(rows, longAt(rows, long, index));
  }
  if (schema.type === 'INT64')
    return (rows, index) => (rows.longNulls?.[slot]?.[index] === 1 ? null : rows.longs[slot][index]);
  const shift = shiftOf(schema);
  return (rows, index) => {
    if (rows.longNulls?.[slot]?.[index] === 1) return null;
    const value = Number(rows.longs[slot][index]);
    if ((value << shift) >> shift !== value) throw rowError(RowFault.longNotAllowed, -1, index);
    return value;
  };
}

function textReader(parts: Extract<Layout, { kind: 'text' }>['parts']): Read {
  return (rows, index) => {
    let text = '';
    for (const part of parts)
      text += typeof part === 'string' ? part : rows.longs[part.slot][longAt(rows, part, index)];
    return text;
  };
}

function rowReader(schema: Schema, layout: RowLayout): Read {
  const struct = structOf(schema);
  const { slot } = layout;
  const order = columnOrder(struct.fields, layout.columns);
  const fields = struct.fields.map((field, at) => sliceReader(field.schema, layout.columns[order[at]].column));
  const absent = struct.fields.map((field, at) => new AbsentValue(field.schema, layout.columns[order[at]]));
  const finder = new ColumnFinder(layout);
  const { starts, lengths } = finder;
  return (rows, index) => {
    const position = rows.positions[slot][index];
    if (position === -1) return null;
    const { bytes } = rows;
    const view = views.of(bytes);
    finder.find(view, position, index);
    const values = new Array<unknown>(fields.length);
    let field = 0;
    try {
      for (; field < fields.length; field++) {
        const column = order[field];
        const length = lengths[column];
        const start = starts[column];
        const value = length >= 0 ? fields[field](bytes, view, start, start + length) : null;
        values[field] = value ?? absent[field].value(length);
      }
    } catch (error) {
      if (error instanceof SliceFault) throw rowError(error.fault, order[field], index, error.cause);
      throw error;
    }
    return new Struct(struct, values);
  };
}
