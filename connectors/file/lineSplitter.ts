/** Cuts a stream of bytes into lines at `\n` or `\r\n`; what has no end yet waits for it. */
import { ConnectError } from '../../runtime/api/index.ts';

export interface Lines {
  readonly bytes: Buffer;
  /** Line i is bytes[starts[i], ends[i]). */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const maxLineBytes = 64 << 20;

export class LineSplitter {
  /** Position in the stream behind the last line taken. */
  position: number;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(position: number) {
    this.position = position;
  }

  /** The bytes are copied. */
  add(chunk: Buffer): void {
    const rest = this.#bytes.subarray(this.#start);
    if (rest.length > maxLineBytes) {
      throw new ConnectError('FILE_UNUSABLE', `The line at byte ${this.position} is longer than ${maxLineBytes} bytes`);
    }
    this.#bytes = Buffer.concat([rest, chunk]);
    this.#start = 0;
  }

  /** The next lines, at most `max`; null where there is no whole one. */
  take(max: number): Lines | null {
    const starts: number[] = [];
    const ends: number[] = [];
    let start = this.#start;
    while (starts.length < max) {
      const end = this.#bytes.indexOf(newline, start);
      if (end < 0) break;
      starts.push(start);
      ends.push(end > start && this.#bytes[end - 1] === carriageReturn ? end - 1 : end);
      start = end + 1;
    }
    if (starts.length === 0) return null;
    this.position += start - this.#start;
    this.#start = start;
    return { bytes: this.#bytes, starts, ends };
  }
}
