/**
 * Fields in PostgreSQL's binary form: int32 length, then the bytes. The same bytes serve COPY and the elements of array parameters.
 * Writers get non-null values and throw RangeError, without the value in its text, for one that does not fit.
 */
import type { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { outOfRange, toFloat, toInteger } from '../../shared/numbers.ts';
import { type FieldWriter, put32 } from '../../shared/tupleFields.ts';

export function writeField2(value: number, out: OutputBuffer): void {
  out.ensure(6);
  put32(out.bytes, out.position, 2);
  out.bytes[out.position + 4] = value >>> 8;
  out.bytes[out.position + 5] = value;
  out.position += 6;
}

export function writeField4(value: number, out: OutputBuffer): void {
  out.ensure(8);
  put32(out.bytes, out.position, 4);
  put32(out.bytes, out.position + 4, value);
  out.position += 8;
}

/** A safe integer as int64. */
export function writeField8(value: number, out: OutputBuffer): void {
  out.ensure(12);
  put32(out.bytes, out.position, 8);
  put32(out.bytes, out.position + 4, Math.floor(value / 0x1_0000_0000));
  put32(out.bytes, out.position + 8, value);
  out.position += 12;
}

const INT64_MAX = 0x7fff_ffff_ffff_ffffn;

export function writeBigField8(value: bigint, out: OutputBuffer): void {
  const quick = Number(value);
  if (quick <= Number.MAX_SAFE_INTEGER && quick >= Number.MIN_SAFE_INTEGER) {
    writeField8(quick, out);
    return;
  }
  if (value > INT64_MAX || value < -INT64_MAX - 1n) throw new RangeError('it is out of the range of 64 bits');
  out.ensure(12);
  put32(out.bytes, out.position, 8);
  out.bytes.writeBigInt64BE(value, out.position + 4);
  out.position += 12;
}

export function writeBytesField(value: Uint8Array, out: OutputBuffer): void {
  out.ensure(value.length + 4);
  put32(out.bytes, out.position, value.length);
  out.bytes.set(value, out.position + 4);
  out.position += value.length + 4;
}

const SHORT_TEXT = 32;

/** Text; `prefix` is a byte before it (jsonb's version) or -1. */
export function writeTextField(text: string, out: OutputBuffer, prefix = -1): void {
  const length = text.length;
  out.ensure(length * 3 + 5);
  const { bytes, position } = out;
  let at = position + 4;
  if (prefix !== -1) bytes[at++] = prefix;
  let done = false;
  if (length <= SHORT_TEXT) {
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) break;
      bytes[at + i] = code;
    }
    done = i === length;
    if (done) at += length;
  }
  if (!done) at += bytes.write(text, at, 'utf8');
  put32(bytes, position, at - position - 4);
  out.position = at;
}

export const writeInt2: FieldWriter = (value, out) => {
  const number = typeof value === 'number' ? value : Number(toInteger(value));
  if ((number << 16) >> 16 !== number)
    throw Number.isInteger(number) ? outOfRange() : new RangeError('it is not a whole number');
  writeField2(number, out);
};

export const writeInt4: FieldWriter = (value, out) => {
  const number = typeof value === 'number' ? value : Number(toInteger(value));
  if ((number | 0) !== number)
    throw Number.isInteger(number) ? outOfRange() : new RangeError('it is not a whole number');
  writeField4(number, out);
};

/** oid and its kin: unsigned. */
export const writeUint4: FieldWriter = (value, out) => {
  const number = Number(toInteger(value));
  if (number >>> 0 !== number) throw outOfRange();
  writeField4(number, out);
};

export const writeInt8: FieldWriter = (value, out) => {
  if (typeof value === 'bigint') writeBigField8(value, out);
  else {
    const integer = toInteger(value);
    if (typeof integer === 'number') writeField8(integer, out);
    else writeBigField8(integer, out);
  }
};

export const writeFloat4: FieldWriter = (value, out) => {
  const number = toFloat(value);
  if (Number.isFinite(number) && !Number.isFinite(Math.fround(number))) throw outOfRange();
  out.ensure(8);
  put32(out.bytes, out.position, 4);
  out.bytes.writeFloatBE(number, out.position + 4);
  out.position += 8;
};

export const writeFloat8: FieldWriter = (value, out) => {
  const number = toFloat(value);
  out.ensure(12);
  put32(out.bytes, out.position, 8);
  out.bytes.writeDoubleBE(number, out.position + 4);
  out.position += 12;
};

export const writeBoolean: FieldWriter = (value, out) => {
  let truth: boolean;
  if (typeof value === 'boolean') truth = value;
  else if (typeof value === 'string' && /^(t|true|f|false)$/i.test(value)) truth = /^t/i.test(value);
  else {
    const number = Number(toInteger(value));
    if (number !== 0 && number !== 1) throw new RangeError('it is neither true nor false');
    truth = number === 1;
  }
  out.ensure(5);
  put32(out.bytes, out.position, 1);
  out.bytes[out.position + 4] = truth ? 1 : 0;
  out.position += 5;
};

export const writeUuid: FieldWriter = (value, out) => {
  if (value instanceof Uint8Array && value.length === 16) {
    writeBytesField(value, out);
    return;
  }
  const hex = typeof value === 'string' ? value.replace(/^\{|\}$/g, '').replaceAll('-', '') : '';
  if (!/^[0-9a-f]{32}$/i.test(hex)) throw new RangeError('it is not a UUID');
  out.ensure(20);
  put32(out.bytes, out.position, 16);
  out.bytes.write(hex, out.position + 4, 'hex');
  out.position += 20;
};
