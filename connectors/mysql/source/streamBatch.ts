/** Events of one table version in typed arrays: what the decoder fills record by record, and the batch that comes of it. */
import type { Header, SourceBatch } from '../../../runtime/api/index.ts';
import type { Layout, WireRows } from '../../../schemas/transcode/layout.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import { LONG } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

const LEAST_CAPACITY = 64;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const LOW = IS_LITTLE_ENDIAN ? 0 : 1;

/** What the changes of one event have in common; made once an event, so that no integer is made for a record. */
export interface EventLongs {
  readonly tsMs: bigint;
  readonly tsUs: bigint;
  readonly tsNs: bigint;
  readonly serverId: bigint;
  /** Number in the GTID, or where there is none, the position of the transaction. */
  readonly gtidNumber: bigint;
  readonly thread: bigint;
  readonly position: bigint;
}

export class StreamBatch {
  version!: TableVersion;
  layout!: Layout;
  isKeyed = true;
  count = 0;
  byteLength = 0;
  newestMs = 0n;
  private file = '';
  private query: string | null = null;
  private capacity = 0;
  private before!: Int32Array;
  private after!: Int32Array;
  private key!: Int32Array;
  private op!: Uint8Array;
  private tombstones!: Uint8Array;
  private hasTombstones = false;
  private groups!: Int32Array;
  private groupCount = 0;
  private lastEvent: EventLongs | null = null;
  private longs: readonly BigInt64Array[] = [];
  private rowHalves!: Int32Array;
  /** Records that are halves of a change of key, and the record that holds the other key. */
  private readonly otherKeys: { index: number; header: string; other: number }[] = [];

  constructor(hasTransactions: boolean) {
    this.resize(LEAST_CAPACITY, hasTransactions ? LONG.collectionOrder + 1 : LONG.row + 1);
  }

  /** Empties it for another table version. Its arrays are kept: what `finish` gave before must not be read any more. */
  begin(version: TableVersion, layout: Layout, isKeyed: boolean, file: string, query: string | null): void {
    this.version = version;
    this.layout = layout;
    this.isKeyed = isKeyed;
    this.file = file;
    this.query = query;
    this.count = 0;
    this.byteLength = 0;
    this.newestMs = 0n;
    if (this.hasTombstones) this.tombstones.fill(0);
    this.hasTombstones = false;
    this.groupCount = 0;
    this.lastEvent = null;
    this.otherKeys.length = 0;
  }

  /** Positions are -1 where there is no such row. */
  add(
    op: number,
    before: number,
    after: number,
    key: number,
    row: number,
    event: EventLongs,
    isTombstone: boolean,
  ): number {
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
    if (event !== this.lastEvent) this.beginGroup(event);
    this.groups[i] = this.groupCount - 1;
    this.rowHalves[2 * i + LOW] = row;
    this.count = i + 1;
    return i;
  }

  private beginGroup(event: EventLongs): void {
    const { longs } = this;
    const group = this.groupCount++;
    this.lastEvent = event;
    longs[LONG.tsMs]![group] = event.tsMs;
    longs[LONG.tsUs]![group] = event.tsUs;
    longs[LONG.tsNs]![group] = event.tsNs;
    longs[LONG.serverId]![group] = event.serverId;
    longs[LONG.gtidNumber]![group] = event.gtidNumber;
    longs[LONG.thread]![group] = event.thread;
    longs[LONG.position]![group] = event.position;
  }

  /** Records with headers of their own take a slower way: they keep to batches of their own. */
  get hasKeyChanges(): boolean {
    return this.otherKeys.length > 0;
  }

  setOrder(index: number, totalOrder: bigint, collectionOrder: bigint): void {
    this.longs[LONG.totalOrder]![index] = totalOrder;
    this.longs[LONG.collectionOrder]![index] = collectionOrder;
  }

  setOtherKey(index: number, header: string, other: number): void {
    this.otherKeys.push({ index, header, other });
  }

  private resize(capacity: number, longCount: number): void {
    const wider = <T extends Int32Array | Uint8Array | BigInt64Array>(from: T | undefined, to: T): T => {
      if (from !== undefined) to.set(from as never);
      return to;
    };
    this.capacity = capacity;
    this.before = wider(this.before, new Int32Array(capacity));
    this.after = wider(this.after, new Int32Array(capacity));
    this.key = wider(this.key, new Int32Array(capacity));
    this.op = wider(this.op, new Uint8Array(capacity));
    this.tombstones = wider(this.tombstones, new Uint8Array(capacity));
    this.groups = wider(this.groups, new Int32Array(capacity));
    this.longs = Array.from({ length: longCount }, (_, slot) => wider(this.longs[slot], new BigInt64Array(capacity)));
    this.rowHalves = new Int32Array(this.longs[LONG.row]!.buffer);
  }

  /** `bytes` is where the positions point into. The batch holds until `begin`. */
  finish(bytes: Buffer, now: readonly bigint[], common: BatchCommon): SourceBatch {
    const { version, isKeyed } = this;
    const rows: WireRows = {
      bytes,
      count: this.count,
      positions: [this.before, this.after, this.key],
      longs: this.longs,
      groups: this.groups,
      choices: [this.op],
      constants: [...now, this.file, this.query],
    };
    const keyLayout = isKeyed ? version.keyLayout : null;
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
      wire: {
        rows,
        keyLayout,
        valueLayout: this.layout,
        ...(this.hasTombstones && { tombstones: this.tombstones }),
      },
    });
  }
}
