/** A growing byte buffer that encoders append to. Hot code reads `bytes` and `position` once, writes, and stores `position` back. */
export class OutputBuffer {
  bytes: Buffer;
  position = 0;

  constructor(initialBytes = 65536) {
    this.bytes = Buffer.allocUnsafe(initialBytes);
  }

  /** Makes room for `length` more bytes. `bytes` may be another buffer afterwards. */
  ensure(length: number): void {
    const need = this.position + length;
    if (need <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(need, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.position);
    this.bytes = grown;
  }

  writeByte(value: number): void {
    this.ensure(1);
    this.bytes[this.position++] = value;
  }

  writeBytes(source: Uint8Array): void {
    this.ensure(source.length);
    this.bytes.set(source, this.position);
    this.position += source.length;
  }

  writeUtf8(text: string): void {
    this.ensure(text.length * 3);
    this.position += this.bytes.write(text, this.position, 'utf8');
  }

  /** A view of what was written; valid until the next write. */
  written(): Buffer {
    return this.bytes.subarray(0, this.position);
  }

  /** Empties the buffer, keeping its memory. */
  reset(): void {
    this.position = 0;
  }
}
