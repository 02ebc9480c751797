/**
 * What is to be done with one document, as a row of the log: a form of its key that equal keys share, the filter that finds it, and its fields. The shape of a row
 * tells the collection and the kind of statement.
 */
import { type AnyBulkWriteOperation, BSON, type Document } from 'mongodb';
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';
import { isPlainObject } from '../shared/changeEnvelope.ts';
import type { RowLog, RowOp } from '../shared/rowLog.ts';
import { copyWithin, writeComparable, writeUnion } from './bsonDocument.ts';
import type { WriteModel } from './topicSettings.ts';

/** `patch`: an update whose source did not send every field. */
export type StatementKind = WriteModel | 'patch';

/**
 * How the rows of a flush go together. `byKey`: the last one of a key stands for all. `each`: every one is a document, none stands for another. `inOrder`: without keys,
 * they are applied as they came.
 */
export type Grouping = 'byKey' | 'each' | 'inOrder';

export interface Namespace {
  readonly database: string;
  readonly collection: string;
  /** Of its own; keys in different ones are different. */
  readonly number: number;
}

export interface StatementShape {
  readonly index: number;
  readonly namespace: Namespace;
  readonly kind: StatementKind;
  readonly grouping: Grouping;
}

export class StatementShapes {
  readonly #shapes: StatementShape[] = [];
  readonly #byId = new Map<string, StatementShape>();
  readonly #namespaces = new Map<string, Namespace>();

  get(index: number): StatementShape {
    return this.#shapes[index]!;
  }

  namespace(database: string, collection: string): Namespace {
    const id = `${database}.${collection}`;
    let namespace = this.#namespaces.get(id);
    if (namespace === undefined) {
      namespace = { database, collection, number: this.#namespaces.size };
      this.#namespaces.set(id, namespace);
    }
    return namespace;
  }

  shape(namespace: Namespace, kind: StatementKind, grouping: Grouping): StatementShape {
    const id = `${namespace.number} ${kind} ${grouping}`;
    let shape = this.#byId.get(id);
    if (shape === undefined) {
      shape = { index: this.#shapes.length, namespace, kind, grouping };
      this.#shapes.push(shape);
      this.#byId.set(id, shape);
    }
    return shape;
  }

  /** As `FoldRules` has it: a change of some fields on top of what came before it in the same log. */
  merge(log: RowLog, earlier: number, later: number): number {
    const [before, after] = [this.get(log.shapes[earlier]!), this.get(log.shapes[later]!)];
    if (isWhole(after.kind) || after.kind === 'delete' || before.kind === 'delete') return later;
    const { out } = log;
    const start = out.position;
    copyWithin(log.starts[later]!, bodyStart(log, later), out);
    const keyEnd = start + (log.keyEnds[later]! - log.keyStarts[later]!);
    writeUnion(bodyStart(log, earlier), bodyStart(log, later), out);
    const shape = isWhole(before.kind) ? before : after;
    return log.push(
      log.ops[later] as RowOp,
      shape.index,
      shape.namespace.number,
      start,
      start,
      keyEnd,
      log.originIds[later]!,
      log.originIndexes[later]!,
    );
  }
}

/** Whether nothing of the document from before stays. */
export const isWhole = (kind: StatementKind): boolean => kind === 'replace' || kind === 'insert';

/** Appends the filter, and before it the key that tells it apart, unless there is none; returns where the key ends. */
export function writeKeyed(
  out: OutputBuffer,
  writeFilter: (out: OutputBuffer) => void,
  hasKey: boolean,
  scratch: OutputBuffer,
): number {
  scratch.reset();
  writeFilter(scratch);
  const filterEnd = scratch.position;
  if (hasKey) writeComparable(0, scratch);
  out.writeBytes(scratch.bytes.subarray(filterEnd, scratch.position));
  const keyEnd = out.position;
  out.writeBytes(scratch.bytes.subarray(0, filterEnd));
  return keyEnd;
}

const bodyStart = (log: RowLog, row: number): number => {
  const filter = log.keyEnds[row]!;
  return filter + log.out.bytes.readInt32LE(filter);
};

/** Nothing is promoted: a 64-bit number stays one, and 2.0 a double. */
const READ: BSON.DeserializeOptions = { promoteValues: false, promoteLongs: false, validation: { utf8: false } };
const read = (bytes: Buffer, start: number, end: number): Document =>
  BSON.deserialize(bytes.subarray(start, end), READ);

export function statementOf(log: RowLog, row: number, kind: StatementKind, now: Date): AnyBulkWriteOperation<Document> {
  const { bytes } = log.out;
  const body = bodyStart(log, row);
  const found = read(bytes, log.keyEnds[row]!, body);
  const filter = kind === 'insert' ? found : byEquality(found);
  const fields = (): Document => read(bytes, body, log.ends[row]!);
  switch (kind) {
    case 'insert':
      return { insertOne: { document: { ...found, ...fields() } } };
    case 'replace':
      return { replaceOne: { filter, replacement: fields(), upsert: true } };
    case 'set':
    case 'patch':
      return { updateOne: { filter, update: setOf(fields(), found), upsert: true } };
    case 'setWithTimes': {
      const update = { $set: { ...fields(), _modifiedTS: now }, $setOnInsert: { _insertedTS: now } };
      return { updateOne: { filter, update, upsert: true } };
    }
    case 'delete':
      return { deleteOne: { filter } };
  }
}

/** The server would take a document in a filter for operators, such as `$gt`. */
const byEquality = (filter: Document): Document =>
  Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [name, isPlainObject(value) ? { $eq: value } : value]),
  );

/** Servers before 5.0 refuse to set nothing. */
const setOf = (fields: Document, filter: Document): Document =>
  Object.keys(fields).length > 0 ? { $set: fields } : { $setOnInsert: filter };
