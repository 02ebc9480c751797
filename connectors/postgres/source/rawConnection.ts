/** pg's connection taken over while it streams, and the few messages that are read and written without pg. */
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';
import { RawStream } from '../../shared/rawStream.ts';

const closed = (): Error => new ConnectError('PG_UNREACHABLE', 'the server closed the connection', { retriable: true });

/** `isReused`: see RawStream. */
export function takeStream(client: pg.Client, isReused: boolean): RawStream {
  // pg's types leave the connection out.
  const { connection } = client as unknown as { connection: { stream: Duplex } };
  return new RawStream(connection.stream, { isReused, closed });
}

/** Sends a simple query. */
export function sendQuery(stream: RawStream, sql: string): void {
  const text = Buffer.from(sql, 'utf8');
  const message = Buffer.alloc(text.length + 6);
  message[0] = 0x51;
  message.writeInt32BE(text.length + 5, 1);
  text.copy(message, 5);
  stream.write(message);
}

/** Bytes that the message at `p` lacks; at least 1. */
export function missingBytes(bytes: Buffer, p: number): number {
  return p + 5 > bytes.length ? 1 : Math.max(1, p + 1 + bytes.readInt32BE(p + 1) - bytes.length);
}

/** An ErrorResponse's fields (bytes after the length) as pg's errors have them: message, code, detail. */
export function serverError(bytes: Buffer, start: number, end: number): Error {
  const fields = new Map<string, string>();
  for (let p = start; p < end && bytes[p] !== 0; ) {
    const stop = bytes.indexOf(0, p + 1);
    fields.set(String.fromCharCode(bytes[p]!), bytes.toString('utf8', p + 1, stop));
    p = stop + 1;
  }
  return Object.assign(new Error(fields.get('M') ?? 'unknown error of the server'), {
    code: fields.get('C'),
    detail: fields.get('D'),
  });
}
