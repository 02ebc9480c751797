/**
 * Change events of one table version in typed arrays, column by column: what a decoder fills record by record, and the batch that comes of it. What a
 * source has besides (its own longs and choices) it adds in a class of its own.
 */
import type { Header, SourceBatch } from '../../runtime/api/index.ts';
import type { StructSchema } from '../../schemas/data/index.ts';
import type { Layout, WireRows } from '../../schemas/transcode/layout.ts';
import { plainValue } from '../../schemas/transcode/plainView.ts';
import { type BatchCommon, TableSourceBatch } from './tableSourceBatch.ts';

const LEAST_CAPACITY = 64;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Where the halves of a 64-bit number lie in an Int32Array over it. */
export const LOW = IS_LITTLE_ENDIAN ? 0 : 1;
export const HIGH = IS_LITTLE_ENDIAN ? 1 : 0;

export interface ChangeTable {
  readonly topic: string;
  readonly keySchema: StructSchema | null;
  readonly keyLayout: Layout | null;
  readonly envelope: StructSchema;
}

type Column = Int32Array | Uint8Array | BigInt64Array;

export function widened<T extends Column>(from: T | undefined, to: T): T {
  if (from !== undefined) to.set(from as never);
  return to;
}

export abstract class ChangeColumns<Table extends ChangeTable> {
  version!: Table;
  isKeyed = true;
  count = 0;
  byteLength = 0;
  newestMs = 0n;
  protected op!: Uint8Array;
  protected before!: Int32Array;
  protected after!: Int32Array;
  protected key!: Int32Array;
  protected longs: readonly BigInt64Array[] = [];
  private capacity = 0;
  private tombstones!: Uint8Array;
  private hasTombstones = false;
  /** Records that are halves of a change of key, and the record that holds the other key. */
  private readonly otherKeys: { index: number; header: string; other: number }[] = [];

  /** To be called once, after construction, with the number of longs that a record has. */
  protected open(longCount: number): void {
    this.resize(LEAST_CAPACITY, longCount);
  }

  /** Empties it for another table version. Its arrays are kept: what `finish` gave before must not be read any more. */
  protected restart(version: Table, isKeyed: boolean): void {
    this.version = version;
    this.isKeyed = isKeyed;
    this.count = 0;
    this.byteLength = 0;
    this.newestMs = 0n;
    if (this.hasTombstones) this.tombstones.fill(0);
    this.hasTombstones = false;
    this.otherKeys.length = 0;
  }

  /** One more record; its longs are for the caller to set. Positions are -1 where there is no such row. */
  protected append(op: number, before: number, after: number, key: number, isTombstone: boolean): number {
    const i = this.count;
    if (i === this.capacity) this.resize(this.capacity * 2, this.longs.length);
    this.before[i] = before;
    this.after[i] = after;
    this.key[i] = key;
    this.op[i] = op;
    if (isTombstone) {
      this.tombstones[i] = 1;
      this.hasTombstones = true;
    }
    this.count = i + 1;
    return i;
  }

  /** Takes back the records from that one on. */
  truncate(count: number): void {
    if (count >= this.count) return;
    if (this.hasTombstones) this.tombstones.fill(0, count, this.count);
    this.byteLength = Math.ceil((this.byteLength * count) / this.count);
    this.count = count;
    const kept = this.otherKeys.filter(({ index, other }) => index < count && other < count);
    this.otherKeys.splice(0, Number.POSITIVE_INFINITY, ...kept);
  }

  /** Records with headers of their own take a slower way: they keep to batches of their own. */
  get hasKeyChanges(): boolean {
    return this.otherKeys.length > 0;
  }

  setOtherKey(index: number, header: string, other: number): void {
    this.otherKeys.push({ index, header, other });
  }

  protected resize(capacity: number, longCount: number): void {
    this.capacity = capacity;
    this.before = widened(this.before, new Int32Array(capacity));
    this.after = widened(this.after, new Int32Array(capacity));
    this.key = widened(this.key, new Int32Array(capacity));
    this.op = widened(this.op, new Uint8Array(capacity));
    this.tombstones = widened(this.tombstones, new Uint8Array(capacity));
    this.longs = Array.from({ length: longCount }, (_, slot) => widened(this.longs[slot], new BigInt64Array(capacity)));
  }

  /** `bytes` is where the positions point into; `groups`, which group of longs a record has, where several share them. The batch holds until the next `restart`. */
  protected batch(
    bytes: Buffer,
    valueLayout: Layout,
    choices: readonly Uint8Array[],
    constants: WireRows['constants'],
    common: BatchCommon,
    groups?: Int32Array,
  ): SourceBatch {
    const { version } = this;
    const rows: WireRows = {
      bytes,
      count: this.count,
      positions: [this.before, this.after, this.key],
      longs: this.longs,
      ...(groups && { groups }),
      choices,
      constants,
    };
    const keyLayout = this.isKeyed ? version.keyLayout : null;
    const keySchema = keyLayout === null ? null : version.keySchema;
    const recordHeaders = this.otherKeys.length === 0 ? undefined : new Map<number, Header[]>();
    for (const { index, header, other } of this.otherKeys) {
      const value = plainValue(version.keySchema!, version.keyLayout!, rows, other);
      recordHeaders!.set(index, [{ name: header, schema: version.keySchema, value }]);
    }
    return new TableSourceBatch({
      ...common,
      topic: version.topic,
      keySchema,
      valueSchema: version.envelope,
      byteLength: this.byteLength + this.count * 64,
      sourceTimestampMs: Number(this.newestMs),
      ...(recordHeaders && { recordHeaders }),
      wire: { rows, keyLayout, valueLayout, ...(this.hasTombstones && { tombstones: this.tombstones }) },
    });
  }
}
