/**
 * Reads a sink batch by columns: runs of records that have the same fields, with what each record does. Typed records of one batch are one run, read
 * through the decoder's column access where there is one; objects without schema are cut into runs wherever their field names change.
 */
import type { SinkBatch } from '../../runtime/api/index.ts';
import { type Schema, Struct, type StructSchema } from '../../schemas/data/index.ts';
import {
  DELETED_FIELD,
  envelopeSchema,
  isDeletedFlag,
  isPlainEnvelope,
  isPlainObject,
  OP_FIELD,
} from './changeEnvelope.ts';

/** What a record does. `write`: a flat record, created or changed, nobody knows which. `unusable`: neither a struct nor an object. */
export const Change = {
  create: 0,
  update: 1,
  write: 2,
  delete: 3,
  tombstone: 4,
  truncate: 5,
  other: 6,
  unusable: 7,
} as const;
export type Change = (typeof Change)[keyof typeof Change];

export interface RunField {
  /** Empty for a key that is no struct. */
  readonly name: string;
  /** null = no schema. */
  readonly schema: Schema | null;
}

export interface ChangeRun {
  readonly batch: SinkBatch;
  /** The run is records [from, from + count) of the batch; all arrays below are relative to `from`. */
  readonly from: number;
  readonly count: number;
  readonly isEnvelope: boolean;
  readonly changes: Uint8Array;
  readonly keyFields: readonly RunField[];
  readonly keys: readonly (readonly unknown[])[];
  readonly fields: readonly RunField[];
  /** By field: of `after` for envelopes, of the value for flat records. */
  readonly values: readonly (readonly unknown[])[];
  /** By field, of `before`; empty unless asked for. */
  readonly befores: readonly (readonly unknown[])[];
  /** By field asked for: of the envelope's `source`, nulls where it has none; empty for flat records. */
  readonly sources: readonly (readonly unknown[])[];
}

export interface RunNeeds {
  readonly key: boolean;
  readonly before: boolean;
  readonly sourceFields: readonly string[];
}

export function readRuns(batch: SinkBatch, needs: RunNeeds): readonly ChangeRun[] {
  const isUntyped =
    batch.valueSchema === null && (batch.wire === undefined || batch.wire.valueDecoder !== null) && batch.count > 0;
  return isUntyped || (needs.key && batch.keySchema === null)
    ? readPlainRuns(batch, needs)
    : [readTypedRun(batch, needs)];
}

const changeOf = (op: unknown): Change => {
  switch (op) {
    case 'c':
    case 'r':
      return Change.create;
    case 'u':
      return Change.update;
    case 'd':
      return Change.delete;
    case 't':
      return Change.truncate;
    case null:
      return Change.tombstone;
    default:
      return Change.other;
  }
};

function readTypedRun(batch: SinkBatch, needs: RunNeeds): ChangeRun {
  const { keySchema, valueSchema, count } = batch;
  const envelope = envelopeSchema(valueSchema);
  const isEnvelope = envelope !== null;
  const row = envelope ? rowSchema(envelope) : valueSchema?.type === 'STRUCT' ? valueSchema : null;
  const fields: RunField[] = row?.fields.map(f => ({ name: f.name, schema: f.schema })) ?? [];
  const path = (part: string[]): string[][] => fields.map(f => [...part, f.name]);
  const sourceFields = envelope ? needs.sourceFields.filter(f => hasField(envelope, 'source', f)) : [];
  const paths = envelope
    ? [['op'], ...sourceFields.map(f => ['source', f]), ...path(['after']), ...(needs.before ? path(['before']) : [])]
    : path([]);
  const columns = row === null ? [] : readColumns(batch, 'value', paths);
  const first = isEnvelope ? 1 + sourceFields.length : 0;
  const sourceColumn = (name: string): unknown[] => {
    const at = sourceFields.indexOf(name);
    return at < 0 ? new Array<unknown>(count).fill(null) : columns[1 + at]!;
  };
  const changes = new Uint8Array(count);
  if (isEnvelope) {
    const ops = columns[0]!;
    for (let i = 0; i < count; i++) changes[i] = changeOf(ops[i]);
  } else markFlat(batch, row, columns, changes);
  return {
    batch,
    from: 0,
    count,
    isEnvelope,
    changes,
    ...(needs.key ? readKeys(batch, keySchema) : { keyFields: [], keys: [] }),
    fields,
    values: columns.slice(first, first + fields.length),
    befores: columns.slice(first + fields.length),
    sources: isEnvelope ? needs.sourceFields.map(sourceColumn) : [],
  };
}

const rowSchema = (envelope: StructSchema): StructSchema | null => {
  const index = envelope.fieldIndex.get('after') ?? envelope.fieldIndex.get('before');
  const schema = index === undefined ? undefined : envelope.fields[index]!.schema;
  return schema?.type === 'STRUCT' ? schema : null;
};

const hasField = (envelope: StructSchema, part: string, name: string): boolean => {
  const schema = envelope.fields[envelope.fieldIndex.get(part)!]!.schema;
  return schema.type === 'STRUCT' && schema.fieldIndex.has(name);
};

/** Flat records: null is a tombstone, `__deleted` a delete, `__op` = u an update. */
function markFlat(batch: SinkBatch, row: StructSchema | null, columns: unknown[][], changes: Uint8Array): void {
  const deleted = row?.fieldIndex.get(DELETED_FIELD);
  const op = row?.fieldIndex.get(OP_FIELD);
  const starts = batch.wire?.valueStarts;
  for (let i = 0; i < batch.count; i++) {
    const isNull = starts ? starts[i] === -1 : batch.valueSchema === null || batch.record(i).value === null;
    if (isNull) changes[i] = Change.tombstone;
    else if (row === null) changes[i] = Change.unusable;
    else if (deleted !== undefined && isDeletedFlag(columns[deleted]![i])) changes[i] = Change.delete;
    else changes[i] = op !== undefined && columns[op]![i] === 'u' ? Change.update : Change.write;
  }
}

function readKeys(batch: SinkBatch, schema: Schema | null): Pick<ChangeRun, 'keyFields' | 'keys'> {
  if (schema === null) return { keyFields: [], keys: [] };
  if (schema.type === 'STRUCT')
    return {
      keyFields: schema.fields.map(f => ({ name: f.name, schema: f.schema })),
      keys: readColumns(
        batch,
        'key',
        schema.fields.map(f => [f.name]),
      ),
    };
  const keys = Array.from({ length: batch.count }, (_, i) => rootOf(batch, 'key', i));
  return { keyFields: [{ name: '', schema }], keys: [keys] };
}

function readColumns(batch: SinkBatch, side: 'key' | 'value', paths: readonly (readonly string[])[]): unknown[][] {
  const { wire } = batch;
  const decoder = side === 'key' ? wire?.keyDecoder : wire?.valueDecoder;
  if (wire && decoder?.decodeColumns) {
    const [starts, ends] = side === 'key' ? [wire.keyStarts, wire.keyEnds] : [wire.valueStarts, wire.valueEnds];
    return decoder.decodeColumns(paths, wire.bytes, starts, ends, batch.count);
  }
  const columns: unknown[][] = paths.map(() => new Array<unknown>(batch.count));
  for (let i = 0; i < batch.count; i++) {
    const root = rootOf(batch, side, i);
    for (let k = 0; k < paths.length; k++) columns[k]![i] = valueAt(root, paths[k]!);
  }
  return columns;
}

/** Key or value of a record; only that is decoded where the batch has bytes. */
function rootOf(batch: SinkBatch, side: 'key' | 'value', i: number): unknown {
  const { wire } = batch;
  if (wire === undefined) return batch.record(i)[side];
  const isKey = side === 'key';
  const decoder = isKey ? wire.keyDecoder : wire.valueDecoder;
  const start = (isKey ? wire.keyStarts : wire.valueStarts)[i]!;
  const end = (isKey ? wire.keyEnds : wire.valueEnds)[i]!;
  return start === -1 || decoder === null ? null : decoder.decode(wire.bytes, start, end);
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (!(value instanceof Struct)) return null;
    value = value.get(name);
  }
  return value;
}

/** Objects without schema. Their rows, and their keys where those have no schema either, set the fields of each run. */
function readPlainRuns(batch: SinkBatch, needs: RunNeeds): ChangeRun[] {
  const runs: ChangeRun[] = [];
  let open: PlainRun | null = null;
  for (let i = 0; i < batch.count; i++) {
    const [key, value] = [needs.key ? rootOf(batch, 'key', i) : null, rootOf(batch, 'value', i)];
    const read = readPlain(value);
    const rowNames = namesOf(read.row ?? read.before);
    const keyNames = needs.key ? namesOf(key) : null;
    if (open === null || !open.takes(rowNames, keyNames, read.isEnvelope)) {
      if (open) runs.push(open.finish());
      open = new PlainRun(batch, i, read.isEnvelope, needs);
    }
    open.add(read, key, rowNames, keyNames);
  }
  if (open) runs.push(open.finish());
  return runs;
}

interface PlainRead {
  readonly change: Change;
  readonly isEnvelope: boolean | null;
  readonly row: unknown;
  readonly before: unknown;
  readonly source: unknown;
}

const getField = (row: unknown, name: string): unknown => {
  if (row instanceof Struct) return row.schema.fieldIndex.has(name) ? row.get(name) : null;
  if (isPlainObject(row)) return Object.hasOwn(row, name) ? (row[name] ?? null) : null;
  return name === '' ? row : null;
};

function readPlain(value: unknown): PlainRead {
  const empty = { row: null, before: null, source: null };
  if (value === null || value === undefined) return { change: Change.tombstone, isEnvelope: null, ...empty };
  const isStruct = value instanceof Struct;
  if (!isStruct && !isPlainObject(value)) return { change: Change.unusable, isEnvelope: null, ...empty };
  if (isStruct ? envelopeSchema(value.schema) : isPlainEnvelope(value)) {
    const change = changeOf(getField(value, 'op'));
    const part = (name: string): unknown => getField(value, name);
    return { change, isEnvelope: true, row: part('after'), before: part('before'), source: part('source') };
  }
  const flat = getField(value, OP_FIELD) === 'u' ? Change.update : Change.write;
  const change = isDeletedFlag(getField(value, DELETED_FIELD)) ? Change.delete : flat;
  return { change, isEnvelope: false, row: value, before: null, source: null };
}

/** Field names of a row; null where there is none to tell. */
function namesOf(row: unknown): readonly string[] | null {
  if (row === null || row === undefined) return null;
  if (row instanceof Struct) return row.schema.fields.map(f => f.name);
  return isPlainObject(row) ? Object.keys(row) : [''];
}

const sameNames = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null || (a.length === b.length && a.every((name, i) => name === b[i]));

class PlainRun {
  readonly #batch: SinkBatch;
  readonly #from: number;
  #isEnvelope: boolean | null;
  readonly #needs: RunNeeds;
  readonly #reads: PlainRead[] = [];
  readonly #keys: unknown[] = [];
  #rowNames: readonly string[] | null = null;
  #keyNames: readonly string[] | null = null;

  constructor(batch: SinkBatch, from: number, isEnvelope: boolean | null, needs: RunNeeds) {
    this.#batch = batch;
    this.#from = from;
    this.#isEnvelope = isEnvelope;
    this.#needs = needs;
  }

  takes(rowNames: readonly string[] | null, keyNames: readonly string[] | null, isEnvelope: boolean | null): boolean {
    const sameForm = isEnvelope === null || this.#isEnvelope === null || isEnvelope === this.#isEnvelope;
    return sameForm && sameNames(this.#rowNames, rowNames) && sameNames(this.#keyNames, keyNames);
  }

  add(read: PlainRead, key: unknown, rowNames: readonly string[] | null, keyNames: readonly string[] | null): void {
    this.#reads.push(read);
    this.#keys.push(key);
    this.#rowNames ??= rowNames;
    this.#keyNames ??= keyNames;
    this.#isEnvelope ??= read.isEnvelope;
  }

  finish(): ChangeRun {
    const { keySchema, valueSchema } = this.#batch;
    const envelope = envelopeSchema(valueSchema);
    const row = envelope ? rowSchema(envelope) : valueSchema?.type === 'STRUCT' ? valueSchema : null;
    const rowNames = this.#rowNames ?? [];
    const keyNames = this.#keyNames ?? [];
    const column = (of: (read: PlainRead) => unknown, name: string): unknown[] =>
      this.#reads.map(read => getField(of(read), name));
    return {
      batch: this.#batch,
      from: this.#from,
      count: this.#reads.length,
      isEnvelope: this.#isEnvelope ?? false,
      changes: Uint8Array.from(this.#reads, read => read.change),
      keyFields: keyNames.map(name => ({ name, schema: fieldSchema(keySchema, name) })),
      keys: keyNames.map(name => this.#keys.map(key => getField(key, name))),
      fields: rowNames.map(name => ({ name, schema: fieldSchema(row, name) })),
      values: rowNames.map(name => column(read => read.row, name)),
      befores: this.#needs.before ? rowNames.map(name => column(read => read.before, name)) : [],
      sources: this.#isEnvelope ? this.#needs.sourceFields.map(name => column(read => read.source, name)) : [],
    };
  }
}

function fieldSchema(schema: Schema | null, name: string): Schema | null {
  if (schema?.type !== 'STRUCT') return name === '' ? schema : null;
  const index = schema.fieldIndex.get(name);
  return index === undefined ? null : schema.fields[index]!.schema;
}
