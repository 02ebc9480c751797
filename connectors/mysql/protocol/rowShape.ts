/** Where rows of one table end in a row event: rows follow each other without a length. A row whose columns are all fixed and not null takes no loop. */
import { bitCount } from './logTypes.ts';

export class RowShape {
  readonly columnCount: number;
  readonly bitmapBytes: number;
  private readonly extents: Int32Array;
  /** Columns with a length in front of them, and the bytes of fixed columns before each and behind the last, for rows without null. */
  private readonly lengths: Int32Array;
  private readonly fixedBefore: Int32Array;
  /** Bytes of the columns that a byte of the bitmap is about; -1 where one of them has a length in front. */
  private readonly fixedOfEight: Int32Array;
  /** The bits of a bitmap's last byte that belong to columns. */
  private readonly lastMask: number;

  constructor(extents: readonly number[]) {
    this.columnCount = extents.length;
    this.bitmapBytes = bitCount(extents.length);
    this.extents = Int32Array.from(extents);
    this.lengths = Int32Array.from(extents.filter(extent => extent < 0));
    const fixed = [0];
    for (const extent of extents) {
      if (extent < 0) fixed.push(0);
      else fixed[fixed.length - 1]! += extent;
    }
    this.fixedBefore = Int32Array.from(fixed);
    this.fixedOfEight = Int32Array.from({ length: this.bitmapBytes }, (_, group) =>
      extents.slice(group * 8, group * 8 + 8).reduce((sum, extent) => (sum < 0 || extent < 0 ? -1 : sum + extent), 0),
    );
    this.lastMask = extents.length % 8 === 0 ? 0xff : (1 << (extents.length % 8)) - 1;
  }

  /** Whether all columns are in a bitmap of present columns. */
  isFull(bytes: Buffer, bitmap: number): boolean {
    const last = this.bitmapBytes - 1;
    for (let i = 0; i < last; i++) if (bytes[bitmap + i] !== 0xff) return false;
    return (bytes[bitmap + last]! & this.lastMask) === this.lastMask;
  }

  /** Position behind the row at p. May lie behind the end of a damaged event: the caller compares. */
  end(bytes: Buffer, p: number): number {
    const { bitmapBytes } = this;
    let nulls = 0;
    for (let i = 0; i < bitmapBytes - 1; i++) nulls |= bytes[p + i]!;
    nulls |= bytes[p + bitmapBytes - 1]! & this.lastMask;
    if (nulls !== 0) return this.endWithNulls(bytes, p);
    const { lengths, fixedBefore } = this;
    let q = p + bitmapBytes + fixedBefore[0]!;
    for (let i = 0; i < lengths.length; i++) q = skip(bytes, q, lengths[i]!) + fixedBefore[i + 1]!;
    return q;
  }

  /** Eight columns at once where none of them is null and all are fixed. */
  private endWithNulls(bytes: Buffer, row: number): number {
    const { extents, fixedOfEight } = this;
    let q = row + this.bitmapBytes;
    for (let group = 0; group < fixedOfEight.length; group++) {
      let nulls = bytes[row + group]!;
      const fixed = fixedOfEight[group]!;
      if (nulls === 0 && fixed >= 0) {
        q += fixed;
        continue;
      }
      const last = Math.min(group * 8 + 8, extents.length);
      for (let i = group * 8; i < last; i++, nulls >>= 1) {
        if ((nulls & 1) === 1) continue;
        const extent = extents[i]!;
        q = extent >= 0 ? q + extent : skip(bytes, q, extent);
      }
    }
    return q;
  }

  isNull(bytes: Buffer, row: number, column: number): boolean {
    return ((bytes[row + (column >> 3)]! >> (column & 7)) & 1) === 1;
  }

  /** Where a column's bytes begin, its length included; the end of the row for the column behind the last. */
  column(bytes: Buffer, row: number, column: number): number {
    const { extents } = this;
    let q = row + this.bitmapBytes;
    for (let i = 0; i < column; i++) {
      if (((bytes[row + (i >> 3)]! >> (i & 7)) & 1) === 1) continue;
      const extent = extents[i]!;
      q = extent >= 0 ? q + extent : skip(bytes, q, extent);
    }
    return q;
  }

  /** Position behind the value of a column that is not null and begins at q. */
  behind(bytes: Buffer, q: number, column: number): number {
    const extent = this.extents[column]!;
    return extent >= 0 ? q + extent : skip(bytes, q, extent);
  }

  /** Whether two rows differ in one of the columns, as bytes. */
  differ(bytes: Buffer, a: number, b: number, columns: readonly number[]): boolean {
    for (const column of columns) {
      const isNull = this.isNull(bytes, a, column);
      if (isNull !== this.isNull(bytes, b, column)) return true;
      if (isNull) continue;
      const p = this.column(bytes, a, column);
      const q = this.column(bytes, b, column);
      const extent = this.extents[column]!;
      const length = extent >= 0 ? extent : skip(bytes, p, extent) - p;
      if (extent < 0 && skip(bytes, q, extent) - q !== length) return true;
      for (let i = 0; i < length; i++) if (bytes[p + i] !== bytes[q + i]) return true;
    }
    return false;
  }
}

/** Behind a value at q with `-extent` bytes of length. */
function skip(bytes: Buffer, q: number, extent: number): number {
  switch (extent) {
    case -1:
      return q + 1 + bytes[q]!;
    case -2:
      return q + 2 + (bytes[q]! | (bytes[q + 1]! << 8));
    case -3:
      return q + 3 + (bytes[q]! | (bytes[q + 1]! << 8) | (bytes[q + 2]! << 16));
    default:
      return q + 4 + (bytes[q]! | (bytes[q + 1]! << 8) | (bytes[q + 2]! << 16)) + bytes[q + 3]! * 0x1000000;
  }
}
