/**
 * Rows of a log as tuples: int16 number of fields, then each field as int32 length and bytes, a null as length -1 without bytes. It is the form of
 * PostgreSQL's COPY; what the bytes of a field are is the affair of the sink.
 * Writers get non-null values and throw RangeError, without the value in its text, for one that does not fit.
 */
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';

export type FieldWriter = (value: unknown, out: OutputBuffer) => void;

export function writeNull(out: OutputBuffer): void {
  out.ensure(4);
  out.bytes.fill(0xff, out.position, out.position + 4);
  out.position += 4;
}

export function writeInt16(value: number, out: OutputBuffer): void {
  out.ensure(2);
  out.bytes[out.position++] = value >>> 8;
  out.bytes[out.position++] = value;
}

export function put32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Bytes of the field without its length; null is -1. */
export const fieldBytes = (bytes: Uint8Array, at: number): number =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
