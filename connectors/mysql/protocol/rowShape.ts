/**
 * Where rows of one table end in a row event: rows follow each other without a length. Columns of fixed width that are not null take no loop: how they lie
 * between those with a length is worked out once for each set of nulls that a table's rows have.
 */
import { bitCount } from './logTypes.ts';

/** The columns with a length in front of them, and the bytes of fixed columns before each and behind the last, for rows with the same nulls. */
interface Plan {
  readonly lengths: Int32Array;
  readonly fixedBefore: Int32Array;
}

/** A bitmap of so many bytes is a number. */
const PLANNED_BYTES = 4;
const MOST_PLANS = 256;

export class RowShape {
  readonly columnCount: number;
  readonly bitmapBytes: number;
  private readonly extents: Int32Array;
  /** By bitmap; the plan of the row before is mostly that of the next. */
  private readonly plans = new Map<number, Plan>();
  private lastNulls = 0;
  private lastPlan: Plan;
  /** Bytes of the columns that a byte of the bitmap is about; -1 where one of them has a length in front. */
  private readonly fixedOfEight: Int32Array;
  /** The bits of a bitmap's last byte that belong to columns. */
  private readonly lastMask: number;

  constructor(extents: readonly number[]) {
    this.columnCount = extents.length;
    this.bitmapBytes = bitCount(extents.length);
    this.extents = Int32Array.from(extents);
    this.lastPlan = makePlan(extents);
    this.plans.set(0, this.lastPlan);
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
    if (bitmapBytes > PLANNED_BYTES) return this.endOfWide(bytes, p);
    let nulls = bytes[p + bitmapBytes - 1]! & this.lastMask;
    for (let i = bitmapBytes - 2; i >= 0; i--) nulls = (nulls << 8) | bytes[p + i]!;
    const plan = nulls === this.lastNulls ? this.lastPlan : this.planOf(nulls);
    return plan === null ? this.endOfWide(bytes, p) : plannedEnd(plan, bytes, p + bitmapBytes);
  }

  /** null where rows have too many different sets of nulls. */
  private planOf(nulls: number): Plan | null {
    let plan = this.plans.get(nulls);
    if (plan === undefined) {
      if (this.plans.size === MOST_PLANS) return null;
      plan = makePlan([...this.extents].filter((_, column) => ((nulls >>> column) & 1) === 0));
      this.plans.set(nulls, plan);
    }
    this.lastNulls = nulls;
    this.lastPlan = plan;
    return plan;
  }

  /** Eight columns at once where none of them is null and all are fixed. */
  private endOfWide(bytes: Buffer, row: number): number {
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

function makePlan(extents: readonly number[]): Plan {
  const fixed = [0];
  for (const extent of extents) {
    if (extent < 0) fixed.push(0);
    else fixed[fixed.length - 1]! += extent;
  }
  return { lengths: Int32Array.from(extents.filter(extent => extent < 0)), fixedBefore: Int32Array.from(fixed) };
}

function plannedEnd({ lengths, fixedBefore }: Plan, bytes: Buffer, firstColumn: number): number {
  let q = firstColumn + fixedBefore[0]!;
  for (let i = 0; i < lengths.length; i++) q = skip(bytes, q, lengths[i]!) + fixedBefore[i + 1]!;
  return q;
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
