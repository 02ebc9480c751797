/**
 * Document ids from record keys. A key of one field, or that is no struct, is its text as it is; several fields are joined by `|` in the order of the
 * schema, with `\` before a `|` or `\` of their own and `\N` for null, so that different keys never have the same id.
 */
import { ConnectError } from '../../runtime/api/index.ts';
import type { RunField } from '../shared/changeRun.ts';
import { sourceKind } from '../shared/sourceKind.ts';
import { jsonText, textOf } from '../shared/textForm.ts';

/** What the target takes. */
const MAX_ID_BYTES = 512;

type Column = readonly unknown[];

/** The id of record `i`, whose key has these fields. Throws SINK_KEY_MISSING and SINK_DOCUMENT_ID. */
export function idReader(fields: readonly RunField[]): (columns: readonly Column[], i: number) => string {
  const texts = fields.map(textOfKey);
  if (fields.length === 0) {
    return () => {
      throw noKey();
    };
  }
  if (fields.length === 1) {
    const text = texts[0]!;
    return (columns, i) => {
      const value = columns[0]![i];
      if (value === null || value === undefined) throw noKey(fields[0]!.name);
      return checked(text(value));
    };
  }
  return (columns, i) => {
    let id = '';
    let isNull = true;
    for (let k = 0; k < texts.length; k++) {
      const value = columns[k]![i];
      if (k > 0) id += '|';
      if (value === null || value === undefined) id += '\\N';
      else {
        isNull = false;
        id += escaped(texts[k]!(value));
      }
    }
    if (isNull) throw noKey();
    return checked(id);
  };
}

const escaped = (text: string): string => (/[|\\]/.test(text) ? text.replace(/[|\\]/g, '\\$&') : text);

function textOfKey({ schema }: RunField): (value: unknown) => string {
  const kind = sourceKind(schema);
  if (schema === null || kind === 'bytes' || kind === 'struct' || kind === 'map' || kind === 'array')
    return value => (typeof value === 'string' ? value : unquoted(jsonText(value)));
  return textOf(kind, schema);
}

/** Bytes are base64 in quotes. */
const unquoted = (text: string): string => (text.startsWith('"') ? text.slice(1, -1) : text);

function checked(id: string): string {
  if (id.length > MAX_ID_BYTES / 3 && Buffer.byteLength(id) > MAX_ID_BYTES)
    throw new ConnectError(
      'SINK_DOCUMENT_ID',
      `the key of the record is ${Buffer.byteLength(id)} bytes long as a document id, and the target takes ${MAX_ID_BYTES}; take a shorter key, or set key.ignore=true`,
    );
  if (id === '')
    throw new ConnectError(
      'SINK_DOCUMENT_ID',
      'the key of the record is an empty text, which is no document id; correct the producer, or set key.ignore=true',
    );
  return id;
}

const noKey = (field = ''): ConnectError =>
  new ConnectError(
    'SINK_KEY_MISSING',
    field === ''
      ? 'the record has no key, which is the id of its document; give its source a key, or set key.ignore=true to take each record as a document of its own'
      : `the record has no value for key field "${field}", which is the id of its document; correct the producer, or set key.ignore=true`,
  );
