/** Reads the fields of a protocol message one after the other. Throws RangeError behind the end. */
export class ByteReader {
  position: number;
  readonly bytes: Buffer;
  readonly end: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get isAtEnd(): boolean {
    return this.position >= this.end;
  }

  private take(length: number): number {
    const p = this.position;
    if (p + length > this.end) throw new RangeError(`the message ends ${p + length - this.end} bytes too early`);
    this.position = p + length;
    return p;
  }

  uint(length: 1 | 2 | 3 | 4 | 6): number {
    return this.bytes.readUIntLE(this.take(length), length);
  }

  uint64(): bigint {
    return this.bytes.readBigUInt64LE(this.take(8));
  }

  /** A length-encoded integer. */
  packed(): number {
    const first = this.uint(1);
    if (first < 251) return first;
    if (first === 252) return this.uint(2);
    if (first === 253) return this.uint(3);
    return Number(this.uint64());
  }

  slice(length: number): Buffer {
    const p = this.take(length);
    return this.bytes.subarray(p, p + length);
  }

  text(length: number): string {
    const p = this.take(length);
    return this.bytes.toString('utf8', p, p + length);
  }

  packedSlice(): Buffer {
    return this.slice(this.packed());
  }

  skip(length: number): void {
    this.take(length);
  }

  rest(): Buffer {
    return this.slice(this.end - this.position);
  }
}
