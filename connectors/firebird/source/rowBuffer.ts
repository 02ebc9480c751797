/**
 * Rows of a poll in one buffer, in the form of PostgreSQL's binary COPY (`pg-copy` of schemas/transcode), which carries integers, floats, text and
 * bytes: what the generated transcoders read. Used again for each poll.
 */
const START_BYTES = 1 << 20;
/** A buffer that one large row has made larger than this is not kept. */
const KEPT_BYTES = 32 << 20;
const NULL_LENGTH = -1;

export class RowBuffer {
  bytes = Buffer.allocUnsafeSlow(START_BYTES);
  length = 0;

  reset(): void {
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.allocUnsafeSlow(START_BYTES);
    this.length = 0;
  }

  /** Position of a new row. */
  begin(columns: number): number {
    const at = this.#room(2);
    this.bytes.writeInt16BE(columns, at);
    return at;
  }

  null(): void {
    const at = this.#room(4);
    this.bytes.writeInt32BE(NULL_LENGTH, at);
  }

  boolean(value: boolean): void {
    const at = this.#sized(1);
    this.bytes[at] = value ? 1 : 0;
  }

  int16(value: number): void {
    const at = this.#sized(2);
    this.bytes.writeInt16BE(value, at);
  }

  int32(value: number): void {
    const at = this.#sized(4);
    this.bytes.writeInt32BE(value, at);
  }

  /** Of an integer that a double holds. */
  int64(value: number): void {
    const high = Math.floor(value / 4294967296);
    this.int64Halves(high, value - high * 4294967296);
  }

  int64Halves(high: number, low: number): void {
    const at = this.#sized(8);
    this.bytes.writeInt32BE(high | 0, at);
    this.bytes.writeUInt32BE(low >>> 0, at + 4);
  }

  float(value: number): void {
    const at = this.#sized(4);
    this.bytes.writeFloatBE(value, at);
  }

  double(value: number): void {
    const at = this.#sized(8);
    this.bytes.writeDoubleBE(value, at);
  }

  /** Text of ASCII characters. */
  ascii(text: string): void {
    const at = this.#sized(text.length);
    this.bytes.write(text, at, 'latin1');
  }

  text(text: string): void {
    const start = this.#room(4 + text.length * 3);
    const written = this.bytes.write(text, start + 4, 'utf8');
    this.bytes.writeInt32BE(written, start);
    this.length = start + 4 + written;
  }

  slice(from: Buffer, start: number, end: number): void {
    const at = this.#sized(end - start);
    from.copy(this.bytes, at, start, end);
  }

  parts(parts: readonly Buffer[]): void {
    let size = 0;
    for (const part of parts) size += part.length;
    let at = this.#sized(size);
    for (const part of parts) at += part.copy(this.bytes, at);
  }

  #sized(size: number): number {
    const at = this.#room(4 + size);
    this.bytes.writeInt32BE(size, at);
    return at + 4;
  }

  #room(size: number): number {
    const at = this.length;
    const needed = at + size;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, at);
      this.bytes = larger;
    }
    this.length = needed;
    return at;
  }
}
