/**
 * When something was committed, in an order: Firebird's commit numbers, which a server counts from its start, with everything before that as 1; among
 * those the number of the transaction.
 */
export interface CommitStamp {
  readonly commitNumber: number;
  readonly tnx: number;
}

/** Before everything. */
export const LONG_AGO: CommitStamp = { commitNumber: 1, tnx: 0 };

export const compareStamps = (a: CommitStamp, b: CommitStamp): number =>
  a.commitNumber - b.commitNumber || a.tnx - b.tnx;

/** Of a row of the catalogue: RDB$RECORD_VERSION and its commit number. */
export const stampOf = (tnx: unknown, commitNumber: unknown): CommitStamp => ({
  commitNumber: Math.max(1, Number(commitNumber ?? 1)),
  tnx: Number(tnx ?? 0),
});
