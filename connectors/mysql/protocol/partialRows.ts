/**
 * PARTIAL_UPDATE_ROWS: updates in which documents of JSON may be told by what changed in them. They become ordinary rows, whose changed documents are text.
 * The row behind a change: options, a bit for each JSON column if some are partial, then bitmap and columns as always.
 */
import { ByteReader } from './byteReader.ts';
import { jsonText, textDocument } from './jsonBinary.ts';
import { applyJsonDiffs } from './jsonDiff.ts';
import { bitCount } from './logTypes.ts';
import type { RowShape } from './rowShape.ts';

const PARTIAL_JSON = 1;
const LENGTH_BYTES = 4;

/** Rows in bytes[first, end) as an UPDATE_ROWS event has them. */
export function wholeRows(
  bytes: Buffer,
  first: number,
  end: number,
  shape: RowShape,
  jsonColumns: readonly number[],
): Buffer {
  const parts: Buffer[] = [];
  for (let p = first; p < end; ) {
    const after = shape.end(bytes, p);
    parts.push(bytes.subarray(p, after));
    const reader = new ByteReader(bytes, after, end);
    const isPartial = (reader.packed() & PARTIAL_JSON) !== 0;
    const bits = isPartial ? reader.slice(bitCount(jsonColumns.length)) : null;
    const row = reader.position;
    let q = row + shape.bitmapBytes;
    parts.push(bytes.subarray(row, q));
    for (let i = 0; i < shape.columnCount; i++) {
      if (shape.isNull(bytes, row, i)) continue;
      const next = shape.behind(bytes, q, i);
      const n = jsonColumns.indexOf(i);
      const isDiff = bits !== null && n >= 0 && ((bits[n >> 3]! >> (n & 7)) & 1) === 1;
      if (isDiff) parts.push(...documentAfter(bytes, p, i, bytes.subarray(q + LENGTH_BYTES, next), shape));
      else parts.push(bytes.subarray(q, next));
      q = next;
    }
    p = q;
  }
  return Buffer.concat(parts);
}

function documentAfter(bytes: Buffer, before: number, column: number, diffs: Buffer, shape: RowShape): Buffer[] {
  if (shape.isNull(bytes, before, column)) throw new RangeError('a document that is null was changed in part');
  const start = shape.column(bytes, before, column);
  const text = jsonText(bytes, start + LENGTH_BYTES, shape.behind(bytes, start, column));
  const document = textDocument(applyJsonDiffs(text, diffs));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(document.length);
  return [length, document];
}
