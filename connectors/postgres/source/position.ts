/** Where the source is: the stored offset in Debezium's form, and what it means for a restart. */
import type { SourceOffset } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../runtime/api/index.ts';

/**
 * `lastCommit` ends the last transaction that was published whole: the server is asked for what was committed after it. Of the transaction after it
 * the changes up to `lsn` are published too: those at lower LSNs, and `changesAtLsn` of those exactly there (a COPY has many changes at one LSN).
 */
export interface StreamPosition {
  readonly lastCommit: bigint | null;
  readonly lsn: bigint;
  /** 0 = no transaction is published in part. */
  readonly changesAtLsn: number;
  readonly txId: bigint;
  readonly tsUs: bigint;
}

export type StoredOffset =
  | { readonly state: 'none' }
  /** A snapshot had begun; it starts over. */
  | { readonly state: 'snapshotting' }
  | {
      readonly state: 'streaming';
      readonly position: StreamPosition;
      /** Up to where the log has nothing for us that is not published: what the server may have been told. */
      readonly flushed: bigint;
      /** Whether it is the whole truth: Debezium tells the server more than it stores. */
      readonly isExact: boolean;
    };

export function toOffset(position: StreamPosition): SourceOffset {
  return {
    lsn: position.lsn,
    lsn_proc: position.lsn,
    ...(position.lastCommit !== null && { lsn_commit: position.lastCommit }),
    lsn_events_processed: position.changesAtLsn,
    txId: position.txId,
    ts_usec: position.tsUs,
  };
}

/** Up to where the server may have been told that it need not keep the log; null = not known. */
export const toldFlushed = (stored: StoredOffset): bigint | null =>
  stored.state === 'streaming' && stored.isExact ? stored.flushed : null;

/** The same position, and that the log up to `flushed` has nothing more for us. */
export const idleOffset = (offset: SourceOffset, flushed: bigint): SourceOffset => ({
  ...offset,
  lsn_flushed: flushed,
});

export const snapshotOffset = (lsn: bigint, txId: bigint, tsUs: bigint): SourceOffset => ({
  lsn,
  txId,
  ts_usec: tsUs,
  snapshot: 'INITIAL',
  last_snapshot_record: false,
  snapshot_completed: false,
});

/** Of the last row. The log from `flushed` on is needed, where the slot was there before the snapshot. */
export const completeOffset = (offset: SourceOffset, flushed: bigint): SourceOffset => ({
  ...(flushed === offset.lsn ? offset : idleOffset(offset, flushed)),
  last_snapshot_record: true,
  snapshot_completed: true,
});

/** Reads our offsets and Debezium's. Throws PG_OFFSET_INVALID. */
export function parseOffset(offset: SourceOffset | null): StoredOffset {
  if (offset === null) return { state: 'none' };
  const isSnapshot = offset.snapshot !== undefined && offset.snapshot !== null && offset.snapshot !== false;
  if (isSnapshot && !isTrue(offset.snapshot_completed) && !isTrue(offset.last_snapshot_record)) {
    return { state: 'snapshotting' };
  }
  const lsn = integer(offset, 'lsn_proc') ?? integer(offset, 'lsn');
  if (lsn === null) throw invalid(offset, 'it has no lsn');
  const lastCommit = integer(offset, 'lsn_commit');
  return {
    state: 'streaming',
    flushed: integer(offset, 'lsn_flushed') ?? lastCommit ?? lsn,
    isExact: isSnapshot || integer(offset, 'lsn_events_processed') !== null,
    position: {
      // None = none was published whole since the snapshot: the slot itself starts where that ends.
      lastCommit,
      lsn,
      changesAtLsn: isSnapshot ? 0 : changesAtLsn(offset, lsn, lastCommit),
      txId: integer(offset, 'txId') ?? 0n,
      tsUs: integer(offset, 'ts_usec') ?? 0n,
    },
  };
}

/** Debezium up to 3.6 does not count: a position past the last commit is one published change. */
function changesAtLsn(offset: SourceOffset, lsn: bigint, lastCommit: bigint | null): number {
  const counted = integer(offset, 'lsn_events_processed');
  if (counted !== null) return Number(counted);
  return offset.messageType === 'COMMIT' || lastCommit === null || lsn === lastCommit ? 0 : 1;
}

const isTrue = (value: unknown): boolean => value === true || value === 'true';

function integer(offset: SourceOffset, key: string): bigint | null {
  const value = offset[key];
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw invalid(offset, `${key} is not an integer`);
}

function invalid(offset: SourceOffset, why: string): ConnectError {
  const shown = JSON.stringify(offset, (_, v) => (typeof v === 'bigint' ? String(v) : v));
  return new ConnectError('PG_OFFSET_INVALID', `The offset ${shown} is not a PostgreSQL position: ${why}. Reset it.`);
}
