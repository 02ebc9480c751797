/**
 * The 48 bytes a journal segment begins with. Tells a segment from other files, and a whole one from one that is still being written or copied.
 */
import { ConnectError } from '../../../schemas/errors.ts';

export const SEGMENT_HEADER_BYTES = 48;
export const SEGMENT_NAME = /\.journal-\d+$/;

const SIGNATURE = Buffer.from('FBCHANGELOG\0', 'latin1');
const VERSION = 1;
export const SEGMENT_STATES = ['free', 'used', 'full', 'archive'] as const;
export type SegmentState = (typeof SEGMENT_STATES)[number];

export interface SegmentHeader {
  readonly version: number;
  readonly state: SegmentState;
  /** As `rdb$get_context('SYSTEM', 'DB_GUID')` gives it. */
  readonly guid: string;
  readonly sequence: number;
  /** Bytes in use, this header included. */
  readonly length: number;
}

/** Throws FB_SEGMENT_INVALID or FB_SEGMENT_UNSUPPORTED. `file` is named in errors. */
export function parseSegmentHeader(bytes: Buffer, file: string): SegmentHeader {
  if (bytes.length < SEGMENT_HEADER_BYTES) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${file} has ${bytes.length} bytes, a segment has at least 48.`);
  }
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${file} does not begin with FBCHANGELOG: it is no journal segment.`);
  }
  const version = bytes.readUInt16LE(12);
  if (version !== VERSION) {
    throw new ConnectError('FB_SEGMENT_UNSUPPORTED', `${file} is of version ${version}; known is version ${VERSION}.`);
  }
  const state = SEGMENT_STATES[bytes.readUInt16LE(14)];
  const sequence = safeInteger(bytes, 32);
  const length = safeInteger(bytes, 40);
  if (state === undefined || sequence === null || length === null || length < SEGMENT_HEADER_BYTES) {
    throw new ConnectError('FB_SEGMENT_INVALID', `${file} has an impossible state, sequence number or length.`);
  }
  return { version, state, guid: guidText(bytes.subarray(16, 32)), sequence, length };
}

function safeInteger(bytes: Buffer, at: number): number | null {
  const value = bytes.readBigUInt64LE(at);
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null;
}

function guidText(bytes: Buffer): string {
  const hex = (from: number, to: number): string => bytes.toString('hex', from, to).toUpperCase();
  const reversed = (from: number, to: number): string =>
    Buffer.from(bytes.subarray(from, to)).reverse().toString('hex').toUpperCase();
  return `{${reversed(0, 4)}-${reversed(4, 6)}-${reversed(6, 8)}-${hex(8, 10)}-${hex(10, 16)}}`;
}
