/** Writers of JSON's single values that append bytes to a buffer, as Jackson writes them. What is short is written here, cheaper than by calls out of JavaScript. */
import type { OutputBuffer } from '../outputBuffer.ts';
import { ViewCache } from '../transcode/viewCache.ts';
import { type Block, makeBlock, putBlock, writeDigits, writeSmallDigits } from '../transcode/write.ts';

const views = new ViewCache();

const SHORT_TEXT = 14;
const SHORT_BYTES = 48;

const int64 = new BigInt64Array(1);
const int32 = new Int32Array(int64.buffer);
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

/** A label, or a text that many records share. */
export const textBlock = (text: string): Block => makeBlock(Buffer.from(text));

export function writeBlock(out: OutputBuffer, block: Block): void {
  out.ensure(block.length + 4);
  out.position = putBlock(out.bytes, views.of(out.bytes), out.position, block);
}

/** Characters below 128, none of which JSON escapes. */
export function writeAscii(out: OutputBuffer, text: string): void {
  const { length } = text;
  out.ensure(length);
  const { bytes, position } = out;
  if (length > SHORT_TEXT) bytes.write(text, position, 'latin1');
  else for (let i = 0; i < length; i++) bytes[position + i] = text.charCodeAt(i);
  out.position = position + length;
}

const special = /["\\\u0000-\u001f\ud800-\udfff]/;

/** The JSON text of a string. */
export const stringText = (value: string): string => (special.test(value) ? JSON.stringify(value) : `"${value}"`);

export function writeString(out: OutputBuffer, text: string): void {
  const { length } = text;
  if (length <= SHORT_TEXT) {
    out.ensure(length + 2);
    const { bytes, position } = out;
    let p = position;
    let i = 0;
    bytes[p++] = 34;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127 || escapes[code] !== 0) break;
      bytes[p++] = code;
    }
    if (i === length) {
      bytes[p] = 34;
      out.position = p + 1;
      return;
    }
  }
  if (special.test(text)) {
    out.writeUtf8(JSON.stringify(text));
    return;
  }
  // Quotes are not put to the text before: a joined string would have to be copied to be written.
  out.ensure(length * 3 + 2);
  const { bytes, position } = out;
  bytes[position] = 34;
  const end = position + 1 + bytes.write(text, position + 1);
  bytes[end] = 34;
  out.position = end + 1;
}

/** A JSON string of UTF-8 bytes b[p, q), as they come from a database: copied, not checked. */
export function writeUtf8Slice(out: OutputBuffer, b: Buffer, v: DataView, p: number, q: number): void {
  out.ensure(q - p + 2);
  const { bytes: o, position } = out;
  const whole = q - 3;
  let w = position;
  o[w++] = 34;
  let i = p;
  if (q - p > LONG_SLICE) {
    while (i < whole && !hasSpecial(v.getInt32(i, true))) i += 4;
    b.copy(o, w, p, i);
    w += i - p;
  } else {
    const view = views.of(o);
    for (; i < whole; i += 4, w += 4) {
      const word = v.getInt32(i, true);
      if (hasSpecial(word)) break;
      view.setInt32(w, word, true);
    }
  }
  for (; i < q; i++) {
    const byte = b[i];
    if (escapes[byte] !== 0) break;
    o[w++] = byte;
  }
  if (i < q) {
    out.position = w;
    writeEscaped(out, b, i, q);
    return;
  }
  o[w] = 34;
  out.position = w + 1;
}

const LONG_SLICE = 96;

/** Whether one of four bytes is a control character, a quote or a backslash. */
function hasSpecial(word: number): boolean {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const found =
    ((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
  return (found & 0x80808080) !== 0;
}

/** By byte: 0 = stands for itself, 1 = as \u00xx, else the character after the backslash. */
const escapes = Uint8Array.from({ length: 256 }, (_, c) => {
  if (c > 31 && c !== 34 && c !== 92) return 0;
  const text = JSON.stringify(String.fromCharCode(c));
  return text[2] === 'u' ? 1 : text.charCodeAt(2);
});
const hexDigits = Buffer.from('0123456789abcdef');

/** The rest of a string, and its end. */
function writeEscaped(out: OutputBuffer, b: Buffer, p: number, q: number): void {
  for (let i = p; i < q; ) {
    // in pieces, so that long texts need not have room for six bytes each
    const end = Math.min(q, i + 1024);
    out.ensure((end - i) * 6 + 1);
    const { bytes: o } = out;
    let w = out.position;
    for (; i < end; i++) {
      const byte = b[i];
      const mark = escapes[byte];
      if (mark === 0) {
        o[w++] = byte;
        continue;
      }
      o[w++] = 92;
      if (mark === 1) {
        o[w++] = 117;
        o[w++] = 48;
        o[w++] = 48;
        o[w++] = hexDigits[byte >> 4];
        o[w++] = hexDigits[byte & 15];
      } else o[w++] = mark;
    }
    out.position = w;
  }
  out.writeByte(34);
}

export function writeInt32(out: OutputBuffer, value: number): void {
  out.ensure(11);
  out.position = writeSmallDigits(out.bytes, out.position, value);
}

/** False, writing nothing, for a bigint beyond 64 bits. */
export function writeInt64(out: OutputBuffer, value: bigint): boolean {
  int64[0] = value;
  if (int64[0] !== value) return false;
  out.ensure(20);
  out.position = writeDigits(out.bytes, out.position, int32[LOW], int32[1 - LOW]);
  return true;
}

const base64Digits = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');

/** A string of base64. */
export function writeBase64(out: OutputBuffer, value: Uint8Array): void {
  const { length } = value;
  out.ensure(Math.ceil(length / 3) * 4 + 2);
  const { bytes } = out;
  let p = out.position;
  bytes[p++] = 34;
  if (length > SHORT_BYTES) {
    const buffer = Buffer.from(value.buffer, value.byteOffset, length);
    p += bytes.write(buffer.toString('base64'), p, 'latin1');
  } else {
    for (let i = 0; i < length; i += 3) {
      const left = length - i;
      const triple = (value[i] << 16) | (left > 1 ? value[i + 1] << 8 : 0) | (left > 2 ? value[i + 2] : 0);
      bytes[p++] = base64Digits[triple >> 18];
      bytes[p++] = base64Digits[(triple >> 12) & 63];
      bytes[p++] = left > 1 ? base64Digits[(triple >> 6) & 63] : 61;
      bytes[p++] = left > 2 ? base64Digits[triple & 63] : 61;
    }
  }
  bytes[p++] = 34;
  out.position = p;
}

/** Whole numbers keep a fraction, so that readers without schema see a floating-point number; NaN and infinities are strings, as Jackson has them. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** The shortest text that is this value in single precision; as Java, of those with two digits the nearest one where fewer would do. */
export function floatText(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 2 ** 24)) return doubleText(value);
  for (let digits = 2; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return doubleText(short);
  }
  return doubleText(Number(value.toPrecision(9)));
}
