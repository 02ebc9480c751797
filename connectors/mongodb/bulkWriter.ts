/**
 * Writes rows of a log: folds them by key and sends what is left as bulk writes, one for each collection of the flush. Documents that the server refuses are found
 * by its answer; the others of the same bulk are written. What was folded into a refused one is written again record by record, so that only what is refused then is
 * reported: a record before it has its effect, and values of unique indexes may move from document to document.
 */
import { BSON, type Collection, type Document, MongoBulkWriteError, type MongoClient, type WriteError } from 'mongodb';
import { ConnectError, partitionOf, type SinkBatch, type SinkTaskContext } from '../../runtime/api/index.ts';
import type { FlushTarget } from '../shared/flushLane.ts';
import { foldRows } from '../shared/foldRows.ts';
import type { FailureClass } from '../shared/retryTransient.ts';
import type { RowLog } from '../shared/rowLog.ts';
import {
  classifyMongoFailure,
  documentReason,
  isDuplicateKey,
  reasonOf,
  withoutWrap,
  writeErrorsOf,
} from './mongoFailure.ts';
import { isWhole, type StatementShape, type StatementShapes, statementOf } from './statements.ts';

export interface BulkWriterOptions {
  readonly client: MongoClient;
  readonly shapes: StatementShapes;
  readonly isOrdered: boolean;
  /** Waits where a bulk write has to; one for all writers of the task. */
  readonly limitRate: () => Promise<void>;
  readonly context: SinkTaskContext;
}

/** Documents in one question whether they are there. */
const LOOKED_UP = 500;

interface Refused {
  readonly row: number;
  readonly reason: string;
}

export class BulkWriter implements FlushTarget {
  readonly #options: BulkWriterOptions;

  constructor(options: BulkWriterOptions) {
    this.#options = options;
  }

  classify(error: unknown): FailureClass {
    return classifyMongoFailure(error);
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    const { metrics } = this.#options.context;
    const refused = await this.#writeAll(log, from, to);
    // Nothing is to be repeated any more, so that none is reported twice.
    for (const { row, reason } of refused.sort((a, b) => a.row - b.row)) {
      metrics.count('rejected_records');
      await this.#report(log, row, reason);
    }
    metrics.count('records_written', to - from - refused.length);
    metrics.count('bytes_written', log.ends[to - 1]! - log.starts[from]!);
  }

  async #writeAll(log: RowLog, from: number, to: number): Promise<Refused[]> {
    const refused: Refused[] = [];
    for (let start = from; start < to; ) {
      const end = endOfSameGrouping(log, start, to, this.#options.shapes);
      refused.push(...(await this.#writeRange(log, start, end)));
      start = end;
    }
    return refused;
  }

  async #writeRange(log: RowLog, from: number, to: number): Promise<Refused[]> {
    const { shapes, context, isOrdered } = this.#options;
    const { grouping } = shapes.get(log.shapes[from]!);
    if (grouping === 'inOrder') return this.#writeRows(log, rowsOf(from, to), true);
    const { steps, foldedRows } = foldRows(log, from, to, {
      mode: grouping === 'each' ? 'keep' : 'merge',
      isComplete: shape => isWhole(shapes.get(shape).kind),
      merge: (rows, earlier, later) => shapes.merge(rows, earlier, later),
    });
    context.metrics.count('folded_records', foldedRows);
    const refused: Refused[] = [];
    for (const { deletes, writes } of steps) {
      refused.push(...(await this.#writeRows(log, deletes, isOrdered)));
      refused.push(...(await this.#writeRows(log, writes, isOrdered)));
    }
    if (grouping === 'each' || refused.length === 0) return refused;
    return this.#writeUnfolded(log, from, to, refused);
  }

  /** The records that refused statements stand for, as they came: first those that are the first ones of their keys, and so on. */
  async #writeUnfolded(log: RowLog, from: number, to: number, refused: readonly Refused[]): Promise<Refused[]> {
    const depths = new Map(refused.map(({ row }) => [keyOf(log, row), 0]));
    const layers: number[][] = [];
    for (let row = from; row < to; row++) {
      const key = keyOf(log, row);
      const depth = depths.get(key);
      if (depth === undefined) continue;
      (layers[depth] ??= []).push(row);
      depths.set(key, depth + 1);
    }
    const still: Refused[] = [];
    for (const layer of layers) still.push(...(await this.#writeRows(log, layer, this.#options.isOrdered)));
    return still;
  }

  async #writeRows(log: RowLog, rows: readonly number[], isOrdered: boolean): Promise<Refused[]> {
    const refused: Refused[] = [];
    for (const [shape, group] of this.#byCollection(log, rows, isOrdered))
      for (let rest = group; rest.length > 0; ) {
        const done = await this.#bulkWrite(log, shape, rest, isOrdered);
        refused.push(...done.refused);
        rest = rest.slice(done.count);
      }
    return refused;
  }

  async #bulkWrite(
    log: RowLog,
    { namespace, kind }: StatementShape,
    rows: readonly number[],
    isOrdered: boolean,
  ): Promise<{ refused: Refused[]; count: number }> {
    const { client, shapes, limitRate, context } = this.#options;
    const { metrics } = context;
    await limitRate();
    const now = new Date();
    const statements = rows.map(row => statementOf(log, row, shapes.get(log.shapes[row]!).kind, now));
    const collection = client.db(namespace.database).collection(namespace.collection);
    /** The document of an insert that found its key taken: an earlier delivery of the same record may have written it. */
    const duplicateOf = (failed: WriteError): Document[] => {
      const statement = statements[failed.index]!;
      return isDuplicateKey(failed) && 'insertOne' in statement ? [statement.insertOne.document] : [];
    };
    metrics.count('bulk_writes');
    try {
      const result = await untilAborted(collection.bulkWrite(statements, { ordered: isOrdered }), context.signal);
      metrics.count('documents_written', result.insertedCount + result.matchedCount + result.upsertedCount);
      metrics.count('documents_deleted', result.deletedCount);
      if (kind === 'patch' && !isOrdered && result.upsertedCount > 0)
        metrics.count('documents_incomplete', result.upsertedCount);
      return { refused: [], count: rows.length };
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError) || classifyMongoFailure(error) !== 'record') throw withoutWrap(error);
      const { result } = error;
      metrics.count('documents_written', result.insertedCount + result.matchedCount + result.upsertedCount);
      metrics.count('documents_deleted', result.deletedCount);
      const failed = writeErrorsOf(error);
      const present = await untilAborted(presentOf(collection, failed.flatMap(duplicateOf)), context.signal);
      if (present.size > 0) metrics.count('documents_known', present.size);
      const refused = failed.flatMap(each => {
        const isPresent = duplicateOf(each).some(document => present.has(document));
        return isPresent ? [] : [{ row: rows[each.index]!, reason: documentReason(each) }];
      });
      // An ordered bulk ends at a document that fails.
      const last = failed.at(-1);
      return { refused, count: isOrdered && last !== undefined ? last.index + 1 : rows.length };
    }
  }

  /** Updates of single fields apart, so that those which found no document can be counted. */
  #byCollection(log: RowLog, rows: readonly number[], isOrdered: boolean): Iterable<[StatementShape, number[]]> {
    const groups = new Map<string, [StatementShape, number[]]>();
    let last = -1;
    let group: number[] = [];
    for (const row of rows) {
      if (log.shapes[row] !== last) {
        last = log.shapes[row]!;
        const shape = this.#options.shapes.get(last);
        const isApart = shape.kind === 'patch' && !isOrdered;
        const id = `${shape.namespace.number}${isApart}`;
        const known = groups.get(id);
        group = known?.[1] ?? [];
        if (known === undefined) groups.set(id, [shape, group]);
      }
      group.push(row);
    }
    return groups.values();
  }

  /** A single row whose whole command was refused. */
  reject(log: RowLog, row: number, error: unknown): Promise<void> {
    return this.#report(log, row, reasonOf(error));
  }

  async #report(log: RowLog, row: number, reason: string): Promise<void> {
    const { shapes, context } = this.#options;
    const batch = log.origins[log.originIds[row]!] as SinkBatch;
    const index = log.originIndexes[row]!;
    const { database, collection } = shapes.get(log.shapes[row]!).namespace;
    const error = new ConnectError(
      'SINK_RECORD_REJECTED',
      `the server refused the document: ${reason}; correct the record or the collection, or send such records to a dead letter queue with errors.tolerance=all`,
      { place: { ...partitionOf(batch), offset: batch.offset(index), table: `${database}.${collection}` } },
    );
    await context.reportErrantRecord(batch.record(index), error);
  }
}

/** A bulk write that has just begun may never end when the client is closed, if the server is silent. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Those of the documents that are there already, just as they are. */
async function presentOf(collection: Collection, documents: readonly Document[]): Promise<ReadonlySet<Document>> {
  const present = new Set<Document>();
  for (let from = 0; from < documents.length; from += LOOKED_UP) {
    const some = documents.slice(from, from + LOOKED_UP);
    const found = await collection
      .find({ _id: { $in: some.map(({ _id }) => _id) } }, { promoteValues: false, promoteLongs: false })
      .toArray();
    const forms = new Set(found.map(formOf));
    for (const document of some) if (forms.has(formOf(document))) present.add(document);
  }
  return present;
}

const formOf = (document: Document): string => Buffer.from(BSON.serialize(document)).toString('latin1');

const keyOf = (log: RowLog, row: number): string =>
  `${log.tables[row]} ${log.out.bytes.toString('latin1', log.keyStarts[row], log.keyEnds[row])}`;

const rowsOf = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** Rows that go together in different ways are never of one key. */
function endOfSameGrouping(log: RowLog, start: number, to: number, shapes: StatementShapes): number {
  const { grouping } = shapes.get(log.shapes[start]!);
  let end = start + 1;
  while (end < to && shapes.get(log.shapes[end]!).grouping === grouping) end++;
  return end;
}
