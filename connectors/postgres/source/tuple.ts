/** pgoutput's TupleData: int16 count, then per column `n`ull, `u`nchanged, or `t`ext | `b`inary with int32 length and bytes. */

const UNCHANGED = 0x75;
const TEXT = 0x74;
const BINARY = 0x62;
const NULL = 0x6e;

/** Position after the tuple at `p`. The tuple lies inside the bytes: the message length said so. */
export function skipTuple(bytes: Buffer, view: DataView, p: number): number {
  const count = view.getInt16(p);
  p += 2;
  for (let i = 0; i < count; i++) {
    const kind = bytes[p];
    p += kind === TEXT || kind === BINARY ? 5 + view.getInt32(p + 1) : 1;
  }
  return p;
}

export function hasUnchanged(bytes: Buffer, view: DataView, p: number): boolean {
  const count = view.getInt16(p);
  p += 2;
  for (let i = 0; i < count; i++) {
    const kind = bytes[p];
    if (kind === UNCHANGED) return true;
    p += kind === TEXT || kind === BINARY ? 5 + view.getInt32(p + 1) : 1;
  }
  return false;
}

/** Start of each column of the tuple at `p`, and its end, into `starts`. */
function columnStarts(bytes: Buffer, view: DataView, p: number, starts: number[]): void {
  const count = view.getInt16(p);
  p += 2;
  starts.length = 0;
  for (let i = 0; i < count; i++) {
    starts.push(p);
    const kind = bytes[p];
    p += kind === TEXT || kind === BINARY ? 5 + view.getInt32(p + 1) : 1;
  }
  starts.push(p);
}

const oldStarts: number[] = [];
const newStarts: number[] = [];

/** Whether any of the columns differs between two tuples of one relation; an unchanged column does not. */
export function columnsDiffer(
  bytes: Buffer,
  view: DataView,
  oldTuple: number,
  newTuple: number,
  columns: readonly number[],
): boolean {
  columnStarts(bytes, view, oldTuple, oldStarts);
  columnStarts(bytes, view, newTuple, newStarts);
  for (const column of columns) {
    const [a, b] = [oldStarts[column]!, newStarts[column]!];
    if (bytes[b] === UNCHANGED) continue;
    if (bytes.compare(bytes, b, newStarts[column + 1], a, oldStarts[column + 1]) !== 0) return true;
  }
  return false;
}

/** The new tuple with its unchanged columns taken from the old one, which is whole under REPLICA IDENTITY FULL and else has the identity's columns. */
export function fillUnchanged(bytes: Buffer, view: DataView, oldTuple: number, newTuple: number): Buffer {
  columnStarts(bytes, view, oldTuple, oldStarts);
  columnStarts(bytes, view, newTuple, newStarts);
  const parts = [bytes.subarray(newTuple, newTuple + 2)];
  for (let i = 0; i < newStarts.length - 1; i++) {
    const isFromOld = bytes[newStarts[i]!] === UNCHANGED && bytes[oldStarts[i]!] !== NULL;
    const starts = isFromOld ? oldStarts : newStarts;
    parts.push(bytes.subarray(starts[i], starts[i + 1]));
  }
  return Buffer.concat(parts);
}

/** The columns of a tuple that stands alone, each with its kind. */
export function columnSlices(tuple: Buffer): Buffer[] {
  const starts: number[] = [];
  columnStarts(tuple, new DataView(tuple.buffer, tuple.byteOffset, tuple.byteLength), 0, starts);
  return starts.slice(0, -1).map((start, i) => tuple.subarray(start, starts[i + 1]));
}

export const isNull = (slice: Buffer): boolean => slice[0] === NULL;
export const isUnchanged = (slice: Buffer): boolean => slice[0] === UNCHANGED;

export const unchangedOf = (tuple: Buffer): number[] =>
  columnSlices(tuple).flatMap((slice, i) => (isUnchanged(slice) ? [i] : []));

export function tupleOf(slices: readonly Buffer[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(slices.length);
  return Buffer.concat([count, ...slices]);
}

/** A parameter that stands for the value: bytes are sent in binary. */
export const parameterOf = (slice: Buffer): string | Buffer =>
  slice[0] === TEXT ? slice.toString('utf8', 5) : slice.subarray(5);

export const NULL_VALUE = Buffer.of(NULL);

/** A column of a tuple from the server's text of it, or from the hex digits of its binary form. */
export function columnOf(text: string | null, isBinary: boolean): Buffer {
  if (text === null) return NULL_VALUE;
  const content = isBinary ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text);
  const head = Buffer.alloc(5);
  head[0] = isBinary ? BINARY : TEXT;
  head.writeInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}
