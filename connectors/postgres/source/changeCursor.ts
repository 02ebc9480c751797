/**
 * Where the stream stands inside its transaction, and which changes of the first one were published before a restart: those at lower LSNs, and a number
 * of those at one LSN. Changes of a transaction come in order of LSN, the same ones each time. LSNs come in halves, so that no bigint is made of one.
 */
import type { StreamPosition } from './position.ts';

export class ChangeCursor {
  lsnHigh: number;
  lsnLow: number;
  changesAtLsn: number;
  private txId: bigint;
  private resume: { readonly high: number; readonly low: number; readonly changes: number } | null;
  private seenAtResume = 0;
  /** Whether the transaction at hand is published as a whole. */
  isSkipped = false;

  constructor(position: StreamPosition) {
    this.lsnHigh = Number(BigInt.asIntN(32, position.lsn >> 32n));
    this.lsnLow = Number(BigInt.asIntN(32, position.lsn));
    this.changesAtLsn = position.changesAtLsn;
    this.txId = position.txId;
    this.resume =
      position.changesAtLsn > 0 ? { high: this.lsnHigh, low: this.lsnLow, changes: position.changesAtLsn } : null;
  }

  get lsn(): bigint {
    return (BigInt(this.lsnHigh >>> 0) << 32n) | BigInt(this.lsnLow >>> 0);
  }

  begin(txId: bigint): void {
    // Commit order is fixed: the transaction published in part comes first. Another one means that it has no more to publish.
    if (txId !== this.txId) this.resume = null;
    this.txId = txId;
    if (this.resume === null) this.changesAtLsn = 0;
  }

  commit(lsnHigh: number, lsnLow: number): void {
    this.lsnHigh = lsnHigh;
    this.lsnLow = lsnLow;
    this.changesAtLsn = 0;
    this.resume = null;
  }

  /** Counts a change; false for one that was published before. */
  isNew(lsnHigh: number, lsnLow: number): boolean {
    if (this.isSkipped) return false;
    if (this.resume !== null && this.wasPublished(this.resume, lsnHigh, lsnLow)) return false;
    if (lsnHigh === this.lsnHigh && lsnLow === this.lsnLow) {
      this.changesAtLsn++;
    } else {
      this.lsnHigh = lsnHigh;
      this.lsnLow = lsnLow;
      this.changesAtLsn = 1;
    }
    return true;
  }

  private wasPublished(resume: NonNullable<ChangeCursor['resume']>, lsnHigh: number, lsnLow: number): boolean {
    const order = (lsnHigh >>> 0) - (resume.high >>> 0) || (lsnLow >>> 0) - (resume.low >>> 0);
    if (order < 0) return true;
    if (order === 0 && this.seenAtResume < resume.changes) {
      this.seenAtResume++;
      return true;
    }
    this.resume = null;
    return false;
  }
}
