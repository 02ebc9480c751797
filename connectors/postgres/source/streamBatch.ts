/** Events of one table version in typed arrays: what the decoder fills record by record, and the batch that comes of it. */
import type { Header, SourceBatch } from '../../../runtime/api/index.ts';
import type { WireRows } from '../../../schemas/transcode/layout.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import { LONG } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

const LEAST_CAPACITY = 64;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const LOW = IS_LITTLE_ENDIAN ? 0 : 1;
const HIGH = IS_LITTLE_ENDIAN ? 1 : 0;

/** What the changes of one transaction have in common. */
export interface TransactionLongs {
  readonly tsMs: bigint;
  readonly tsUs: bigint;
  readonly tsNs: bigint;
  readonly txId: bigint;
  /** End of the commit before; null = none known. */
  readonly lastCommit: bigint | null;
}

export class StreamBatch {
  version!: TableVersion;
  isKeyed = true;
  count = 0;
  byteLength = 0;
  newestMs = 0n;
  private capacity = 0;
  private before!: Int32Array;
  private after!: Int32Array;
  private key!: Int32Array;
  private op!: Uint8Array;
  private sequence!: Uint8Array;
  private tombstones!: Uint8Array;
  private hasTombstones = false;
  private longs: readonly BigInt64Array[] = [];
  private lsnHalves!: Int32Array;
  /** Records that are halves of a change of key, and the record that holds the other key. */
  private readonly otherKeys: { index: number; header: string; other: number }[] = [];
  private origin: readonly [string | null, bigint | null] = [null, null];

  constructor(hasTransactions: boolean) {
    this.resize(LEAST_CAPACITY, hasTransactions ? LONG.collectionOrder + 1 : LONG.lastCommit + 1);
  }

  /** Empties it for another table version. Its arrays are kept: what `finish` gave before must not be read any more. */
  begin(version: TableVersion, isKeyed: boolean, origin: string | null, originLsn: bigint | null): void {
    this.version = version;
    this.isKeyed = isKeyed;
    this.origin = [origin, originLsn];
    this.count = 0;
    this.byteLength = 0;
    this.newestMs = 0n;
    this.hasTombstones = false;
    this.otherKeys.length = 0;
  }

  /** Positions are -1 where there is no such row. The LSN comes in halves, so that no bigint is made of it. */
  add(
    op: number,
    before: number,
    after: number,
    key: number,
    lsnHigh: number,
    lsnLow: number,
    transaction: TransactionLongs,
    isTombstone: boolean,
  ): number {
    const i = this.count;
    if (i === this.capacity) this.resize(this.capacity * 2, this.longs.length);
    this.before[i] = before;
    this.after[i] = after;
    this.key[i] = key;
    this.op[i] = op;
    this.tombstones[i] = isTombstone ? 1 : 0;
    if (isTombstone) this.hasTombstones = true;
    const longs = this.longs;
    longs[LONG.tsMs]![i] = transaction.tsMs;
    longs[LONG.tsUs]![i] = transaction.tsUs;
    longs[LONG.tsNs]![i] = transaction.tsNs;
    longs[LONG.txId]![i] = transaction.txId;
    this.sequence[i] = transaction.lastCommit === null ? 0 : 1;
    if (transaction.lastCommit !== null) longs[LONG.lastCommit]![i] = transaction.lastCommit;
    this.lsnHalves[2 * i + LOW] = lsnLow;
    this.lsnHalves[2 * i + HIGH] = lsnHigh;
    this.count = i + 1;
    return i;
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

  /** The row of a record that had none yet, which is its key as well. */
  setRow(index: number, position: number, byteLength: number): void {
    this.after[index] = position;
    this.key[index] = position;
    this.byteLength += byteLength;
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
    this.sequence = wider(this.sequence, new Uint8Array(capacity));
    this.tombstones = wider(this.tombstones, new Uint8Array(capacity));
    this.longs = Array.from({ length: longCount }, (_, slot) => wider(this.longs[slot], new BigInt64Array(capacity)));
    this.lsnHalves = new Int32Array(this.longs[LONG.lsn]!.buffer);
  }

  /** `bytes` is where the positions point into. The batch holds until `begin`. */
  finish(bytes: Buffer, now: readonly bigint[], common: BatchCommon): SourceBatch {
    const { version, isKeyed } = this;
    const rows: WireRows = {
      bytes,
      count: this.count,
      positions: [this.before, this.after, this.key],
      longs: this.longs,
      choices: [this.op, this.sequence],
      constants: [...now, ...this.origin],
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
        valueLayout: this.hasKeyChanges ? version.keyChangeLayout : version.valueLayout,
        ...(this.hasTombstones && { tombstones: this.tombstones }),
      },
    });
  }
}
