/** A stretch of a table that an incremental snapshot reads at once: between which keys it lies, its rows, and when they may be published. */
import type { SourceBatch } from '../../runtime/api/index.ts';

export type Key = readonly string[];

/** What becomes of a table, as notifications tell it. */
export type TableStatus = 'SUCCEEDED' | 'EMPTY' | 'NO_PRIMARY_KEY' | 'UNKNOWN_SCHEMA' | 'SQL_EXCEPTION';

/** There is no row, or none can be read: `why`. */
export interface NoChunk {
  readonly kind: 'none';
  readonly why: string | null;
  readonly status: TableStatus;
}

/** The keys that a chunk is between. */
export interface ChunkBounds {
  readonly kind: 'bounds';
  /** Of the table's events. */
  readonly topic: string;
  /** The last one before the chunk; null = it is the first. */
  readonly above: Key | null;
  readonly lastKey: Key;
  readonly maximumKey: Key;
  readonly isLast: boolean;
}

/** `P` is where the stream stands. */
export type Chunk<P> =
  /** What the stream has given out is not visible yet: to be read again in a moment. */
  { readonly kind: 'early' } | NoChunk | RowChunk<P>;

export interface RowChunk<P> {
  readonly kind: 'rows';
  readonly rowCount: number;
  readonly byteLength: number;
  /** Whether the stream has given all that the rows may miss. */
  isReached(place: P): boolean;
  /** Whether the rows are of no use any more, such as after a change of servers. */
  isLost?(place: P): boolean;
  /** Events of the rows whose key is not among those. */
  publish(changed: ReadonlySet<string>, place: P): SourceBatch[];
}
