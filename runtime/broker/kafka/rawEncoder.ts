/** Writes the primitives of Kafka's protocol into a buffer of a size known before. */

export class RawEncoder {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(byteLength: number) {
    this.#bytes = Buffer.allocUnsafe(byteLength);
  }

  int8(value: number): this {
    this.#position = this.#bytes.writeInt8(value, this.#position);
    return this;
  }

  int16(value: number): this {
    this.#position = this.#bytes.writeInt16BE(value, this.#position);
    return this;
  }

  int32(value: number): this {
    this.#position = this.#bytes.writeInt32BE(value, this.#position);
    return this;
  }

  int64(value: bigint): this {
    this.#position = this.#bytes.writeBigInt64BE(value, this.#position);
    return this;
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    this.int16(Buffer.byteLength(value));
    this.#position += this.#bytes.write(value, this.#position);
    return this;
  }

  bytes(value: Uint8Array | null): this {
    if (value === null) return this.int32(-1);
    this.int32(value.length);
    this.#bytes.set(value, this.#position);
    this.#position += value.length;
    return this;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#position);
  }

  /** Bytes that a string takes. */
  static stringBytes(value: string | null): number {
    return 2 + (value === null ? 0 : Buffer.byteLength(value));
  }
}
