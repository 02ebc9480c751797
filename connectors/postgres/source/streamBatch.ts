/** Events of one table version in typed arrays, with what PostgreSQL says of a change: transaction, LSN, origin. */
import type { SourceBatch } from '../../../runtime/api/index.ts';
import { ChangeColumns, HIGH, LOW, widened } from '../../shared/changeColumns.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { LONG } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

/** What the changes of one transaction have in common. */
export interface TransactionLongs {
  readonly tsMs: bigint;
  readonly tsUs: bigint;
  readonly tsNs: bigint;
  readonly txId: bigint;
  /** End of the commit before; null = none known. */
  readonly lastCommit: bigint | null;
}

export class StreamBatch extends ChangeColumns<TableVersion> {
  private sequence!: Uint8Array;
  private lsnHalves!: Int32Array;
  private origin: readonly [string | null, bigint | null] = [null, null];

  constructor(hasTransactions: boolean) {
    super();
    this.open(hasTransactions ? LONG.collectionOrder + 1 : LONG.lastCommit + 1);
  }

  begin(version: TableVersion, isKeyed: boolean, origin: string | null, originLsn: bigint | null): void {
    this.restart(version, isKeyed);
    this.origin = [origin, originLsn];
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
    const i = this.append(op, before, after, key, isTombstone);
    const longs = this.longs;
    longs[LONG.tsMs]![i] = transaction.tsMs;
    longs[LONG.tsUs]![i] = transaction.tsUs;
    longs[LONG.tsNs]![i] = transaction.tsNs;
    longs[LONG.txId]![i] = transaction.txId;
    this.sequence[i] = transaction.lastCommit === null ? 0 : 1;
    if (transaction.lastCommit !== null) longs[LONG.lastCommit]![i] = transaction.lastCommit;
    this.lsnHalves[2 * i + LOW] = lsnLow;
    this.lsnHalves[2 * i + HIGH] = lsnHigh;
    return i;
  }

  setOrder(index: number, totalOrder: bigint, collectionOrder: bigint): void {
    this.longs[LONG.totalOrder]![index] = totalOrder;
    this.longs[LONG.collectionOrder]![index] = collectionOrder;
  }

  /** The row of a record that had none yet, which is its key as well. */
  setRow(index: number, position: number, byteLength: number): void {
    this.after[index] = position;
    this.key[index] = position;
    this.byteLength += byteLength;
  }

  protected override resize(capacity: number, longCount: number): void {
    super.resize(capacity, longCount);
    this.sequence = widened(this.sequence, new Uint8Array(capacity));
    this.lsnHalves = new Int32Array(this.longs[LONG.lsn]!.buffer);
  }

  /** `bytes` is where the positions point into. The batch holds until `begin`. */
  finish(bytes: Buffer, now: readonly bigint[], common: BatchCommon): SourceBatch {
    const layout = this.hasKeyChanges ? this.version.keyChangeLayout : this.version.valueLayout;
    return this.batch(bytes, layout, [this.op, this.sequence], [...now, ...this.origin], common);
  }
}
