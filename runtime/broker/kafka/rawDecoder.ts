/** Reads the primitives of Kafka's protocol. Byte strings are views, not copies. */
import { ConnectionLost } from './kafkaErrors.ts';

export class RawDecoder {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Bytes not yet read. */
  get remaining(): number {
    return this.#bytes.length - this.#position;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#step(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#step(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#step(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#step(8));
  }

  string(): string | null {
    const length = this.int16();
    if (length < 0) return null;
    const start = this.#step(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  bytes(): Buffer | null {
    const length = this.int32();
    if (length < 0) return null;
    const start = this.#step(length);
    return this.#bytes.subarray(start, start + length);
  }

  array<T>(read: () => T): T[] {
    const count = this.int32();
    const list: T[] = [];
    for (let i = 0; i < count; i++) list.push(read());
    return list;
  }

  #step(count: number): number {
    const start = this.#position;
    if (count > this.#bytes.length - start) throw new ConnectionLost('an answer of the broker is cut off');
    this.#position = start + count;
    return start;
  }
}
