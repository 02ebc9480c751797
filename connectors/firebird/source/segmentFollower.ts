/**
 * Follows the segments of one database in their order, and waits where there is none. A segment whose number the server issues again with other
 * contents (after a crash, where nothing in it or behind it has committed) is noticed and read anew.
 */

import type { Logger } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { type JournalBlock, SegmentFile } from '../journal/segmentFile.ts';
import { SEGMENT_HEADER_BYTES, type SegmentHeader } from '../journal/segmentHeader.ts';
import { oldestNeeded, type PendingSegment, type StreamPosition } from './position.ts';
import { type FileState, type FoundSegment, fileState, type SegmentDirectory } from './segmentDirectory.ts';

/** A file that is being written over is left alone until it has been quiet for so long. */
const SETTLE_MS = 2000;

export interface FollowerOptions {
  readonly directory: SegmentDirectory;
  readonly logger: Logger;
  readonly errorTimeoutMs: number;
  /** The server has written this segment anew: what was open in it is dead. */
  onReissue(sequence: number): void;
}

export class SegmentFollower {
  readonly #options: FollowerOptions;
  sequence: number;
  offset: number;
  /** Processed segments behind the last one that is final. */
  pending: readonly PendingSegment[];
  /** When the current segment was written, which is the nearest there is to a time of commit. */
  modifiedMs = 0;
  #file: { readonly segment: SegmentFile; readonly state: FileState } | null = null;
  #found: ReadonlyMap<number, FoundSegment> = new Map();
  /** The server issues no number up to this one again. */
  #final: number;
  #pendingStamps = new Map<number, string>();
  #failingSince = 0;
  #toldGap = 0;

  /** Begins at the start of the first segment that a position needs. */
  constructor(options: FollowerOptions, position: StreamPosition) {
    this.#options = options;
    this.sequence = oldestNeeded(position);
    this.offset = SEGMENT_HEADER_BYTES;
    this.pending = position.pending;
    // A place within a segment is stored only once that segment is final.
    const notFinal = position.offset > SEGMENT_HEADER_BYTES ? position.sequence + 1 : position.sequence;
    this.#final = (position.pending[0]?.sequence ?? notFinal) - 1;
  }

  /** The next block; null where there is none for now. What may mend itself fails only after error.timeout.ms. */
  async next(): Promise<JournalBlock | null> {
    try {
      const block = await this.#read();
      if (block !== null) this.#failingSince = 0;
      return block;
    } catch (error) {
      await this.close();
      this.#found = new Map();
      const now = performance.now();
      if (this.#failingSince === 0) {
        this.#failingSince = now;
        this.#options.logger.warn({ err: error }, 'a journal segment cannot be read yet; it is looked at again');
      }
      if (now - this.#failingSince >= this.#options.errorTimeoutMs) throw error;
      return null;
    }
  }

  /** Of the segment that the last block came from. */
  get header(): SegmentHeader {
    return this.#file!.segment.header;
  }

  /** Whether the last segment was read to its end, and the next one is not begun. */
  get isBetweenSegments(): boolean {
    return this.#file?.segment.isAtEnd ?? this.offset === SEGMENT_HEADER_BYTES;
  }

  /**
   * To be called for a COMMIT that has come about: the server does not issue this segment's number again. A COMMIT in the journal alone is not enough: the
   * number is durable only with the pages of the database.
   */
  sawCommit(): void {
    if (this.sequence <= this.#final) return;
    this.#final = this.sequence;
    this.pending = [];
  }

  /** Whether a restart finds the same in front of this place, or notices that it does not. */
  get isSafe(): boolean {
    return this.offset === SEGMENT_HEADER_BYTES || this.sequence <= this.#final;
  }

  async #read(): Promise<JournalBlock | null> {
    for (;;) {
      this.#file ??= await this.#open();
      if (this.#file === null) return null;
      const block = await this.#file.segment.next();
      if (block !== null) {
        this.offset = block.nextPosition;
        return block;
      }
      if (!(await this.#finish(this.#file))) return null;
    }
  }

  async #open(): Promise<{ segment: SegmentFile; state: FileState } | null> {
    // Many segments may be waiting: the directory is not read again for each.
    if (!this.#found.has(this.sequence) || this.pending.length > 0) this.#found = await this.#options.directory.list();
    const found = this.#found;
    if (!(await this.#checkPending(found))) return null;
    const of = found.get(this.sequence);
    if (of === undefined) {
      this.#checkGap(found);
      return null;
    }
    if (!of.isComplete) {
      throw new ConnectError('FB_SEGMENT_INVALID', `${of.path} is shorter than its header says: it is not complete.`);
    }
    const state = await fileState(of.path);
    if (state === null) return null;
    const segment = await SegmentFile.open(of.path);
    if (segment.header.sequence !== this.sequence || this.offset > segment.header.length) {
      await segment.close();
      throw new ConnectError(
        'FB_SEGMENT_INVALID',
        `${of.path} does not reach to byte ${this.offset}, up to which segment ${this.sequence} was read.`,
      );
    }
    segment.seek(this.offset);
    this.modifiedMs = state.modifiedMs;
    return { segment, state };
  }

  /** Goes on to the next segment; false where this one has changed while it was read. */
  async #finish({ segment, state }: { segment: SegmentFile; state: FileState }): Promise<boolean> {
    const { path } = segment;
    if ((await fileState(path))?.stamp !== state.stamp) {
      await this.#beginAgain(this.sequence);
      return false;
    }
    if (this.sequence > this.#final && !this.pending.some(of => of.sequence === this.sequence)) {
      const hash = await this.#options.directory.hash(path);
      this.pending = [...this.pending, { sequence: this.sequence, hash }];
      this.#pendingStamps.set(this.sequence, state.stamp);
    }
    await this.close();
    this.sequence++;
    this.offset = SEGMENT_HEADER_BYTES;
    return true;
  }

  /** Begins again at a segment that was written again; false while one is being written. */
  async #checkPending(found: ReadonlyMap<number, FoundSegment>): Promise<boolean> {
    for (const { sequence, hash } of this.pending) {
      const segment = found.get(sequence);
      if (segment === undefined) continue;
      if (!segment.isComplete) return false;
      const state = await fileState(segment.path);
      if (state === null || this.#pendingStamps.get(sequence) === state.stamp) continue;
      if (Date.now() - state.modifiedMs < SETTLE_MS) return false;
      if ((await this.#options.directory.hash(segment.path)) !== hash) {
        await this.#beginAgain(sequence);
        return true;
      }
      this.#pendingStamps.set(sequence, state.stamp);
    }
    return true;
  }

  /** A reader that has not come to the segment again since it started finds it when it does. */
  async #beginAgain(sequence: number): Promise<void> {
    this.#options.logger.warn({ sequence }, 'the server has written a segment again after a crash; reading from it');
    this.pending = this.pending.filter(of => of.sequence < sequence);
    if (sequence <= this.sequence) {
      await this.close();
      this.sequence = sequence;
      this.offset = SEGMENT_HEADER_BYTES;
    }
    this.#options.onReissue(sequence);
  }

  /** Later segments without the next one: it is late, or lost. */
  #checkGap(found: ReadonlyMap<number, FoundSegment>): void {
    const later = [...found.keys()].filter(sequence => sequence > this.sequence);
    if (later.length === 0) {
      this.#failingSince = 0;
      return;
    }
    if (this.#toldGap !== this.sequence) {
      this.#toldGap = this.sequence;
      this.#options.logger.warn({ sequence: this.sequence }, 'a segment is missing while later ones are there');
    }
    throw new ConnectError(
      'FB_SEGMENT_MISSING',
      `Segment ${this.sequence} is not in ${this.#options.directory.path}, but ${Math.min(...later)} is. Nothing is skipped.`,
      { place: { position: `${this.sequence}:${this.offset}` } },
    );
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.segment.close();
  }
}
