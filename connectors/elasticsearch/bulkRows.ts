/**
 * Rows of a log as the lines that they are in a bulk request: the action, with index, id and version, then the document. A request is made of them as
 * they are. The id within the action is the key of the row.
 */
import { type JsonValue, parseJson } from '../../schemas/json/exactJson.ts';
import { textBlock } from '../../schemas/json/jsonBytes.ts';
import { plainJsonText } from '../../schemas/json/jsonWriter.ts';
import type { Block } from '../../schemas/transcode/write.ts';
import { type RowLog, RowOp } from '../shared/rowLog.ts';
import { mergeMembers } from './mergeMembers.ts';

/**
 * `index`: a whole document. `create`: one that is only added. `update`: fields that are put into a document, or are a new one. `patch`: an `index`
 * whose document lacks fields, which are to be taken from the one that is there. `delete`.
 */
export type RowKind = 'index' | 'create' | 'update' | 'patch' | 'delete';

export interface RowForm {
  readonly number: number;
  readonly kind: RowKind;
  /** The index, data stream or alias. */
  readonly target: string;
  /** The same for all forms of the target. */
  readonly targetNumber: number;
  /** What stands before the id, and, where there is none, instead of it. */
  readonly beforeId: Block;
}

export const UPDATE_START = '{"doc":';
export const UPDATE_END = ',"doc_as_upsert":true}';

/** How often the target itself tries an update again that met another one. */
const RETRY_ON_CONFLICT = 5;
/** What stands behind the id and its quote. */
export const AFTER_ID = '}}\n';
export const AFTER_UPDATED_ID = `,"retry_on_conflict":${RETRY_ON_CONFLICT}}}\n`;

export class RowForms {
  readonly #forms: RowForm[] = [];
  readonly #byName = new Map<string, RowForm>();
  readonly #targets = new Map<string, number>();

  get(number: number): RowForm {
    return this.#forms[number]!;
  }

  of(kind: RowKind, target: string, hasId = true): RowForm {
    const name = `${kind} ${hasId} ${target}`;
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    let targetNumber = this.#targets.get(target);
    if (targetNumber === undefined) {
      targetNumber = this.#targets.size;
      this.#targets.set(target, targetNumber);
    }
    const action = kind === 'patch' ? 'index' : kind;
    const start = `{"${action}":{"_index":${JSON.stringify(target)}`;
    const beforeId = textBlock(hasId ? `${start},"_id":"` : `${start}}}\n`);
    const form: RowForm = { number: this.#forms.length, kind, target, targetNumber, beforeId };
    this.#forms.push(form);
    this.#byName.set(name, form);
    return form;
  }

  isWhole(number: number): boolean {
    const { kind } = this.get(number);
    return kind === 'index' || kind === 'create';
  }

  /** Appends the row of `later` with what it lacks taken from `earlier`; or gives the one of them that is all there is to write. */
  merge(log: RowLog, earlier: number, later: number): number {
    const old = this.get(log.shapes[earlier]!);
    const young = this.get(log.shapes[later]!);
    // The target takes the first one of an id, whether they come together or not.
    if (young.kind === 'create') return earlier;
    if (young.kind !== 'update' && young.kind !== 'patch') return later;
    const isDeep = young.kind === 'update';
    const merged = mergeMembers(this.document(log, earlier), this.document(log, later), isDeep);
    const kind = young.kind === 'patch' && old.kind !== 'patch' ? 'index' : young.kind;
    return this.append(log, later, this.of(kind, young.target), merged);
  }

  /** Appends a row with the action of `row` and another document. */
  append(log: RowLog, row: number, form: RowForm, document: JsonValue): number {
    const { out } = log;
    const start = out.position;
    const first = log.starts[row]!;
    const length = log.out.bytes.indexOf(NEWLINE, log.keyEnds[row]!) + 1 - first;
    out.ensure(length);
    out.bytes.copyWithin(start, first, first + length);
    out.position = start + length;
    const isUpdate = form.kind === 'update';
    out.writeUtf8(`${isUpdate ? UPDATE_START : ''}${plainJsonText(document)}${isUpdate ? UPDATE_END : ''}\n`);
    const keyStart = start + log.keyStarts[row]! - first;
    const keyEnd = start + log.keyEnds[row]! - first;
    const [originId, originIndex] = [log.originIds[row]!, log.originIndexes[row]!];
    return log.push(RowOp.write, form.number, form.targetNumber, start, keyStart, keyEnd, originId, originIndex);
  }

  document(log: RowLog, row: number): JsonValue {
    const isUpdate = this.get(log.shapes[row]!).kind === 'update';
    const start = log.out.bytes.indexOf(NEWLINE, log.keyEnds[row]!) + 1 + (isUpdate ? UPDATE_START.length : 0);
    const end = log.ends[row]! - 1 - (isUpdate ? UPDATE_END.length : 0);
    return parseJson(log.out.bytes.toString('utf8', start, end), true);
  }
}

const NEWLINE = 0x0a;

/** The id as a JSON text. */
export const quotedId = (log: RowLog, row: number): string =>
  `"${log.out.bytes.toString('utf8', log.keyStarts[row]!, log.keyEnds[row]!)}"`;

/** The bytes of the rows one after the other: of those that lie together, one slice. */
export function bulkBody(log: RowLog, rows: readonly number[]): Buffer {
  const { bytes } = log.out;
  const slices: Buffer[] = [];
  let start = -1;
  let end = -1;
  for (const row of rows) {
    if (log.starts[row] !== end) {
      if (start >= 0) slices.push(bytes.subarray(start, end));
      start = log.starts[row]!;
    }
    end = log.ends[row]!;
  }
  if (start >= 0) slices.push(bytes.subarray(start, end));
  return slices.length === 1 ? slices[0]! : Buffer.concat(slices);
}
