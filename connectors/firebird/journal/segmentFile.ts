/**
 * One segment file, read block by block: of any size, with no more memory than its largest block. A file that is shorter than its header says is not
 * complete yet, which is an error of its own, so that a follower may wait.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import { BLOCK_HEADER_BYTES, type BlockHeader, parseBlockHeader } from './blockHeader.ts';
import { parseSegmentHeader, SEGMENT_HEADER_BYTES, type SegmentHeader } from './segmentHeader.ts';

const READ_BYTES = 1 << 20;

/** Its operations are bytes[start, end): valid until the next one is read. */
export interface JournalBlock extends BlockHeader {
  /** Of its header and of its end in the file. */
  readonly position: number;
  readonly nextPosition: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly where: string;
}

export class SegmentFile {
  readonly path: string;
  readonly header: SegmentHeader;
  readonly #file: FileHandle;
  #position = SEGMENT_HEADER_BYTES;
  #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  /** What the buffer holds: bytes [#from, #to) of the file. */
  #from = 0;
  #to = 0;

  private constructor(path: string, header: SegmentHeader, file: FileHandle) {
    this.path = path;
    this.header = header;
    this.#file = file;
  }

  /** Throws FB_SEGMENT_INVALID, FB_SEGMENT_UNSUPPORTED or FB_DIRECTORY_UNUSABLE. */
  static async open(path: string): Promise<SegmentFile> {
    let file: FileHandle;
    try {
      file = await open(path, 'r');
    } catch (error) {
      throw new ConnectError('FB_DIRECTORY_UNUSABLE', `${path} cannot be read: ${(error as Error).message}`, {
        cause: error,
      });
    }
    try {
      const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
      const { bytesRead } = await file.read(bytes, 0, SEGMENT_HEADER_BYTES, 0);
      const header = parseSegmentHeader(bytes.subarray(0, bytesRead), path);
      const { size } = await file.stat();
      if (size < header.length) {
        throw new ConnectError(
          'FB_SEGMENT_INVALID',
          `${path} has ${size} of ${header.length} bytes: it is not complete.`,
        );
      }
      return new SegmentFile(path, header, file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Where the next block begins. */
  get position(): number {
    return this.#position;
  }

  get isAtEnd(): boolean {
    return this.#position === this.header.length;
  }

  /** Goes on at a block's end. */
  seek(position: number): void {
    this.#position = position;
  }

  /** The next block; null at the end. */
  async next(): Promise<JournalBlock | null> {
    const { path } = this;
    const { length } = this.header;
    const position = this.#position;
    if (position === length) return null;
    await this.#need(position, Math.min(BLOCK_HEADER_BYTES, length - position));
    const header = parseBlockHeader(this.#buffer, position - this.#from, position, length, path);
    await this.#need(position, BLOCK_HEADER_BYTES + header.length);
    const start = position - this.#from + BLOCK_HEADER_BYTES;
    const end = start + header.length;
    this.#position = position + BLOCK_HEADER_BYTES + header.length;
    return {
      ...header,
      position,
      nextPosition: this.#position,
      bytes: this.#buffer,
      start,
      end,
      where: `${path}, block at byte ${position}`,
    };
  }

  async #need(position: number, count: number): Promise<void> {
    if (position >= this.#from && position + count <= this.#to) return;
    if (count > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.ceil(count / READ_BYTES) * READ_BYTES);
    this.#from = position;
    this.#to = position;
    while (this.#to < position + count) {
      const filled = this.#to - this.#from;
      const wanted = Math.min(this.#buffer.length - filled, this.header.length - this.#to);
      const { bytesRead } = await this.#file.read(this.#buffer, filled, wanted, this.#to);
      if (bytesRead === 0) {
        throw new ConnectError('FB_SEGMENT_INVALID', `${this.path} ends at byte ${this.#to}: it is not complete.`);
      }
      this.#to += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
