/**
 * Rows of COPY … TO STDOUT (FORMAT binary), left in the bytes they came in. The last row of all is known to be it: one row is held back until
 * the next message says what follows.
 *
 * Messages: 'H' copy begins · 'd' a row (the first also has the header of 19 bytes and an extension; the last is int16 -1) · 'c' copy done ·
 * 'C' complete · 'Z' ready · 'E' error.
 */
import type pg from 'pg';
import { missingBytes, sendQuery, serverError, takeStream } from './rawConnection.ts';

const HEADER_BYTES = 19;
const WAIT_MS = 1000;
/** A snapshot has no one waiting for single rows. */
const GATHER_MS = 10;
const EMPTY = Buffer.alloc(0);

export interface CopiedRows {
  readonly bytes: Buffer;
  readonly positions: Int32Array;
  readonly count: number;
  readonly byteLength: number;
  readonly isLast: boolean;
}

/** Throws the server's error. The connection is pg's again when the generator has ended. */
export async function* copyRows(
  client: pg.Client,
  sql: string,
  maxRows: number,
  signal: AbortSignal,
): AsyncGenerator<CopiedRows> {
  const stream = takeStream(client, false);
  let isIdle = false;
  try {
    sendQuery(stream, `COPY (${sql}) TO STDOUT (FORMAT binary)`);
    let isFirst = true;
    let failure: Error | null = null;
    let rest: Buffer = EMPTY;
    let hasEnded = false;
    while (!isIdle) {
      signal.throwIfAborted();
      const bytes = await stream.read(rest, missingBytes(rest, 0), WAIT_MS, GATHER_MS, signal);
      if (bytes === null) continue;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let positions = new Int32Array(Math.min(maxRows, 16384));
      let count = 0;
      let batchStart = 0;
      let p = 0;
      while (p + 5 <= bytes.length) {
        const next = p + 1 + view.getInt32(p + 1);
        if (next > bytes.length) break;
        switch (bytes[p]) {
          case 0x64: {
            const row = p + 5 + (isFirst ? HEADER_BYTES + view.getInt32(p + 5 + 15) : 0);
            if (view.getInt16(row) === -1) {
              hasEnded = true;
            } else {
              // The row is taken only when the head of the next message is here too.
              if (next + 5 > bytes.length || next + 1 + view.getInt32(next + 1) > bytes.length) {
                if (count > 0) yield rows(bytes, positions, count, p - batchStart, false);
                count = 0;
                rest = bytes.subarray(p);
                p = -1;
                break;
              }
              if (count === maxRows) {
                yield rows(bytes, positions, count, p - batchStart, false);
                batchStart = p;
                count = 0;
                positions = new Int32Array(positions.length);
              } else if (count === positions.length) {
                const wider = new Int32Array(Math.min(maxRows, count * 2));
                wider.set(positions);
                positions = wider;
              }
              positions[count++] = row;
            }
            isFirst = false;
            if (hasEnded && count > 0) {
              yield rows(bytes, positions, count, p - batchStart, true);
              count = 0;
            }
            break;
          }
          case 0x45:
            failure = serverError(bytes, p + 5, next);
            break;
          case 0x5a:
            isIdle = true;
            break;
          default:
            break;
        }
        if (p < 0) break;
        p = next;
      }
      if (p >= 0) {
        if (count > 0) yield rows(bytes, positions, count, p - batchStart, false);
        rest = bytes.subarray(p);
      }
    }
    if (failure !== null) throw failure;
  } finally {
    if (isIdle) stream.release();
    else stream.destroy();
  }
}

const rows = (
  bytes: Buffer,
  positions: Int32Array,
  count: number,
  byteLength: number,
  isLast: boolean,
): CopiedRows => ({ bytes, positions, count, byteLength, isLast });
