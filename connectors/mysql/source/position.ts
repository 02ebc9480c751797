/** Where the source is: the stored offset in Debezium's form, and what it means for a restart. */
import { ConnectError, type SourceOffset } from '../../../runtime/api/index.ts';

/**
 * A restart asks for what is not in `gtids`, or, without GTIDs, for the log from `file` and `position`: both end the last transaction that was published
 * whole. Of the one after it `events` events are done, its BEGIN included, and `rows` rows of the next event.
 */
export interface LogPosition {
  readonly file: string;
  readonly position: number;
  readonly gtids: string | null;
  readonly events: number;
  readonly rows: number;
  /** The transaction that is published in part; null = none, or not known. */
  readonly gtid: string | null;
  readonly serverId: number;
  readonly seconds: number;
}

/** Whether a place in the log of one server is behind another: files are numbered. */
export function isBehind(a: { file: string; position: number }, b: { file: string; position: number }): boolean {
  if (a.file === b.file) return a.position < b.position;
  const number = (file: string): number => Number(/\d+$/.exec(file)?.[0] ?? 0);
  return number(a.file) < number(b.file);
}

export type StoredOffset =
  | { readonly state: 'none' }
  /** A snapshot had begun, whose rows the log follows from that position on; it starts over. Null = not known. */
  | { readonly state: 'snapshotting'; readonly position: LogPosition | null }
  | { readonly state: 'streaming'; readonly position: LogPosition };

export const toOffset = (position: LogPosition): SourceOffset => ({
  file: position.file,
  pos: BigInt(position.position),
  ...(position.gtids !== null && { gtids: position.gtids }),
  ...(position.events > 0 && {
    event: position.events,
    row: position.rows,
    ...(position.gtid !== null && { gtid: position.gtid }),
  }),
  server_id: position.serverId,
  ts_sec: position.seconds,
});

export const snapshotOffset = (position: LogPosition, isComplete: boolean): SourceOffset => ({
  file: position.file,
  pos: BigInt(position.position),
  ...(position.gtids !== null && { gtids: position.gtids }),
  ts_sec: position.seconds,
  snapshot: 'INITIAL',
  snapshot_completed: isComplete,
});

/** `file:position`, as users of the log write it. */
export const formatPosition = ({ file, position, gtids }: LogPosition): string =>
  `${file}:${position}${gtids === null ? '' : ` after ${gtids}`}`;

/** Reads our offsets and Debezium's. Throws MYSQL_OFFSET_INVALID. */
export function parseOffset(offset: SourceOffset | null): StoredOffset {
  if (offset === null) return { state: 'none' };
  const isSnapshot = offset.snapshot !== undefined && offset.snapshot !== null && String(offset.snapshot) !== 'false';
  const { file, gtids, gtid } = offset;
  const position = integer(offset, 'pos');
  const isBegun = isSnapshot && String(offset.snapshot_completed ?? false) !== 'true';
  if (isBegun && (typeof file !== 'string' || position === null)) return { state: 'snapshotting', position: null };
  if (typeof file !== 'string' || file === '' || position === null) throw invalid(offset, 'it has no file and pos');
  return {
    state: isBegun ? 'snapshotting' : 'streaming',
    position: {
      file,
      position,
      gtids: typeof gtids === 'string' ? gtids.replace(/\s/g, '') : null,
      events: isSnapshot ? 0 : (integer(offset, 'event') ?? 0),
      rows: isSnapshot ? 0 : (integer(offset, 'row') ?? 0),
      gtid: typeof gtid === 'string' ? gtid : null,
      serverId: integer(offset, 'server_id') ?? 0,
      seconds: integer(offset, 'ts_sec') ?? 0,
    },
  };
}

function integer(offset: SourceOffset, key: string): number | null {
  const value = offset[key];
  if (value === undefined || value === null) return null;
  const number = Number(value);
  if (typeof value === 'boolean' || !Number.isSafeInteger(number) || number < 0) {
    throw invalid(offset, `${key} is not a whole number`);
  }
  return number;
}

function invalid(offset: SourceOffset, why: string): ConnectError {
  const shown = JSON.stringify(offset, (_, v) => (typeof v === 'bigint' ? String(v) : v));
  return new ConnectError(
    'MYSQL_OFFSET_INVALID',
    `The offset ${shown} is no position in a binary log: ${why}. Reset it.`,
  );
}
