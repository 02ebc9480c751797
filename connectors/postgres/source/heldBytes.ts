/**
 * Bytes of a transaction that is not committed yet, in order: the newest in blocks of memory, older ones in a file that has no name any more, so that nothing is
 * left of it however the process ends. Blocks are used again: memory outside the heap that is made anew costs full collections.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConnectError } from '../../../runtime/api/index.ts';

const BLOCK_BYTES = 64 * 1024;

interface Block {
  readonly bytes: Buffer;
  length: number;
}

export class BlockPool {
  private readonly free: Block[] = [];
  private readonly maxBytes: number;
  /** Of all blocks in use. */
  usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get isOver(): boolean {
    return this.usedBytes > this.maxBytes;
  }

  take(): Block {
    this.usedBytes += BLOCK_BYTES;
    return this.free.pop() ?? { bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES), length: 0 };
  }

  give(blocks: readonly Block[]): void {
    for (const block of blocks) {
      this.usedBytes -= BLOCK_BYTES;
      block.length = 0;
      if ((this.free.length + 1) * BLOCK_BYTES + this.usedBytes <= this.maxBytes) this.free.push(block);
    }
  }
}

export class HeldBytes {
  private readonly pool: BlockPool;
  private blocks: Block[] = [];
  private file: FileHandle | null = null;
  /** Bytes in the file; those in memory come after them. */
  private fileBytes = 0;
  byteLength = 0;

  constructor(pool: BlockPool) {
    this.pool = pool;
  }

  get memoryBytes(): number {
    return this.blocks.length * BLOCK_BYTES;
  }

  append(bytes: Buffer, start: number, end: number): void {
    for (let p = start; p < end; ) {
      let block = this.blocks.at(-1);
      if (block === undefined || block.length === BLOCK_BYTES) {
        block = this.pool.take();
        this.blocks.push(block);
      }
      const count = bytes.copy(block.bytes, block.length, p, end);
      block.length += count;
      p += count;
    }
    this.byteLength += end - start;
  }

  /** Moves what is in memory to the file. Throws PG_SPILL_FAILED. */
  async spill(): Promise<void> {
    try {
      this.file ??= await openNameless();
      const parts = this.blocks.map(({ bytes, length }) => bytes.subarray(0, length));
      let position = this.fileBytes;
      for (let i = 0; i < parts.length; ) {
        let { bytesWritten } = await this.file.writev(parts.slice(i, i + 64), position);
        position += bytesWritten;
        for (; bytesWritten > 0 && bytesWritten >= parts[i]!.length; i++) bytesWritten -= parts[i]!.length;
        if (bytesWritten > 0) parts[i] = parts[i]!.subarray(bytesWritten);
      }
      this.fileBytes = position;
    } catch (error) {
      throw spillFailed(error);
    }
    this.pool.give(this.blocks);
    this.blocks = [];
  }

  /** Copies from `position` on into the room behind `at`, as much as fits or is there. */
  async read(position: number, into: Buffer, at: number): Promise<number> {
    const wanted = Math.min(into.length - at, this.byteLength - position);
    let done = 0;
    while (done < wanted && position + done < this.fileBytes) {
      const length = Math.min(wanted - done, this.fileBytes - position - done);
      try {
        const { bytesRead } = await this.file!.read(into, at + done, length, position + done);
        if (bytesRead === 0) throw new Error('it ends before what was written to it');
        done += bytesRead;
      } catch (error) {
        throw spillFailed(error);
      }
    }
    // Only the last block may be in part filled.
    for (let offset = position + done - this.fileBytes; done < wanted; ) {
      const { bytes, length } = this.blocks[Math.floor(offset / BLOCK_BYTES)]!;
      const start = offset % BLOCK_BYTES;
      const count = bytes.copy(into, at + done, start, Math.min(length, start + wanted - done));
      done += count;
      offset += count;
    }
    return done;
  }

  async close(): Promise<void> {
    this.pool.give(this.blocks);
    this.blocks = [];
    const { file } = this;
    this.file = null;
    // What it held is not needed any more.
    await file?.close().catch(() => {});
  }
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `millrace-${randomUUID()}.transaction`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

const spillFailed = (error: unknown): ConnectError =>
  new ConnectError(
    'PG_SPILL_FAILED',
    `An open transaction could not be kept in a file of ${tmpdir()}: ${(error as Error).message}. Make room there, set TMPDIR to another folder, or set streaming.mode=off, so that the server keeps it.`,
    { cause: error, retriable: true },
  );
