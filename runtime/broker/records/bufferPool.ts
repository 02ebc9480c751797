/**
 * Buffers of batches that were acknowledged, for the next batches. Memory beside the heap that is made anew for every batch costs more than the writing:
 * V8 collects the whole heap each time 64 MiB more of it were made.
 */
const leastBytes = 16 * 1024;
const mostBytes = 4 * 1024 * 1024;

export class BufferPool {
  readonly #maxBytes: number;
  readonly #free = new Map<number, Buffer[]>();
  #freeBytes = 0;

  /** `maxBytes`: most that lies unused. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** At least `bytes` long, with anything in it. */
  take(bytes: number): Buffer {
    if (bytes < leastBytes || bytes > mostBytes) return Buffer.allocUnsafe(bytes);
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const buffer = this.#free.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.#freeBytes -= size;
    return buffer;
  }

  /** Nobody reads or writes it any more. `bytes`: what `take` gave, or its beginning. */
  give(bytes: Buffer): void {
    const { buffer } = bytes;
    const size = buffer.byteLength;
    const isOurs =
      size >= leastBytes && size <= mostBytes && Number.isInteger(Math.log2(size)) && bytes.byteOffset === 0;
    if (!isOurs || this.#freeBytes + size > this.#maxBytes) return;
    const free = this.#free.get(size);
    const whole = Buffer.from(buffer, 0, size);
    if (free === undefined) this.#free.set(size, [whole]);
    else free.push(whole);
    this.#freeBytes += size;
  }
}
