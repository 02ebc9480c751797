/** The 16 bytes before the operations of a block: whose they are, and whether the transaction begins or ends with them. */
import { ConnectError } from '../../../schemas/errors.ts';

export const BLOCK_HEADER_BYTES = 16;
/** A block lies in memory as a whole; Firebird flushes them at `buffer_size`, 1 MiB by default. */
export const MAX_BLOCK_BYTES = 1 << 29;

const PROTOCOL = 1;
const BEGINS = 1;
const ENDS = 2;

export interface BlockHeader {
  /** 0 only for a cleanup of all transactions. */
  readonly transaction: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Of the operations that follow. */
  readonly length: number;
}

/** Reads the header at `at` of `bytes`; `position` and `end` are where that is in the file, and where the segment ends. */
export function parseBlockHeader(bytes: Buffer, at: number, position: number, end: number, file: string): BlockHeader {
  const where = `${file}, byte ${position}`;
  if (position + BLOCK_HEADER_BYTES > end || at + BLOCK_HEADER_BYTES > bytes.length) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${where}: the header of a block is cut off.`);
  }
  const transaction = bytes.readBigUInt64LE(at);
  const protocol = bytes.readUInt16LE(at + 8);
  const flags = bytes.readUInt16LE(at + 10);
  const length = bytes.readUInt32LE(at + 12);
  if (protocol !== PROTOCOL) {
    throw new ConnectError('FB_SEGMENT_UNSUPPORTED', `${where}: protocol ${protocol}; known is protocol ${PROTOCOL}.`);
  }
  if (position + BLOCK_HEADER_BYTES + length > end) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${where}: a block of ${length} bytes runs past the segment's end.`);
  }
  if (length > MAX_BLOCK_BYTES) {
    throw new ConnectError(
      'FB_SEGMENT_INVALID',
      `${where}: a block of ${length} bytes; ${MAX_BLOCK_BYTES} are allowed.`,
    );
  }
  if (transaction > BigInt(Number.MAX_SAFE_INTEGER) || (flags & ~(BEGINS | ENDS)) !== 0) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${where}: impossible transaction number or flags in a block.`);
  }
  return { transaction: Number(transaction), isFirst: (flags & BEGINS) !== 0, isLast: (flags & ENDS) !== 0, length };
}
