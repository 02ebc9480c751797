/**
 * The chunks of a table that are being read, or that the stream has not come up to yet, in the order of their keys; each with the keys of the table that
 * were published since its reading began.
 */
import type { SourceBatch } from '../../runtime/api/index.ts';
import type { Chunk, ChunkBounds, RowChunk } from './incrementalChunk.ts';
import { rowKey } from './rowKey.ts';
import { TableSourceBatch } from './tableSourceBatch.ts';

export interface ChunkWindow<P> {
  readonly bounds: ChunkBounds;
  reading: Promise<Chunk<P>>;
  /** Null = it is not known to be read. */
  chunk: RowChunk<P> | null;
  readonly changed: Set<string>;
  /** The table was emptied, or changed without keys: its rows count for nothing. */
  isTruncated: boolean;
}

/** `P` is where the stream stands. */
export class ChunkWindows<P> {
  private windows: ChunkWindow<P>[] = [];
  /** Of the chunk of the table that was read last; null = none was. */
  private chunkBytes: number | null = null;

  get count(): number {
    return this.windows.length;
  }

  /** Whether one more can be read: a table's chunks are taken to be as large as the one read last, and the first is read alone. */
  hasRoom(maxCount: number, maxBytes: number): boolean {
    const { length } = this.windows;
    if (length === 0) return true;
    return length < maxCount && this.chunkBytes !== null && (length + 1) * this.chunkBytes <= maxBytes;
  }

  get first(): ChunkWindow<P> | null {
    return this.windows[0] ?? null;
  }

  get last(): ChunkWindow<P> | null {
    return this.windows.at(-1) ?? null;
  }

  add(bounds: ChunkBounds, reading: Promise<Chunk<P>>): void {
    this.windows.push({ bounds, reading, chunk: null, changed: new Set(), isTruncated: false });
  }

  clear(): void {
    this.windows = [];
    this.chunkBytes = null;
  }

  /** The first has been read. */
  setFirst(chunk: RowChunk<P>): void {
    this.windows[0]!.chunk = chunk;
    this.chunkBytes = chunk.byteLength;
  }

  /** Takes note of what is published of the table. */
  see(batch: SourceBatch): void {
    if (batch.topic !== this.first?.bounds.topic || !(batch instanceof TableSourceBatch)) return;
    const { rows, keyLayout } = batch.wire;
    if (keyLayout === null || batch.keySchema === null) {
      for (const window of this.windows) window.isTruncated = true;
      return;
    }
    for (let i = 0; i < batch.count; i++) {
      const key = rowKey(batch.keySchema, keyLayout, rows, i);
      for (const { changed } of this.windows) changed.add(key);
    }
  }

  isReady(place: P): boolean {
    return this.first?.chunk?.isReached(place) ?? false;
  }

  /** Takes the first, if the stream has come up to it. */
  takeReady(place: P): ChunkWindow<P> | null {
    if (this.windows.some(({ chunk }) => chunk?.isLost?.(place))) this.clear();
    return this.isReady(place) ? this.windows.shift()! : null;
  }
}
