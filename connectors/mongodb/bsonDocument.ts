/** BSON documents as bytes: appended to a buffer element by element, walked through, and put together, without an object per document. */
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';

/** The types of elements that are written or looked at here. */
export const BsonType = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  int32: 0x10,
  int64: 0x12,
  decimal128: 0x13,
} as const;

/** An element's name as it stands in a document. Throws RangeError for one that no document can have. */
export function elementName(name: string): Buffer {
  if (name.includes('\0')) throw new RangeError('a field name has a zero character in it, which no document can hold');
  return Buffer.from(`${name}\0`);
}

/** Returns what `endDocument` wants. */
export function beginDocument(out: OutputBuffer): number {
  out.ensure(4);
  const start = out.position;
  out.position += 4;
  return start;
}

export function endDocument(out: OutputBuffer, start: number): void {
  out.writeByte(0);
  out.bytes.writeInt32LE(out.position - start, start);
}

/** Type and name of an element, with room for eight bytes of its value. */
export function writeHead(type: number, name: Buffer, out: OutputBuffer): void {
  out.ensure(name.length + 9);
  const { bytes } = out;
  let at = out.position;
  bytes[at++] = type;
  for (let i = 0; i < name.length; i++) bytes[at++] = name[i]!;
  out.position = at;
}

export function writeInt32(value: number, out: OutputBuffer): void {
  out.ensure(4);
  out.position = out.bytes.writeInt32LE(value, out.position);
}

export function writeInt64(value: bigint, out: OutputBuffer): void {
  out.ensure(8);
  out.position = out.bytes.writeBigInt64LE(value, out.position);
}

export function writeText(text: string, out: OutputBuffer): void {
  out.ensure(text.length * 3 + 5);
  const start = out.position;
  const length = out.bytes.write(text, start + 4, 'utf8');
  out.bytes.writeInt32LE(length + 1, start);
  out.bytes[start + 4 + length] = 0;
  out.position = start + 5 + length;
}

export interface Element {
  readonly type: number;
  readonly name: string;
  readonly start: number;
  /** Of the value behind type and name. */
  readonly valueStart: number;
  readonly end: number;
}

/** The elements of the document at `start`, as places in the bytes. Only of documents that were written here. */
export function elementsOf(bytes: Buffer, start: number): Element[] {
  const elements: Element[] = [];
  const last = start + bytes.readInt32LE(start) - 1;
  for (let at = start + 4; at < last; ) {
    const nameEnd = bytes.indexOf(0, at + 1);
    const type = bytes[at]!;
    const valueStart = nameEnd + 1;
    const end = valueStart + valueLength(type, bytes, valueStart);
    elements.push({ type, name: bytes.toString('utf8', at + 1, nameEnd), start: at, valueStart, end });
    at = end;
  }
  return elements;
}

/** Whether a name in the document or array at `start`, at any depth, is one of an operator. */
export function hasOperator(bytes: Buffer, start: number): boolean {
  return elementsOf(bytes, start).some(
    ({ type, name, valueStart }) =>
      name.startsWith('$') ||
      ((type === BsonType.document || type === BsonType.array) && hasOperator(bytes, valueStart)),
  );
}

function valueLength(type: number, bytes: Buffer, at: number): number {
  switch (type) {
    case BsonType.null:
      return 0;
    case BsonType.boolean:
      return 1;
    case BsonType.int32:
      return 4;
    case BsonType.double:
    case BsonType.date:
    case BsonType.int64:
      return 8;
    case BsonType.objectId:
      return 12;
    case BsonType.decimal128:
      return 16;
    case BsonType.string:
      return 4 + bytes.readInt32LE(at);
    case BsonType.document:
    case BsonType.array:
      return bytes.readInt32LE(at);
    case BsonType.binary:
      return 5 + bytes.readInt32LE(at);
    default:
      throw new TypeError(`an element of type ${type} was never written`);
  }
}

/** Appends the document that has the elements of `later` and, where it lacks some, those of `earlier`. Both are in the buffer itself. */
export function writeUnion(earlier: number, later: number, out: OutputBuffer): void {
  const added = new Map(elementsOf(out.bytes, later).map(element => [element.name, element]));
  const kept = elementsOf(out.bytes, earlier).map(element => {
    const replacing = added.get(element.name);
    added.delete(element.name);
    return replacing ?? element;
  });
  const start = beginDocument(out);
  for (const element of [...kept, ...added.values()]) copyWithin(element.start, element.end, out);
  endDocument(out, start);
}

export function copyWithin(from: number, to: number, out: OutputBuffer): void {
  out.ensure(to - from);
  out.bytes.copy(out.bytes, out.position, from, to);
  out.position += to - from;
}

/**
 * Appends a document such that those which the server takes for equal are equal bytes: whole numbers are one, whatever their type. It tells keys apart,
 * and is not to be sent.
 */
export function writeComparable(document: number, out: OutputBuffer): void {
  for (const { type, start, valueStart, end } of elementsOf(out.bytes, document)) {
    const whole = wholeNumber(type, out.bytes, valueStart);
    if (whole !== null) {
      out.writeByte(BsonType.int64);
      copyWithin(start + 1, valueStart, out);
      writeInt64(whole, out);
    } else if (type === BsonType.document) {
      copyWithin(start, valueStart, out);
      writeComparable(valueStart, out);
      out.writeByte(0);
    } else copyWithin(start, end, out);
  }
}

function wholeNumber(type: number, bytes: Buffer, at: number): bigint | null {
  if (type === BsonType.int32) return BigInt(bytes.readInt32LE(at));
  if (type === BsonType.int64) return bytes.readBigInt64LE(at);
  if (type !== BsonType.double) return null;
  const value = bytes.readDoubleLE(at);
  return Number.isSafeInteger(value) ? BigInt(value) : null;
}
