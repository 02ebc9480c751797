/** How values of the log's column types lie in a row image. */
import { LogType } from './eventTypes.ts';

/** Bytes of a bitmap with a bit a column. */
export const bitCount = (columns: number): number => (columns + 7) >> 3;

/** Bit `n` of a bitmap whose highest bits come first. */
export const isBitSet = (bitmap: Buffer, n: number): boolean => ((bitmap[n >> 3] ?? 0) & (0x80 >> (n & 7))) !== 0;

/** Bytes of metadata that TABLE_MAP has for a column of the type. */
export function metadataBytes(type: number): 0 | 1 | 2 {
  switch (type) {
    case LogType.float:
    case LogType.double:
    case LogType.blob:
    case LogType.geometry:
    case LogType.json:
    case LogType.vector:
    case LogType.time2:
    case LogType.datetime2:
    case LogType.timestamp2:
    case LogType.blobCompressed:
      return 1;
    case LogType.varchar:
    case LogType.varString:
    case LogType.string:
    case LogType.bit:
    case LogType.newdecimal:
    case LogType.enum:
    case LogType.set:
    case LogType.varcharCompressed:
      return 2;
    default:
      return 0;
  }
}

const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;
export const decimalBytes = (precision: number, scale: number): number => {
  const whole = precision - scale;
  return Math.floor(whole / 9) * 4 + DIGIT_BYTES[whole % 9]! + Math.floor(scale / 9) * 4 + DIGIT_BYTES[scale % 9]!;
};

/** Bytes of a value of fixed length, or, negative, of the length in front of a value; null for a type that is not known. */
export function extentOf(type: number, metadata: number): number | null {
  switch (type) {
    case LogType.tiny:
    case LogType.year:
      return 1;
    case LogType.short:
      return 2;
    case LogType.int24:
    case LogType.date:
    case LogType.newdate:
    case LogType.time:
      return 3;
    case LogType.long:
    case LogType.float:
    case LogType.timestamp:
      return 4;
    case LogType.longlong:
    case LogType.double:
    case LogType.datetime:
      return 8;
    case LogType.timestamp2:
      return 4 + ((metadata + 1) >> 1);
    case LogType.datetime2:
      return 5 + ((metadata + 1) >> 1);
    case LogType.time2:
      return 3 + ((metadata + 1) >> 1);
    case LogType.newdecimal:
      return decimalBytes(metadata & 0xff, metadata >> 8);
    case LogType.bit:
      return ((metadata >> 8) * 8 + (metadata & 0xff) + 7) >> 3;
    case LogType.varchar:
    case LogType.varString:
    case LogType.varcharCompressed:
      return metadata > 255 ? -2 : -1;
    case LogType.blob:
    case LogType.geometry:
    case LogType.json:
    case LogType.vector:
    case LogType.blobCompressed:
      return -metadata;
    case LogType.enum:
    case LogType.set:
      return metadata >> 8;
    case LogType.string: {
      const real = metadata & 0xff;
      if (real === LogType.enum || real === LogType.set) return metadata >> 8;
      return stringLength(metadata) > 255 ? -2 : -1;
    }
    default:
      return null;
  }
}

/** Longest value of a CHAR or BINARY in bytes: two bits of it are hidden in the type byte. */
export const stringLength = (metadata: number): number => (((metadata & 0x30) ^ 0x30) << 4) | (metadata >> 8);
