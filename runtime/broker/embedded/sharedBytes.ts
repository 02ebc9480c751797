/**
 * Memory in which a thread hands its batches to the log thread: shared, so that they cross without a copy or a serialization, and used again after the
 * answer. Bounds what is under way; who asks for more waits, in order.
 */
const smallestBytes = 64 * 1024;
const maxInFlightBytes = 64 * 1024 * 1024;
const maxIdleBytes = 16 * 1024 * 1024;

export class SharedBytes {
  #idle = new Map<number, SharedArrayBuffer[]>();
  #idleBytes = 0;
  #inFlightBytes = 0;
  #waiting: { size: number; go: (bytes: SharedArrayBuffer) => void }[] = [];

  /** At least `length` bytes. */
  take(length: number): Promise<SharedArrayBuffer> | SharedArrayBuffer {
    let size = smallestBytes;
    while (size < length) size *= 2;
    if (this.#waiting.length === 0 && this.#fits(size)) return this.#take(size);
    return new Promise(go => this.#waiting.push({ size, go }));
  }

  give(bytes: SharedArrayBuffer): void {
    const size = bytes.byteLength;
    this.#inFlightBytes -= size;
    if (this.#idleBytes + size <= maxIdleBytes) {
      const list = this.#idle.get(size);
      if (list === undefined) this.#idle.set(size, [bytes]);
      else list.push(bytes);
      this.#idleBytes += size;
    }
    while (this.#waiting.length > 0 && this.#fits(this.#waiting[0].size)) {
      const { size: wanted, go } = this.#waiting.shift()!;
      go(this.#take(wanted));
    }
  }

  #fits(size: number): boolean {
    return this.#inFlightBytes === 0 || this.#inFlightBytes + size <= maxInFlightBytes;
  }

  #take(size: number): SharedArrayBuffer {
    this.#inFlightBytes += size;
    const idle = this.#idle.get(size)?.pop();
    if (idle === undefined) return new SharedArrayBuffer(size);
    this.#idleBytes -= size;
    return idle;
  }
}
