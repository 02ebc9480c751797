/**
 * MySQL's binary JSON as compact text. A value: its type byte, then by type. Objects and arrays: element count and size (2 or 4 bytes each), entries of
 * keys (offset, 2 bytes of length) and values (type, offset or the value itself where it is small), then keys and values. Offsets count from the
 * container's start.
 */
import { decimalText } from './packedDecimal.ts';
import { packedDateTime, packedTime } from './packedTemporal.ts';

const Type = {
  smallObject: 0x00,
  largeObject: 0x01,
  smallArray: 0x02,
  largeArray: 0x03,
  literal: 0x04,
  int16: 0x05,
  uint16: 0x06,
  int32: 0x07,
  uint32: 0x08,
  int64: 0x09,
  uint64: 0x0a,
  double: 0x0b,
  string: 0x0c,
  opaque: 0x0f,
  /** Ours: the rest is the document's text. */
  text: 0xff,
} as const;

/** Text of the document in bytes[start, end). An empty one, which a NOT NULL column can have been given by old servers, is null. */
export function jsonText(bytes: Buffer, start: number, end: number): string {
  if (start === end) return 'null';
  if (bytes[start] === Type.text) return bytes.toString('utf8', start + 1, end);
  return valueText(bytes, bytes[start]!, start + 1, end);
}

/** A document as text, in the place of one in binary form. */
export const textDocument = (text: string): Buffer => Buffer.concat([Buffer.of(Type.text), Buffer.from(text)]);

function valueText(b: Buffer, type: number, p: number, end: number): string {
  switch (type) {
    case Type.smallObject:
      return containerText(b, p, end, true, 2);
    case Type.largeObject:
      return containerText(b, p, end, true, 4);
    case Type.smallArray:
      return containerText(b, p, end, false, 2);
    case Type.largeArray:
      return containerText(b, p, end, false, 4);
    case Type.literal:
      return literal(b[p]!);
    case Type.int16:
      return String(b.readInt16LE(p));
    case Type.uint16:
      return String(b.readUInt16LE(p));
    case Type.int32:
      return String(b.readInt32LE(p));
    case Type.uint32:
      return String(b.readUInt32LE(p));
    case Type.int64:
      return String(b.readBigInt64LE(p));
    case Type.uint64:
      return String(b.readBigUInt64LE(p));
    case Type.double:
      return doubleText(b.readDoubleLE(p));
    case Type.string: {
      const { length, next } = dataLength(b, p);
      if (next + length > end) throw new RangeError('a string ends behind its document');
      return JSON.stringify(b.toString('utf8', next, next + length));
    }
    case Type.opaque: {
      const { length, next } = dataLength(b, p + 1);
      if (next + length > end) throw new RangeError('a value ends behind its document');
      return opaqueText(b[p]!, b, next, next + length);
    }
    default:
      throw new RangeError(`JSON has no type ${type}`);
  }
}

function containerText(b: Buffer, start: number, end: number, isObject: boolean, size: 2 | 4): string {
  const count = b.readUIntLE(start, size);
  if (start + b.readUIntLE(start + size, size) > end) throw new RangeError('a container ends behind its document');
  const keys = start + 2 * size;
  const values = isObject ? keys + count * (size + 2) : keys;
  const parts: string[] = [];
  for (let i = 0; i < count; i++) {
    const entry = values + i * (size + 1);
    const type = b[entry]!;
    const isInline =
      type === Type.literal ||
      type === Type.int16 ||
      type === Type.uint16 ||
      (size === 4 && (type === Type.int32 || type === Type.uint32));
    const at = isInline ? entry + 1 : start + b.readUIntLE(entry + 1, size);
    const text = valueText(b, type, at, end);
    if (!isObject) {
      parts.push(text);
      continue;
    }
    const key = keys + i * (size + 2);
    const name = start + b.readUIntLE(key, size);
    parts.push(`${JSON.stringify(b.toString('utf8', name, name + b.readUInt16LE(key + size)))}:${text}`);
  }
  return isObject ? `{${parts.join(',')}}` : `[${parts.join(',')}]`;
}

function literal(value: number): string {
  if (value === 0) return 'null';
  if (value === 1) return 'true';
  if (value === 2) return 'false';
  throw new RangeError(`JSON has no literal ${value}`);
}

/** Seven bits a byte, low ones first. */
function dataLength(b: Buffer, p: number): { length: number; next: number } {
  let length = 0;
  for (let i = 0; i < 5; i++) {
    const byte = b[p + i]!;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { length, next: p + i + 1 };
  }
  throw new RangeError('a length of JSON is malformed');
}

/** A double as Debezium writes it: as Java does, and where that has an exponent, all digits of its exact value. */
export function doubleText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return exactText(value);
  const text = String(value);
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) ? `${text}.0` : text;
}

function exactText(value: number): string {
  if (Number.isInteger(value)) return String(BigInt(value));
  let power = 0;
  let scaled = value;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    power++;
  }
  // value = scaled / 2^power = scaled * 5^power / 10^power
  const digits = String(BigInt(Math.abs(scaled)) * 5n ** BigInt(power)).padStart(power + 1, '0');
  return `${value < 0 ? '-' : ''}${digits.slice(0, -power)}.${digits.slice(-power)}`;
}

/** Values of SQL types inside of documents. Temporal ones are eight bytes, little end first: the packed form, its fraction in the lowest 24 bits. */
function opaqueText(type: number, b: Buffer, p: number, end: number): string {
  switch (type) {
    case 246: // DECIMAL: precision, scale, packed digits
      return decimalText(b, p + 2, b[p]!, b[p + 1]!);
    case 10:
      return `"${packedDateTime(b.readBigInt64LE(p), 0).slice(0, 10)}"`;
    case 12:
    case 7:
      return `"${packedDateTime(b.readBigInt64LE(p), null)}"`;
    case 11:
      return `"${packedTime(b.readBigInt64LE(p))}"`;
    default:
      return `"${b.toString('base64', p, end)}"`;
  }
}
