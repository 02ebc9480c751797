/** Events of one table version in typed arrays, and the batch that comes of them. Used again for each poll. */
import type { Header, SourceBatch } from '../../../runtime/api/index.ts';
import type { WireRows } from '../../../schemas/transcode/layout.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import { LONG, LONGS } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

const LEAST_CAPACITY = 64;

/** What the changes of one transaction have in common. */
export interface TransactionStamp {
  readonly tsMs: bigint;
  readonly tnx: bigint;
  /** -1 = a snapshot. */
  readonly segment: bigint;
  readonly offset: bigint;
}

export class TableBatch {
  version!: TableVersion;
  hasKeyChanges = false;
  count = 0;
  newestMs = 0n;
  #capacity = LEAST_CAPACITY;
  #positions: Int32Array[] = [0, 1, 2].map(() => new Int32Array(LEAST_CAPACITY));
  #op = new Uint8Array(LEAST_CAPACITY);
  #marker = new Uint8Array(LEAST_CAPACITY);
  #tombstones = new Uint8Array(LEAST_CAPACITY);
  #noPlace = new Uint8Array(LEAST_CAPACITY);
  #longs: BigInt64Array[] = Array.from({ length: LONGS }, () => new BigInt64Array(LEAST_CAPACITY));
  #hasTombstones = false;
  #byteLength = 0;
  /** Records that are halves of a change of key, and the record that holds the other key. */
  readonly #otherKeys: { index: number; header: string; other: number }[] = [];

  /** Records with headers of their own take a slower way: they keep to batches of their own. */
  begin(version: TableVersion, hasKeyChanges: boolean): void {
    this.version = version;
    this.hasKeyChanges = hasKeyChanges;
    this.count = 0;
    this.newestMs = 0n;
    this.#hasTombstones = false;
    this.#byteLength = 0;
    this.#otherKeys.length = 0;
  }

  /** Positions are -1 where there is no such row. Returns the index. */
  add(
    op: number,
    before: number,
    after: number,
    key: number,
    bytes: number,
    stamp: TransactionStamp,
    marker: number,
    isTombstone: boolean,
  ): number {
    const i = this.count;
    if (i === this.#capacity) this.#grow();
    this.#positions[0]![i] = before;
    this.#positions[1]![i] = after;
    this.#positions[2]![i] = key;
    this.#op[i] = op;
    this.#marker[i] = marker;
    this.#tombstones[i] = isTombstone ? 1 : 0;
    if (isTombstone) this.#hasTombstones = true;
    this.#noPlace[i] = stamp.segment < 0n ? 1 : 0;
    const longs = this.#longs;
    longs[LONG.tsMs]![i] = stamp.tsMs;
    longs[LONG.tsUs]![i] = stamp.tsMs * 1000n;
    longs[LONG.tsNs]![i] = stamp.tsMs * 1_000_000n;
    longs[LONG.txId]![i] = stamp.tnx;
    longs[LONG.segment]![i] = stamp.segment;
    longs[LONG.offset]![i] = stamp.offset;
    if (stamp.tsMs > this.newestMs) this.newestMs = stamp.tsMs;
    this.#byteLength += bytes;
    this.count = i + 1;
    return i;
  }

  setOrder(index: number, totalOrder: bigint, collectionOrder: bigint): void {
    this.#longs[LONG.totalOrder]![index] = totalOrder;
    this.#longs[LONG.collectionOrder]![index] = collectionOrder;
  }

  setOtherKey(index: number, header: string, other: number): void {
    this.#otherKeys.push({ index, header, other });
  }

  #grow(): void {
    this.#capacity *= 2;
    const wider = <T extends Int32Array | Uint8Array | BigInt64Array>(from: T, to: T): T => {
      to.set(from as never);
      return to;
    };
    const capacity = this.#capacity;
    this.#positions = this.#positions.map(of => wider(of, new Int32Array(capacity)));
    this.#longs = this.#longs.map(of => wider(of, new BigInt64Array(capacity)));
    this.#op = wider(this.#op, new Uint8Array(capacity));
    this.#marker = wider(this.#marker, new Uint8Array(capacity));
    this.#tombstones = wider(this.#tombstones, new Uint8Array(capacity));
    this.#noPlace = wider(this.#noPlace, new Uint8Array(capacity));
  }

  /** `bytes` is where the positions point into. The batch holds until `begin`. */
  finish(bytes: Buffer, now: readonly bigint[], common: BatchCommon): TableSourceBatch {
    const { version } = this;
    const longNulls: (Uint8Array | undefined)[] = Array.from({ length: LONGS });
    longNulls[LONG.segment] = this.#noPlace;
    longNulls[LONG.offset] = this.#noPlace;
    const rows: WireRows = {
      bytes,
      count: this.count,
      positions: this.#positions,
      longs: this.#longs,
      longNulls,
      choices: [this.#op, this.#marker],
      constants: now,
    };
    const { keySchema, keyLayout } = version;
    const recordHeaders = this.hasKeyChanges ? new Map<number, Header[]>() : undefined;
    for (const { index, header, other } of this.#otherKeys) {
      recordHeaders!.set(index, [
        { name: header, schema: keySchema, value: plainValue(keySchema!, keyLayout!, rows, other) },
      ]);
    }
    return new TableSourceBatch({
      ...common,
      topic: version.topic,
      keySchema,
      valueSchema: version.envelope,
      byteLength: this.#byteLength + this.count * 64,
      sourceTimestampMs: Number(this.newestMs),
      ...(recordHeaders && { recordHeaders }),
      wire: {
        rows,
        keyLayout,
        valueLayout: version.valueLayout,
        ...(this.#hasTombstones && { tombstones: this.#tombstones }),
      },
    });
  }
}

/** The batches that are being filled, one open per table version, over one buffer of rows. */
export class TableBatches {
  readonly #common: BatchCommon;
  readonly #open = new Map<string, TableBatch>();
  #batches: TableBatch[] = [];
  readonly #spare: TableBatch[] = [];

  constructor(common: BatchCommon) {
    this.#common = common;
  }

  /** The batch for the next record of a version: order is kept within a topic. */
  of(version: TableVersion, hasKeyChange: boolean): TableBatch {
    const known = this.#open.get(version.topic);
    if (known !== undefined && known.version === version && known.hasKeyChanges === hasKeyChange) return known;
    const batch = this.#spare.pop() ?? new TableBatch();
    batch.begin(version, hasKeyChange);
    this.#batches.push(batch);
    this.#open.set(version.topic, batch);
    return batch;
  }

  take(bytes: Buffer): SourceBatch[] {
    const nowUs = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
    const now = [nowUs / 1000n, nowUs, nowUs * 1000n];
    const filled = this.#batches.filter(batch => batch.count > 0);
    const batches = filled.map(batch => batch.finish(bytes, now, this.#common));
    this.#spare.push(...this.#batches);
    this.#batches = [];
    this.#open.clear();
    return batches;
  }
}
