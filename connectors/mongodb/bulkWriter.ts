/**
 * Writes rows of a log: folds them by key and sends what is left as bulk writes, one for each collection of the flush. Documents that the server refuses are found
 * by its answer; the others of the same bulk are written. What was folded into a refused one is written again record by record, so that only what is refused then is
 * reported: a record before it has its effect, and values of unique indexes may move from document to document.
 */
import {
  type AnyBulkWriteOperation,
  BSON,
  type Collection,
  type Document,
  MongoBulkWriteError,
  type MongoClient,
} from 'mongodb';
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
import { byEquality, isWhole, type StatementShape, type StatementShapes, statementOf } from './statements.ts';

export interface BulkWriterOptions {
  readonly client: MongoClient;
  readonly shapes: StatementShapes;
  readonly isOrdered: boolean;
  /** Waits where a bulk write has to; one for all writers of the task. */
  readonly limitRate: () => Promise<void>;
  readonly context: SinkTaskContext;
}

interface Refused {
  readonly row: number;
  readonly reason: string;
}

export class BulkWriter implements FlushTarget {
  readonly #options: BulkWriterOptions;
  /** Whether some of what is written now may have been written by a try before, whose answer did not come. */
  #mayRepeat = false;

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
    try {
      for (let start = from; start < to; ) {
        const end = endOfSameGrouping(log, start, to, this.#options.shapes);
        refused.push(...(await this.#writeRange(log, start, end)));
        start = end;
      }
      this.#mayRepeat = false;
      return refused;
    } catch (error) {
      this.#mayRepeat = true;
      throw error;
    }
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
        const failed = await this.#bulkWrite(log, shape, rest, isOrdered);
        refused.push(...failed);
        // An ordered bulk ends at a document that is refused.
        const last = failed.at(-1);
        rest = isOrdered && last !== undefined ? rest.slice(rest.indexOf(last.row) + 1) : [];
      }
    return refused;
  }

  async #bulkWrite(
    log: RowLog,
    { namespace, kind }: StatementShape,
    rows: readonly number[],
    isOrdered: boolean,
  ): Promise<Refused[]> {
    const { client, shapes, limitRate, context } = this.#options;
    const { metrics } = context;
    await limitRate();
    const now = new Date();
    const statements = rows.map(row => statementOf(log, row, shapes.get(log.shapes[row]!).kind, now));
    const collection = client.db(namespace.database).collection(namespace.collection);
    metrics.count('bulk_writes');
    try {
      const result = await untilAborted(collection.bulkWrite(statements, { ordered: isOrdered }), context.signal);
      metrics.count('documents_written', result.insertedCount + result.matchedCount + result.upsertedCount);
      metrics.count('documents_deleted', result.deletedCount);
      if (kind === 'patch' && !isOrdered && result.upsertedCount > 0)
        metrics.count('documents_incomplete', result.upsertedCount);
      return [];
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError) || classifyMongoFailure(error) !== 'record') throw withoutWrap(error);
      const { result } = error;
      metrics.count('documents_written', result.insertedCount + result.matchedCount + result.upsertedCount);
      metrics.count('documents_deleted', result.deletedCount);
      const refused: Refused[] = [];
      for (const each of writeErrorsOf(error)) {
        if (this.#mayRepeat && isDuplicateKey(each) && (await isThere(collection, statements[each.index]!))) continue;
        refused.push({ row: rows[each.index]!, reason: documentReason(each) });
      }
      return refused;
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

/** Whether the very document that was to be inserted is there. */
async function isThere(collection: Collection, statement: AnyBulkWriteOperation<Document>): Promise<boolean> {
  if (!('insertOne' in statement)) return false;
  const { document } = statement.insertOne;
  const found = await collection.findOne(byEquality({ _id: document._id }), {
    promoteValues: false,
    promoteLongs: false,
  });
  return found !== null && Buffer.compare(BSON.serialize(found), BSON.serialize(document)) === 0;
}

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
