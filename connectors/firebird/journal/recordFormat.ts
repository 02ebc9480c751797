/** A format of a table: where each column lies in a record image, as RDB$FORMATS.RDB$DESCRIPTOR describes it. */
import { ConnectError } from '../../../schemas/errors.ts';

export const DataType = {
  dropped: 0,
  char: 1,
  varchar: 3,
  smallint: 8,
  integer: 9,
  float: 11,
  double: 12,
  date: 14,
  time: 15,
  timestamp: 16,
  blob: 17,
  array: 18,
  bigint: 19,
  boolean: 21,
  decfloat16: 22,
  decfloat34: 23,
  int128: 24,
  timeTz: 25,
  timestampTz: 26,
} as const;

/** Bytes a value takes; text is as long as its declaration. */
const SIZES: Readonly<Record<number, number>> = {
  8: 2,
  9: 4,
  11: 4,
  12: 8,
  14: 4,
  15: 4,
  16: 8,
  17: 8,
  18: 8,
  19: 8,
  21: 1,
  22: 8,
  23: 16,
  24: 16,
  25: 8,
  26: 12,
};

export interface FormatField {
  readonly dtype: number;
  readonly scale: number;
  readonly length: number;
  readonly subType: number;
  readonly flags: number;
  /** 0 = takes no room: dropped or computed. */
  readonly offset: number;
}

export interface RecordFormat {
  readonly format: number;
  /** Bytes of a record. */
  readonly length: number;
  /** By field id. */
  readonly fields: readonly FormatField[];
}

const FIELD_BYTES = 12;

export function parseDescriptor(format: number, bytes: Buffer, table: string): RecordFormat {
  const count = bytes.length < 2 ? -1 : bytes.readUInt16LE(0);
  if (count < 0 || bytes.length < 2 + count * FIELD_BYTES) {
    throw new ConnectError('FB_METADATA_INVALID', `RDB$DESCRIPTOR of format ${format} of ${table} is cut off.`);
  }
  const fields = Array.from({ length: count }, (_, i): FormatField => {
    const at = 2 + i * FIELD_BYTES;
    return {
      dtype: bytes.readUInt8(at),
      scale: bytes.readInt8(at + 1),
      length: bytes.readUInt16LE(at + 2),
      subType: bytes.readUInt16LE(at + 4),
      flags: bytes.readUInt16LE(at + 6),
      offset: bytes.readUInt32LE(at + 8),
    };
  });
  return checkFormat({ format, length: recordLength(fields), fields }, table);
}

const recordLength = (fields: readonly FormatField[]): number => {
  const last = fields.findLast(field => field.offset > 0);
  return last === undefined ? 0 : last.offset + last.length;
};

/** Whether the fields lie within the record, behind the null flags and each other. Throws FB_METADATA_INVALID. */
export function checkFormat(format: RecordFormat, table: string): RecordFormat {
  let from = Math.ceil(format.fields.length / 32) * 4;
  for (const [id, field] of format.fields.entries()) {
    if (field.offset === 0) continue;
    const size = SIZES[field.dtype];
    const isText = field.dtype === DataType.char || field.dtype === DataType.varchar;
    const fits = isText ? field.length >= (field.dtype === DataType.varchar ? 2 : 0) : size === field.length;
    if (!fits || field.offset < from) {
      throw new ConnectError(
        'FB_METADATA_INVALID',
        `Format ${format.format} of ${table}: field ${id} has type ${field.dtype}, length ${field.length}, offset ${field.offset}.`,
      );
    }
    from = field.offset + field.length;
  }
  if (format.length !== recordLength(format.fields)) {
    throw new ConnectError(
      'FB_METADATA_INVALID',
      `Format ${format.format} of ${table} has another length than its fields.`,
    );
  }
  return format;
}

/** Of text; of blobs it is in the scale. */
export const charsetOf = (field: FormatField): number =>
  field.dtype === DataType.blob ? field.scale & 0xff : field.subType & 0xff;
