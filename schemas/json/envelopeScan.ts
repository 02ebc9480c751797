/** Finds the payload of a JSON envelope by its bytes, without parsing the schema before it. */

const OPENING = 0x7b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the payload of `{"schema":…,"payload":…}` starts, or -1 where the bytes do not begin so. */
export function payloadStart(bytes: Uint8Array, start: number, end: number): number {
  let p = blanks(bytes, start, end);
  if (bytes[p] !== OPENING || p >= end) return -1;
  p = member(bytes, p + 1, end, '"schema"');
  if (p === -1) return -1;
  p = skipValue(bytes, p, end);
  if (p === -1) return -1;
  p = blanks(bytes, p, end);
  if (p >= end || bytes[p] !== 0x2c) return -1;
  return member(bytes, p + 1, end, '"payload"');
}

function blanks(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  while (p < end && (bytes[p] === 0x20 || bytes[p] === 0x0a || bytes[p] === 0x0d || bytes[p] === 0x09)) p++;
  return p;
}

/** Where the value of the member called `name`, which must be next, starts; else -1. */
function member(bytes: Uint8Array, start: number, end: number, name: string): number {
  let p = blanks(bytes, start, end);
  if (end - p < name.length) return -1;
  for (let i = 0; i < name.length; i++) if (bytes[p + i] !== name.charCodeAt(i)) return -1;
  p = blanks(bytes, p + name.length, end);
  return p < end && bytes[p] === 0x3a ? blanks(bytes, p + 1, end) : -1;
}

/** The end of an object, or of `null`; -1 for anything else. */
function skipValue(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start] === 0x6e) return start + 4;
  if (bytes[start] !== OPENING) return -1;
  let depth = 0;
  for (let p = start; p < end; p++) {
    const byte = bytes[p];
    if (byte === QUOTE) {
      for (p++; p < end && bytes[p] !== QUOTE; p++) if (bytes[p] === BACKSLASH) p++;
    } else if (byte === OPENING) depth++;
    else if (byte === 0x7d && --depth === 0) return p + 1;
  }
  return -1;
}
