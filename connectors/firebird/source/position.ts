/**
 * Where the source is in the journal, as stored in its offsets: behind which block, which transactions were open there and where they began, what of
 * the segments read may still be written again by the server, and what the snapshot has seen. A worker that has this and the segments can go on.
 */
import type { SourceOffset } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';

/** A processed segment whose number the server may issue again, and what it held. */
export interface PendingSegment {
  readonly sequence: number;
  readonly hash: string;
}

/** Which transactions a snapshot has seen: those below its own number that had committed when it began. */
export interface SnapshotView {
  readonly tnx: number;
  /** Below `tnx`, but not seen. */
  readonly unseen: readonly number[];
}

export interface StreamPosition {
  readonly guid: string;
  readonly sequence: number;
  readonly offset: number;
  /** Segment in which each open transaction began. */
  readonly open: ReadonlyMap<number, number>;
  readonly pending: readonly PendingSegment[];
  /** Null = changes were published from the start. */
  readonly snapshot: SnapshotView | null;
}

export type StoredOffset =
  | { readonly state: 'none' }
  /** A snapshot had begun, whose rows the journal follows from that position on; it starts over. Null = not known. */
  | { readonly state: 'snapshotting'; readonly position: StreamPosition | null }
  | { readonly state: 'streaming'; readonly position: StreamPosition };

export const snapshotOffset = (position: StreamPosition): SourceOffset => ({
  ...toOffset(position),
  snapshot: 'INITIAL',
  snapshot_completed: false,
});

export function toOffset(position: StreamPosition): SourceOffset {
  const { guid, sequence, offset, open, pending, snapshot } = position;
  return {
    guid,
    segment: sequence,
    pos: offset,
    transactions: [...open].map(([tnx, from]) => `${tnx}:${from}`).join(','),
    pending: pending.map(of => `${of.sequence}:${of.hash}`).join(','),
    ...(snapshot !== null && { snapshot_tnx: snapshot.tnx, snapshot_unseen: snapshot.unseen.join(',') }),
  };
}

/** Throws FB_OFFSET_INVALID. */
export function parseOffset(offset: SourceOffset | null): StoredOffset {
  if (offset === null) return { state: 'none' };
  const isBegun = offset.snapshot !== undefined && offset.snapshot_completed !== true;
  if (isBegun && offset.guid === undefined) return { state: 'snapshotting', position: null };
  const fail = (what: string): never => {
    const shown = JSON.stringify(offset, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    throw new ConnectError('FB_OFFSET_INVALID', `The offset ${shown} is not a position in a journal: ${what}.`);
  };
  const integer = (value: unknown, what: string): number => {
    const number = Number(value);
    return Number.isSafeInteger(number) && number >= 0 && value !== '' ? number : fail(`${what} is not an integer`);
  };
  const items = (key: string): string[] => {
    const value = offset[key] ?? '';
    return typeof value !== 'string' ? fail(`${key} is not text`) : value === '' ? [] : value.split(',');
  };
  const { guid } = offset;
  if (typeof guid !== 'string') return fail('guid is missing');
  const snapshot: SnapshotView | null =
    offset.snapshot_tnx === undefined || offset.snapshot_tnx === null
      ? null
      : {
          tnx: integer(offset.snapshot_tnx, 'snapshot_tnx'),
          unseen: items('snapshot_unseen').map(item => integer(item, 'a number in snapshot_unseen')),
        };
  return {
    state: isBegun ? 'snapshotting' : 'streaming',
    position: {
      guid,
      sequence: integer(offset.segment, 'segment'),
      offset: integer(offset.pos, 'pos'),
      open: new Map(
        items('transactions').map(item => {
          const [tnx, from] = item.split(':');
          return [integer(tnx, 'a transaction'), integer(from, 'the segment of a transaction')];
        }),
      ),
      pending: items('pending').map(item => {
        const [sequence, hash = ''] = item.split(':');
        return { sequence: integer(sequence, 'a segment in pending'), hash };
      }),
      snapshot,
    },
  };
}

/** The first segment that is still needed: the current one, those of open transactions, those that may be written again. */
export function oldestNeeded(position: StreamPosition): number {
  return Math.min(position.sequence, ...position.open.values(), ...position.pending.map(of => of.sequence));
}
