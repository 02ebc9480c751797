/**
 * Writes rows of a log to the target: folds them by id, completes those that lack fields, and sends what is left in bulk requests, each row as it stands in
 * the log. What the target could not take for now is sent again, and only that; what it refuses is reported, document by document.
 */
import { isDeepStrictEqual } from 'node:util';
import type { SinkTaskContext } from '../../runtime/api/index.ts';
import { type JsonValue, parseJson } from '../../schemas/json/exactJson.ts';
import type { FlushTarget } from '../shared/flushLane.ts';
import { type FoldRules, foldRows } from '../shared/foldRows.ts';
import type { FailureClass, Retry } from '../shared/retryTransient.ts';
import { type RowLog, RowOp } from '../shared/rowLog.ts';
import { type FailedRow, readItems } from './bulkAnswer.ts';
import { bulkBody, quotedId, type RowForms } from './bulkRows.ts';
import type { SinkSettings } from './config.ts';
import type { ElasticClient } from './elasticClient.ts';
import { BusyTarget, classifyElasticFailure, ErrorAnswer, errorAnswer, reasonOf } from './elasticFailure.ts';
import { mergeMembers } from './mergeMembers.ts';
import type { RefusedDocuments } from './refusedDocuments.ts';

/** Of an answer only what tells which rows failed, and why. */
const BULK_PATH =
  '/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.type';
const GET_PATH = '/_mget?filter_path=docs.found,docs._source,docs.error.type,docs.error.reason';

export class BulkWriter implements FlushTarget {
  readonly #client: ElasticClient;
  readonly #forms: RowForms;
  readonly #refused: RefusedDocuments;
  readonly #retry: Retry;
  readonly #context: SinkTaskContext;
  readonly #rules: FoldRules;
  #maxBytes: number;
  /** Of the write under way. */
  #refusedRows: number[] = [];

  constructor(options: {
    client: ElasticClient;
    settings: SinkSettings;
    forms: RowForms;
    refused: RefusedDocuments;
    retry: Retry;
    context: SinkTaskContext;
  }) {
    const { forms } = options;
    this.#client = options.client;
    this.#forms = forms;
    this.#refused = options.refused;
    this.#retry = options.retry;
    this.#context = options.context;
    this.#maxBytes = options.settings.maxBytes;
    this.#rules = {
      mode: 'merge',
      isComplete: form => forms.isWhole(form),
      merge: (log, earlier, later) => forms.merge(log, earlier, later),
    };
  }

  classify(error: unknown): FailureClass {
    return classifyElasticFailure(error);
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    const { metrics } = this.#context;
    const { steps, foldedRows } = foldRows(log, from, to, this.#rules);
    this.#refusedRows = [];
    for (const { deletes, writes } of steps) {
      const incomplete = writes.filter(row => !this.#forms.isWhole(log.shapes[row]!));
      // Only what is no whole document can meet its own deletion here.
      const isApart = deletes.length > 0 && incomplete.length > 0;
      if (isApart) await this.#send(log, deletes);
      const completed = incomplete.length > 0 ? await this.#complete(log, writes) : writes;
      await this.#send(log, isApart || deletes.length === 0 ? completed : inOrder([...deletes, ...completed]));
    }
    // Those that are refused on the way back have theirs before them already.
    for (const row of [...this.#refusedRows]) await this.#fallBack(log, from, to, row);
    metrics.count('folded_records', foldedRows);
    metrics.count('records_written', to - from);
  }

  /** Writes what was folded into a row that the target refused. */
  async #fallBack(log: RowLog, from: number, to: number, refused: number): Promise<void> {
    if (log.keyStarts[refused] === log.keyEnds[refused]) return;
    for (let row = from; row < to && !sameOrigin(log, row, refused); row++) {
      if (log.sameKey(row, refused)) await this.#send(log, await this.#complete(log, [row]));
    }
  }

  /** Puts what the target has in the place of the fields that rows lack. A document that is not there is written without them. */
  async #complete(log: RowLog, rows: readonly number[]): Promise<readonly number[]> {
    const patches = rows.filter(row => this.#forms.get(log.shapes[row]!).kind === 'patch');
    if (patches.length === 0) return rows;
    const found = await this.#retry(() => this.#read(log, patches));
    const whole = new Map<number, number>();
    patches.forEach((row, i) => {
      const source = found[i];
      if (source === undefined) {
        this.#context.metrics.count('documents_incomplete');
        return;
      }
      const form = this.#forms.of('index', this.#forms.get(log.shapes[row]!).target);
      whole.set(row, this.#forms.append(log, row, form, mergeMembers(source, this.#forms.document(log, row), false)));
    });
    return rows.map(row => whole.get(row) ?? row);
  }

  /** The documents that the target has for the rows; undefined = none. */
  async #read(log: RowLog, rows: readonly number[]): Promise<readonly (JsonValue | undefined)[]> {
    const docs = rows.map(row => {
      const { target } = this.#forms.get(log.shapes[row]!);
      return `{"_index":${JSON.stringify(target)},"_id":${quotedId(log, row)}}`;
    });
    const body = `{"docs":[${docs.join(',')}]}`;
    const answer = await this.#client.send({ method: 'POST', path: GET_PATH, body });
    if (answer.status !== 200) throw errorAnswer('POST /_mget', answer);
    const read = parseJson(answer.body.toString(), true) as {
      docs: { found?: boolean; _source?: JsonValue; error?: { type?: string; reason?: string } }[];
    };
    return read.docs.map(({ found, _source, error }) => {
      if (error !== undefined) throw new ErrorAnswer('POST /_mget', 200, error.type ?? '', reasonOf(error));
      return found === true ? _source : undefined;
    });
  }

  async #send(log: RowLog, rows: readonly number[]): Promise<void> {
    for (const request of cut(log, rows, this.#maxBytes)) await this.#sendRequest(log, request);
  }

  async #sendRequest(log: RowLog, rows: readonly number[]): Promise<void> {
    const { metrics } = this.#context;
    let pending = rows;
    const tooLarge = await this.#retry(async () => {
      const body = bulkBody(log, pending);
      metrics.count('bulk_requests');
      metrics.count('bytes_written', body.length);
      const answer = await this.#client.send({ method: 'POST', path: BULK_PATH, body, type: 'application/x-ndjson' });
      if (answer.status === 413) return errorAnswer('POST /_bulk', answer);
      if (answer.status !== 200) throw errorAnswer('POST /_bulk', answer);
      const { busy, failed, reason } = readItems(answer.body, pending, row => this.#forms.get(log.shapes[row]!).kind);
      metrics.count('documents_written', pending.length - busy.length - failed.length);
      pending = busy;
      for (const failure of await this.#recognised(log, failed)) await this.#take(log, failure);
      if (busy.length > 0) throw new BusyTarget(busy.length, reason);
      return null;
    });
    if (tooLarge === null) return;
    if (pending.length === 1) {
      await this.reject(log, pending[0]!, tooLarge);
      return;
    }
    metrics.count('bulk_halvings');
    const middle = pending.length >> 1;
    this.#maxBytes = Math.max(1024, Math.min(this.#maxBytes, bytesOf(log, pending) >> 1));
    await this.#sendRequest(log, pending.slice(0, middle));
    await this.#sendRequest(log, pending.slice(middle));
  }

  /** Versions of two topics, or of one that was made anew, are equal now and then: a record was written before only if the target has what it says. */
  async #recognised(log: RowLog, failed: readonly FailedRow[]): Promise<readonly FailedRow[]> {
    const doubtful = failed.filter(({ kind, versions }) => kind === 'known' && versions !== undefined);
    if (doubtful.length === 0) return failed;
    const rows = doubtful.map(({ row }) => row);
    const found = await this.#retry(() => this.#read(log, rows));
    const wrong = new Set(rows.filter((row, i) => !this.#isThere(log, row, found[i])));
    return failed.map(failure => (wrong.has(failure.row) ? { ...failure, kind: 'stale' } : failure));
  }

  #isThere(log: RowLog, row: number, found: JsonValue | undefined): boolean {
    if (log.ops[row] === RowOp.delete) return found === undefined;
    return found !== undefined && isDeepStrictEqual(found, this.#forms.document(log, row));
  }

  reject(log: RowLog, row: number, error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    return this.#take(log, { row, kind: 'malformed', reason, field: undefined });
  }

  async #take(log: RowLog, failure: FailedRow): Promise<void> {
    await this.#refused.take(log, failure);
    if (failure.kind === 'malformed') this.#refusedRows.push(failure.row);
  }
}

const sameOrigin = (log: RowLog, a: number, b: number): boolean =>
  log.originIds[a] === log.originIds[b] && log.originIndexes[a] === log.originIndexes[b];

const inOrder = (rows: number[]): number[] => rows.sort((a, b) => a - b);

const bytesOf = (log: RowLog, rows: readonly number[]): number =>
  rows.reduce((sum, row) => sum + log.ends[row]! - log.starts[row]!, 0);

/** Parts of at most so many bytes; a row that has more is alone. */
function* cut(log: RowLog, rows: readonly number[], maxBytes: number): Generator<readonly number[]> {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < rows.length; at++) {
    const length = log.ends[rows[at]!]! - log.starts[rows[at]!]!;
    if (bytes > 0 && bytes + length > maxBytes) {
      yield rows.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += length;
  }
  if (from < rows.length) yield from === 0 ? rows : rows.slice(from);
}
