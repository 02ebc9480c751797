/**
 * Values of record columns in the notation of the classic events: numbers and bigints for integers without scale, text with all digits for what a
 * JSON number cannot hold, ISO dates and times, bytes as hex, blobs by their id.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import { bytesPerCharacter, CHARSET_OCTETS, textDecoder } from './characterSets.ts';
import { decfloat16Text, decfloat34Text } from './decfloat.ts';
import { charsetOf, DataType, type FormatField } from './recordFormat.ts';
import { dateText, isTime, type TimeZones, timeText, zoneText } from './temporal.ts';

export type ClassicValue = string | number | bigint | boolean;
export type ReadValue<T> = (bytes: Buffer, at: number) => T;

export const int128 = (bytes: Buffer, at: number): bigint =>
  (bytes.readBigInt64LE(at + 8) << 64n) | bytes.readBigUInt64LE(at);

/** An integer of any width; bigint from 8 bytes on. */
export function readInteger(dtype: number): ReadValue<number | bigint> {
  switch (dtype) {
    case DataType.smallint:
      return (bytes, at) => bytes.readInt16LE(at);
    case DataType.integer:
      return (bytes, at) => bytes.readInt32LE(at);
    case DataType.bigint:
      return (bytes, at) => bytes.readBigInt64LE(at);
    default:
      return int128;
  }
}

export function scaledText(unscaled: bigint | number, scale: number): string {
  if (scale === 0) return String(unscaled);
  if (scale > 0) return String(BigInt(unscaled) * 10n ** BigInt(scale));
  const isNegative = unscaled < 0;
  const digits = String(isNegative ? -BigInt(unscaled) : unscaled).padStart(1 - scale, '0');
  return `${isNegative ? '-' : ''}${digits.slice(0, scale)}.${digits.slice(scale)}`;
}

/** The shortest number that gives the same four bytes. */
function shortestFloat(value: number): number | string {
  if (!Number.isFinite(value)) return String(value);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** Where the text of a CHAR or VARCHAR ends; the declared length bounds it. */
export function varcharEnd(bytes: Buffer, at: number, length: number): number {
  const count = bytes.readUInt16LE(at);
  if (count > length - 2) {
    throw new ConnectError('FB_VALUE_INVALID', `A VARCHAR says that it has ${count} bytes of at most ${length - 2}.`);
  }
  return at + 2 + count;
}

/** CHAR is padded to the declared number of bytes; its value has the declared number of characters. */
export function readText(field: FormatField): ReadValue<string> {
  const charset = charsetOf(field);
  const decode = textDecoder(charset);
  const { length } = field;
  if (field.dtype === DataType.varchar) return (bytes, at) => decode(bytes, at + 2, varcharEnd(bytes, at, length));
  const width = bytesPerCharacter(charset);
  if (width === 1) return (bytes, at) => decode(bytes, at, at + length);
  const characters = Math.floor(length / width);
  return (bytes, at) => firstCharacters(decode(bytes, at, at + length), characters);
}

export function firstCharacters(text: string, count: number): string {
  let end = 0;
  for (let n = 0; n < count && end < text.length; n++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

export function readTime(bytes: Buffer, at: number): number {
  const ticks = bytes.readUInt32LE(at);
  if (!isTime(ticks)) throw new ConnectError('FB_VALUE_INVALID', `${ticks} is no time of day.`);
  return ticks;
}

export const isBinary = (field: FormatField): boolean => charsetOf(field) === CHARSET_OCTETS;

export const blobIdText = (high: number, low: number): string => `${high.toString(16)}:${low.toString(16)}`;

export function classicReader(field: FormatField, zones: TimeZones): ReadValue<ClassicValue> {
  const { dtype, scale, length } = field;
  switch (dtype) {
    case DataType.char:
      return isBinary(field) ? (bytes, at) => bytes.toString('hex', at, at + length) : readText(field);
    case DataType.varchar:
      return isBinary(field)
        ? (bytes, at) => bytes.toString('hex', at + 2, varcharEnd(bytes, at, length))
        : readText(field);
    case DataType.smallint:
    case DataType.integer:
    case DataType.bigint:
    case DataType.int128: {
      const read = readInteger(dtype);
      const isNumber = scale === 0 && dtype !== DataType.int128 && field.subType === 0;
      return isNumber ? read : (bytes, at) => scaledText(read(bytes, at), scale);
    }
    case DataType.float:
      return (bytes, at) => shortestFloat(bytes.readFloatLE(at));
    case DataType.double:
      return (bytes, at) => {
        const value = bytes.readDoubleLE(at);
        return Number.isFinite(value) ? value : String(value);
      };
    case DataType.decfloat16:
      return decfloat16Text;
    case DataType.decfloat34:
      return decfloat34Text;
    case DataType.boolean:
      return (bytes, at) => bytes[at] !== 0;
    case DataType.date:
      return (bytes, at) => dateText(bytes.readInt32LE(at));
    case DataType.time:
      return (bytes, at) => timeText(readTime(bytes, at));
    case DataType.timestamp:
      return (bytes, at) => `${dateText(bytes.readInt32LE(at))}T${timeText(readTime(bytes, at + 4))}`;
    case DataType.timeTz:
      return (bytes, at) => `${timeText(readTime(bytes, at))}Z[${zoneText(bytes.readUInt16LE(at + 4), zones)}]`;
    case DataType.timestampTz:
      return (bytes, at) =>
        `${dateText(bytes.readInt32LE(at))}T${timeText(readTime(bytes, at + 4))}Z[${zoneText(bytes.readUInt16LE(at + 8), zones)}]`;
    case DataType.blob:
    case DataType.array:
      return (bytes, at) => blobIdText(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4));
    default:
      return () => {
        throw new ConnectError('FB_VALUE_INVALID', `Columns of type ${dtype} are not supported.`);
      };
  }
}
