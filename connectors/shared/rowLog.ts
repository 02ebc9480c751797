/**
 * The rows of one flush, in the order in which they came: encoded for the target, with their keys as slices of the same bytes, so that rows are
 * folded and found again without an object per row. What the bytes mean is the sink's affair.
 */
import { OutputBuffer } from '../../schemas/outputBuffer.ts';

/** What a row does. `create` = a row that may well be new here: new at its source, or not known to be a change; `write` = a changed row. */
export const RowOp = { create: 0, write: 1, delete: 2, truncate: 3 } as const;
export type RowOp = (typeof RowOp)[keyof typeof RowOp];

const SHORT_ROW_BYTES = 64;
/** Memory that an empty log keeps for the next rows. */
const MAX_KEPT_BYTES = 16 << 20;

export class RowLog {
  readonly out: OutputBuffer;
  count = 0;
  ops: Uint8Array;
  /** Index of the row's shape (table, columns) in the sink's list. */
  shapes: Int32Array;
  /** Rows with the same number have the same key columns: one number per table. */
  tables: Int32Array;
  starts: Int32Array;
  ends: Int32Array;
  /** The key, part of the row; empty = the row has none. */
  keyStarts: Int32Array;
  keyEnds: Int32Array;
  hashes: Int32Array;
  /** The record that the row came from: index into `origins`, and in that batch. */
  originIds: Int32Array;
  originIndexes: Int32Array;
  origins: unknown[] = [];

  constructor(rows = 1024, bytes = 1 << 16) {
    this.out = new OutputBuffer(bytes);
    this.ops = new Uint8Array(rows);
    this.shapes = new Int32Array(rows);
    this.tables = new Int32Array(rows);
    this.starts = new Int32Array(rows);
    this.ends = new Int32Array(rows);
    this.keyStarts = new Int32Array(rows);
    this.keyEnds = new Int32Array(rows);
    this.hashes = new Int32Array(rows);
    this.originIds = new Int32Array(rows);
    this.originIndexes = new Int32Array(rows);
  }

  get byteLength(): number {
    return this.out.position;
  }

  /** Remembers a batch of records; the number is what rows name as their origin. The same batch again gives the same number. */
  origin(batch: unknown): number {
    if (this.origins.at(-1) !== batch) this.origins.push(batch);
    return this.origins.length - 1;
  }

  /** Ends a row whose bytes were appended to `out` from `start` on. Returns its index. */
  push(
    op: RowOp,
    shape: number,
    table: number,
    start: number,
    keyStart: number,
    keyEnd: number,
    originId: number,
    originIndex: number,
  ): number {
    const hash = hashBytes(this.out.bytes, keyStart, keyEnd, table);
    return this.#place(op, shape, table, start, keyStart, keyEnd, hash, originId, originIndex);
  }

  /** Appends a copy of a row of another log, with another origin where one is given. Returns its index. */
  copyRow(from: RowLog, row: number, origin: unknown = from.origins[from.originIds[row]!]): number {
    const { out } = this;
    const first = from.starts[row]!;
    const length = from.ends[row]! - first;
    out.ensure(length);
    const start = out.position;
    const [source, target] = [from.out.bytes, out.bytes];
    // A call costs more than the bytes of a short row.
    if (length <= SHORT_ROW_BYTES) for (let i = 0; i < length; i++) target[start + i] = source[first + i]!;
    else source.copy(target, start, first, first + length);
    out.position = start + length;
    return this.#place(
      from.ops[row] as RowOp,
      from.shapes[row]!,
      from.tables[row]!,
      start,
      from.keyStarts[row]! - first + start,
      from.keyEnds[row]! - first + start,
      from.hashes[row]!,
      this.origin(origin),
      from.originIndexes[row]!,
    );
  }

  #place(
    op: RowOp,
    shape: number,
    table: number,
    start: number,
    keyStart: number,
    keyEnd: number,
    hash: number,
    originId: number,
    originIndex: number,
  ): number {
    const row = this.count;
    if (row === this.ops.length) this.#grow();
    this.ops[row] = op;
    this.shapes[row] = shape;
    this.tables[row] = table;
    this.starts[row] = start;
    this.ends[row] = this.out.position;
    this.keyStarts[row] = keyStart;
    this.keyEnds[row] = keyEnd;
    this.hashes[row] = hash;
    this.originIds[row] = originId;
    this.originIndexes[row] = originIndex;
    this.count = row + 1;
    return row;
  }

  sameKey(a: number, b: number): boolean {
    if (this.hashes[a] !== this.hashes[b] || this.tables[a] !== this.tables[b]) return false;
    const bytes = this.out.bytes;
    let i = this.keyStarts[a]!;
    let j = this.keyStarts[b]!;
    const end = this.keyEnds[a]!;
    if (end - i !== this.keyEnds[b]! - j) return false;
    while (i < end) if (bytes[i++] !== bytes[j++]) return false;
    return true;
  }

  /** Forgets rows from `count` on, and their bytes. */
  truncate(count: number, position: number): void {
    this.count = count;
    this.out.position = position;
  }

  reset(): void {
    this.count = 0;
    this.out.reset();
    if (this.out.bytes.length > MAX_KEPT_BYTES) this.out.bytes = Buffer.allocUnsafe(MAX_KEPT_BYTES);
    this.origins = [];
  }

  #grow(): void {
    const size = this.ops.length * 2;
    const longer = (old: Int32Array): Int32Array => {
      const grown = new Int32Array(size);
      grown.set(old);
      return grown;
    };
    const ops = new Uint8Array(size);
    ops.set(this.ops);
    this.ops = ops;
    this.shapes = longer(this.shapes);
    this.tables = longer(this.tables);
    this.starts = longer(this.starts);
    this.ends = longer(this.ends);
    this.keyStarts = longer(this.keyStarts);
    this.keyEnds = longer(this.keyEnds);
    this.hashes = longer(this.hashes);
    this.originIds = longer(this.originIds);
    this.originIndexes = longer(this.originIndexes);
  }
}

/** FNV-1a, mixed at the end: sequential keys must spread over the low bits. */
function hashBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
