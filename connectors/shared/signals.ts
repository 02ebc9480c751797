/** Signals, as rows of the signal table and records of the signal topic have them: id, type, and data as JSON. */

export type Signal =
  | {
      readonly type: 'execute-snapshot';
      readonly id: string;
      /** incremental: in chunks beside the stream; blocking: at once, while the stream waits. */
      readonly kind: 'incremental' | 'blocking';
      /** Regular expressions of tables. */
      readonly collections: readonly string[];
      readonly conditions: readonly { readonly collection: string; readonly filter: string }[];
      readonly surrogateKey: string | null;
    }
  /** Without collections: of all. */
  | { readonly type: 'stop-snapshot'; readonly id: string; readonly collections: readonly string[] }
  | { readonly type: 'pause-snapshot' | 'resume-snapshot'; readonly id: string }
  | { readonly type: 'log'; readonly id: string; readonly message: string };

/** Rows that Debezium writes into the table of signals itself, around each chunk. */
const OWN_MARKS = ['snapshot-window-open', 'snapshot-window-close'];

/** Null for what asks for nothing. Throws an Error that says what is malformed, or unknown. */
export function parseSignal(id: string, type: string, data: string | null): Signal | null {
  switch (type) {
    case 'execute-snapshot': {
      const body = objectOf(data);
      const kind = String(body.type ?? 'incremental').toLowerCase();
      if (kind !== 'incremental' && kind !== 'blocking') {
        throw new Error(`there are no snapshots of type ${kind}, use "incremental" or "blocking"`);
      }
      const collections = texts(body['data-collections']);
      if (collections.length === 0) throw new Error('it has no data-collections');
      const conditions = list(body['additional-conditions']).map(entry => ({
        collection: String((entry as Record<string, unknown>)['data-collection'] ?? '.*'),
        filter: String((entry as Record<string, unknown>).filter ?? 'true'),
      }));
      const common = body['additional-condition'];
      if (typeof common === 'string' && common !== '') conditions.push({ collection: '.*', filter: common });
      const surrogate = body['surrogate-key'];
      return {
        type,
        id,
        kind,
        collections,
        conditions,
        surrogateKey: typeof surrogate === 'string' && surrogate !== '' ? surrogate : null,
      };
    }
    case 'stop-snapshot':
      return { type, id, collections: data === null ? [] : texts(objectOf(data)['data-collections']) };
    case 'pause-snapshot':
    case 'resume-snapshot':
      return { type, id };
    case 'log':
      return { type, id, message: String(objectOf(data).message ?? '') };
    default:
      if (OWN_MARKS.includes(type)) return null;
      throw new Error(
        `there are no signals of type "${type}", use execute-snapshot, stop-snapshot, pause-snapshot, resume-snapshot or log`,
      );
  }
}

function objectOf(data: string | null): Record<string, unknown> {
  const value: unknown = JSON.parse(data ?? '{}');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('its data is not an object');
  return value as Record<string, unknown>;
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.some(entry => typeof entry !== 'object' || entry === null)) {
    throw new Error('additional-conditions is not a list of objects');
  }
  return value;
}

function texts(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.some(text => typeof text !== 'string')) {
    throw new Error('data-collections is not a list of texts');
  }
  return value;
}

/** Whether a pattern of a signal names the table: a regular expression of schema.table, anchored and without case. */
export function namesTable(pattern: string, table: string): boolean {
  if (pattern === table) return true;
  try {
    return new RegExp(`^(?:${pattern})$`, 'i').test(table);
  } catch {
    // Not an expression, so a name, which it is not.
    return false;
  }
}
