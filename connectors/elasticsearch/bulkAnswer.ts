/** What the answer to a bulk request says of its rows, by their order. */
import type { RowKind } from './bulkRows.ts';
import { ErrorAnswer, type ErrorCause, reasonOf } from './elasticFailure.ts';

/** `stale`: the target has a newer version. `known`: it has one of the same version, or a document of that id which is only added. */
export interface FailedRow {
  readonly row: number;
  readonly kind: 'malformed' | 'stale' | 'known';
  readonly reason: string;
  /** That was refused, where the reason names one. */
  readonly field: string | undefined;
  readonly versions?: { readonly stored: string; readonly offered: string };
}

export interface BulkOutcome {
  /** Rows that are to be sent again. */
  readonly busy: readonly number[];
  readonly failed: readonly FailedRow[];
  /** Of the first busy row. */
  readonly reason: string;
}

interface Item {
  readonly status: number;
  readonly error?: ErrorCause;
}

/** What an answer begins with if all is well. */
const NO_ERRORS = Buffer.from('{"errors":false');
const BUSY = new Set([429, 502, 503, 504]);
/** Of a whole index, whatever the document. */
const INDEX_REFUSALS = new Set(['index_closed_exception', 'invalid_index_name_exception']);
const NO_WRITE_INDEX = /no write index is defined/;

/** Throws ErrorAnswer for a failure that lies neither in a document nor in the load. */
export function readItems(body: Buffer, rows: readonly number[], kindOf: (row: number) => RowKind): BulkOutcome {
  if (body.subarray(0, NO_ERRORS.length).equals(NO_ERRORS)) return { busy: [], failed: [], reason: '' };
  const { items } = JSON.parse(body.toString()) as { items: readonly Readonly<Record<string, Item>>[] };
  const busy: number[] = [];
  const failed: FailedRow[] = [];
  let firstReason = '';
  rows.forEach((row, i) => {
    const { status, error = {} } = Object.values(items[i]!)[0]!;
    if (status < 300 || (status === 404 && error.type === undefined)) return;
    const reason = reasonOf(error);
    const kind = kindOf(row);
    // An update that another writer was faster than is to be made from what is there now.
    if (BUSY.has(status) || (status === 409 && kind === 'update')) {
      firstReason ||= reason;
      busy.push(row);
    } else if (status === 409) failed.push(conflict(row, kind, error, reason));
    else if (status === 400 && !isOfIndex(error))
      failed.push({ row, kind: 'malformed', reason, field: refusedField(error) });
    else throw new ErrorAnswer('a document of POST /_bulk', status, error.type ?? '', reason);
  });
  return { busy, failed, reason: firstReason };
}

const isOfIndex = ({ type = '', reason = '' }: ErrorCause): boolean =>
  INDEX_REFUSALS.has(type) || NO_WRITE_INDEX.test(reason);

function conflict(row: number, kind: RowKind, error: ErrorCause, reason: string): FailedRow {
  const found = /current version \[(-?\d+)\].*provided \[(-?\d+)\]/.exec(error.reason ?? '');
  if (kind === 'create') return { row, kind: 'known', reason, field: undefined };
  if (found === null) return { row, kind: 'stale', reason, field: undefined };
  const [, stored, offered] = found as unknown as [string, string, string];
  const versions = { stored, offered };
  return { row, kind: stored === offered ? 'known' : 'stale', reason, field: undefined, versions };
}

/** `failed to parse field [qty] of type [integer]`; `mapping set to strict, dynamic introduction of [x] within [_doc] is not allowed`. */
const refusedField = ({ reason = '' }: ErrorCause): string | undefined =>
  /(?:field|introduction of|mapping for) \[([^\]]+)\]/.exec(reason)?.[1];
