/** pgoutput's TupleData: int16 count, then per column `n`ull, `u`nchanged, or `t`ext | `b`inary with int32 length and bytes. */

const UNCHANGED = 0x75;
const TEXT = 0x74;
const BINARY = 0x62;

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

/** The new tuple with its unchanged columns taken from the old one (which is whole under REPLICA IDENTITY FULL). */
export function fillUnchanged(bytes: Buffer, view: DataView, oldTuple: number, newTuple: number): Buffer {
  columnStarts(bytes, view, oldTuple, oldStarts);
  columnStarts(bytes, view, newTuple, newStarts);
  const parts = [bytes.subarray(newTuple, newTuple + 2)];
  for (let i = 0; i < newStarts.length - 1; i++) {
    const starts = bytes[newStarts[i]!] === UNCHANGED ? oldStarts : newStarts;
    parts.push(bytes.subarray(starts[i], starts[i + 1]));
  }
  return Buffer.concat(parts);
}
