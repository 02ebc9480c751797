/**
 * Rows of a SELECT in the text protocol, left in the bytes they came in. Packets: number of columns, a description of each, with older servers an EOF,
 * the rows, an EOF or OK (0xfe), or an error (0xff).
 */
import type { Connection } from 'mysql2/promise';
import { ByteReader } from '../protocol/byteReader.ts';
import { commandPacket, PacketReader, serverError } from '../protocol/packetReader.ts';
import { takeStream } from './rawConnection.ts';

const WAIT_MS = 1000;
/** A snapshot has no one waiting for single rows. */
const GATHER_MS = 10;
const EMPTY = Buffer.alloc(0);
const QUERY = 0x03;
const ERROR = 0xff;
const END = 0xfe;
/** An end is shorter than a row that begins with a value of 2^24 bytes. */
const LONGEST_END = 0xffffff;

export interface SelectedRows {
  readonly bytes: Buffer;
  readonly positions: Int32Array;
  readonly count: number;
  readonly byteLength: number;
}

/** Throws the server's error. The connection is the driver's again when the generator has ended, and destroyed where it did not come to the end. */
export async function* selectRows(
  connection: Connection,
  sql: string,
  maxRows: number,
  signal: AbortSignal,
): AsyncGenerator<SelectedRows> {
  const { stream, release } = takeStream(connection, false);
  const packet = new PacketReader();
  let isDone = false;
  try {
    stream.write(commandPacket(QUERY, Buffer.from(sql)));
    let rest: Buffer = EMPTY;
    /** Descriptions still to come; null before the first packet. */
    let heads: number | null = null;
    let mayHaveEof = true;
    packet.missing = 1;
    while (!isDone) {
      signal.throwIfAborted();
      const bytes = await stream.read(rest, packet.missing, WAIT_MS, GATHER_MS, signal);
      if (bytes === null) continue;
      let positions = new Int32Array(Math.min(maxRows, 16384));
      let count = 0;
      let batchStart = 0;
      let p = 0;
      while (!isDone && packet.read(bytes, p)) {
        const { start, end, next } = packet;
        const first = bytes[start]!;
        if (first === ERROR && heads !== 0) throw serverError(bytes, start, end);
        if (heads === null) heads = new ByteReader(bytes, start, end).packed();
        else if (heads > 0) heads--;
        else if (first === ERROR) throw serverError(bytes, start, end);
        else if (first === END && end - start === 5 && mayHaveEof) mayHaveEof = false;
        else if (first === END && end - start < LONGEST_END) isDone = true;
        else {
          mayHaveEof = false;
          if (count === maxRows) {
            yield { bytes, positions, count, byteLength: p - batchStart };
            batchStart = p;
            count = 0;
            positions = new Int32Array(positions.length);
          } else if (count === positions.length) {
            const wider = new Int32Array(Math.min(maxRows, count * 2));
            wider.set(positions);
            positions = wider;
          }
          positions[count++] = start;
        }
        p = next;
      }
      if (count > 0) yield { bytes, positions, count, byteLength: p - batchStart };
      rest = bytes.subarray(p);
    }
  } finally {
    if (isDone) release();
    else stream.destroy();
  }
}
