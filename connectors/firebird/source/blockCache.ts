/**
 * Copies of recent blocks of open transactions, so that most commits are published without another look at the files. Its memory is taken once and used
 * in turn: the oldest blocks give way, and are read from their files if they are needed after all.
 */
import type { JournalBlock } from '../journal/segmentFile.ts';

const SLAB_BYTES = 4 << 20;
const SLABS = 8;
/** Larger ones are not kept. */
const MAX_BLOCK_BYTES = 2 << 20;
/** Of a slab: each block has a price beside its bytes. */
const MAX_BLOCKS = 10_000;

/** Who has a copy; null once it has given way. */
export interface CacheHolder {
  bytes: Buffer | null;
}

interface Slab {
  readonly bytes: Buffer;
  used: number;
  readonly holders: CacheHolder[];
}

export class BlockCache {
  readonly #slabs: Slab[] = [];
  #current = -1;

  /** Gives the holder a copy of the block's operations, unless it is too large. */
  keep(block: JournalBlock, holder: CacheHolder): void {
    const size = block.end - block.start;
    if (size > MAX_BLOCK_BYTES) return;
    let slab = this.#slabs[this.#current];
    if (slab === undefined || slab.used + size > SLAB_BYTES || slab.holders.length === MAX_BLOCKS) slab = this.#next();
    block.bytes.copy(slab.bytes, slab.used, block.start, block.end);
    holder.bytes = slab.bytes.subarray(slab.used, slab.used + size);
    slab.holders.push(holder);
    slab.used += size;
  }

  #next(): Slab {
    this.#current = (this.#current + 1) % SLABS;
    const old = this.#slabs[this.#current];
    if (old === undefined) {
      const slab = { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0, holders: [] };
      this.#slabs[this.#current] = slab;
      return slab;
    }
    for (const holder of old.holders) holder.bytes = null;
    old.holders.length = 0;
    old.used = 0;
    return old;
  }
}
