/**
 * A committed transaction that was held, as protocol version 1 sends it: B, its changes without the xids and without those of subtransactions that were rolled back,
 * C. The server takes a relation for described once it has described it in the transaction, also inside a subtransaction that it rolls back: descriptions stay.
 */
import { ConnectError } from '../../../runtime/api/index.ts';
import type { HeldTransaction } from './heldTransactions.ts';

const PIECE_BYTES = 256 * 1024;
/** Buffers made for a large row are not kept. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024;
/** 'd', int32 length, 'w', int64 start, int64 end, int64 time. */
const HEAD_BYTES = 30;
const BEGIN_BYTES = HEAD_BYTES + 21;
const COMMIT_BYTES = HEAD_BYTES + 26;
const ORIGIN = 0x4f;
const RELATION = 0x52;
const TYPE = 0x59;
const EMPTY = Buffer.alloc(0);

/** Used by one replay after the other: a piece holds until the next is asked for. */
export class ReplayBuffers {
  input: Buffer = EMPTY;
  output: Buffer = EMPTY;
}

export class TransactionReplay {
  private readonly transaction: HeldTransaction;
  private readonly commit: Buffer;
  private readonly buffers: ReplayBuffers;
  private position = 0;
  private inputLength = 0;
  /** Where the output has the LSN of B, which is that of the first change that counts; -1 = it is known. */
  private beginLsnAt = -1;
  private state: 'begin' | 'changes' | 'ended' = 'begin';

  /** `commit` is the message c. */
  constructor(transaction: HeldTransaction, commit: Buffer, buffers: ReplayBuffers) {
    this.transaction = transaction;
    this.commit = Buffer.from(commit);
    this.buffers = buffers;
  }

  /** The next messages behind `rest`, what is left of the last piece; null at the end. */
  async next(rest: Buffer): Promise<Buffer | null> {
    if (this.state === 'ended') return null;
    this.buffers.output = roomFor(this.buffers.output, rest.length + PIECE_BYTES + COMMIT_BYTES);
    rest.copy(this.buffers.output);
    let length = rest.length;
    if (this.state === 'begin') {
      this.state = 'changes';
      length = this.begin(length);
    }
    while (length < PIECE_BYTES && (await this.fill())) length = this.convert(length);
    if (this.position === this.transaction.bytes.byteLength && this.inputLength === 0) {
      this.state = 'ended';
      length = this.beginLsnAt >= 0 ? this.withoutBegin(length) : this.end(length);
    }
    this.beginLsnAt = -1;
    return this.buffers.output.subarray(0, length);
  }

  /** Reads more messages behind those left of the last time; false where there are none. */
  private async fill(): Promise<boolean> {
    const { bytes } = this.transaction;
    if (this.position === bytes.byteLength && this.inputLength === 0) return false;
    const wanted = this.inputLength < 5 ? PIECE_BYTES : Math.max(PIECE_BYTES, 1 + this.buffers.input.readInt32BE(1));
    this.buffers.input = roomFor(this.buffers.input, wanted, this.inputLength);
    const count = await bytes.read(this.position, this.buffers.input, this.inputLength);
    if (count === 0)
      throw new ConnectError('PG_PROTOCOL_INVALID', 'a message of a transaction that was held is cut off.');
    this.position += count;
    this.inputLength += count;
    return true;
  }

  private convert(length: number): number {
    const { aborted, hasXids } = this.transaction;
    const { input } = this.buffers;
    const end = this.inputLength;
    this.buffers.output = roomFor(this.buffers.output, length + end + COMMIT_BYTES, length);
    const { output } = this.buffers;
    let p = 0;
    while (p + 5 <= end) {
      const next = p + 1 + input.readInt32BE(p + 1);
      if (next > end) break;
      const tag = input[p + HEAD_BYTES]!;
      if (tag === ORIGIN) {
        length += input.copy(output, length, p, next);
      } else if (tag === RELATION || tag === TYPE || aborted.size === 0 || !aborted.has(input.readUInt32BE(p + 31))) {
        const start = length;
        if (this.beginLsnAt >= 0 && tag !== RELATION && tag !== TYPE) {
          input.copy(output, this.beginLsnAt, p + 6, p + 14);
          this.beginLsnAt = -1;
        }
        length += input.copy(output, length, p, p + HEAD_BYTES + 1);
        length += input.copy(output, length, p + HEAD_BYTES + (hasXids ? 5 : 1), next);
        output.writeInt32BE(length - start - 1, start + 1);
      }
      p = next;
    }
    input.copyWithin(0, p, end);
    this.inputLength = end - p;
    return length;
  }

  /** B: int64 final lsn, int64 time, int32 xid. */
  private begin(at: number): number {
    this.head(at, BEGIN_BYTES);
    this.beginLsnAt = at + 6;
    this.buffers.output[at + HEAD_BYTES] = 0x42;
    this.commit.copy(this.buffers.output, at + HEAD_BYTES + 1, HEAD_BYTES + 6, HEAD_BYTES + 14);
    this.commit.copy(this.buffers.output, at + HEAD_BYTES + 9, HEAD_BYTES + 22, HEAD_BYTES + 30);
    this.commit.copy(this.buffers.output, at + HEAD_BYTES + 17, HEAD_BYTES + 1, HEAD_BYTES + 5);
    return at + BEGIN_BYTES;
  }

  /** A transaction without changes leaves its descriptions only: after a commit the server sends nothing of it. */
  private withoutBegin(length: number): number {
    const begin = this.beginLsnAt - 6;
    this.buffers.output.copyWithin(begin, begin + BEGIN_BYTES, length);
    return length - BEGIN_BYTES;
  }

  /** C: byte flags, int64 commit lsn, int64 end lsn, int64 time. */
  private end(at: number): number {
    this.head(at, COMMIT_BYTES);
    this.buffers.output[at + HEAD_BYTES] = 0x43;
    this.commit.copy(this.buffers.output, at + HEAD_BYTES + 1, HEAD_BYTES + 5, HEAD_BYTES + 30);
    return at + COMMIT_BYTES;
  }

  private head(at: number, byteLength: number): void {
    this.buffers.output[at] = 0x64;
    this.buffers.output.writeInt32BE(byteLength - 1, at + 1);
    this.buffers.output[at + 5] = 0x77;
    this.commit.copy(this.buffers.output, at + 6, 6, HEAD_BYTES);
  }

  async close(): Promise<void> {
    await this.transaction.bytes.close();
  }
}

/** A buffer of at least that length, with the first `kept` bytes of the old one. */
function roomFor(buffer: Buffer, length: number, kept = 0): Buffer {
  const isKept = length <= buffer.length && (buffer.length <= MOST_KEPT_BYTES || length > MOST_KEPT_BYTES);
  if (isKept) return buffer;
  const other = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
  buffer.copy(other, 0, 0, kept);
  return other;
}
