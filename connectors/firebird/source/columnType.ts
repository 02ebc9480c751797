/**
 * What a Firebird column is in events: its schema, and how its value gets into a row of the RowBuffer, from a record image of the journal and from
 * the answer to a snapshot's query. Both must give the same bytes.
 */
import type { SchemaOptions } from '../../../schemas/data/index.ts';
import * as data from '../../../schemas/data/index.ts';
import { decimalSchema } from '../../../schemas/data/logical.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { parseTimestampUs, parseTimeUs } from '../../shared/isoTime.ts';
import { CHARSET_NONE, textDecoder } from '../journal/characterSets.ts';
import { isBinary, readInteger, readTime, scaledText } from '../journal/columnValue.ts';
import { decfloat16Text, decfloat34Text } from '../journal/decfloat.ts';
import { charsetOf, DataType, type FormatField } from '../journal/recordFormat.ts';
import { dateText, EPOCH_DAYS, TICKS_PER_DAY, timeText } from '../journal/temporal.ts';
import { type ColumnType, castTo, named, plain, simple } from './columnForm.ts';
import type { RowBuffer } from './rowBuffer.ts';
import { binary, text } from './textColumn.ts';

export type DecimalMode = 'precise' | 'string' | 'double';

const DEFAULT_PRECISION: Readonly<Record<number, number>> = { 8: 4, 9: 9, 19: 18, 24: 38 };
const ASCII_TEXT = { writeSelected: (out: RowBuffer, value: unknown) => out.ascii(String(value)) };

/** Null = arrays, which have no form in events. */
export function columnType(field: FormatField, precision: number | null, decimals: DecimalMode): ColumnType | null {
  const { dtype } = field;
  switch (dtype) {
    case DataType.char:
    case DataType.varchar:
      return isBinary(field) ? binary(field) : text(field);
    case DataType.smallint:
    case DataType.integer:
    case DataType.bigint:
    case DataType.int128:
      return field.scale === 0 && field.subType === 0 && dtype !== DataType.int128
        ? integer(dtype)
        : decimal(field, precision ?? DEFAULT_PRECISION[dtype]!, decimals);
    case DataType.float:
      return {
        schema: simple(data.FLOAT32),
        wire: { wire: 'float32be' },
        select: plain,
        writeImage: (out, bytes, at) => out.float(bytes.readFloatLE(at)),
        writeSelected: (out, value) => out.float(Number(value)),
      };
    case DataType.double:
      return {
        schema: simple(data.FLOAT64),
        wire: { wire: 'float64be' },
        select: plain,
        writeImage: (out, bytes, at) => out.double(bytes.readDoubleLE(at)),
        writeSelected: (out, value) => out.double(Number(value)),
      };
    case DataType.decfloat16:
    case DataType.decfloat34: {
      const read = dtype === DataType.decfloat16 ? decfloat16Text : decfloat34Text;
      return {
        schema: simple(data.STRING),
        wire: { wire: 'utf8' },
        select: castTo('varchar(50)'),
        writeImage: (out, bytes, at) => out.ascii(read(bytes, at)),
        ...ASCII_TEXT,
      };
    }
    case DataType.boolean:
      return {
        schema: simple(data.BOOLEAN),
        wire: { wire: 'bool8' },
        select: plain,
        writeImage: (out, bytes, at) => out.boolean(bytes[at] !== 0),
        writeSelected: (out, value) => out.boolean(value === true || value === 1),
      };
    case DataType.blob:
      return blob(field);
    case DataType.array:
      return null;
    default:
      return temporal(dtype);
  }
}

function integer(dtype: number): ColumnType {
  switch (dtype) {
    case DataType.smallint:
      return {
        schema: simple(data.INT16),
        wire: { wire: 'int16be' },
        select: plain,
        writeImage: (out, bytes, at) => out.int16(bytes.readInt16LE(at)),
        writeSelected: (out, value) => out.int16(Number(value)),
      };
    case DataType.integer:
      return {
        schema: simple(data.INT32),
        wire: { wire: 'int32be' },
        select: plain,
        writeImage: (out, bytes, at) => out.int32(bytes.readInt32LE(at)),
        writeSelected: (out, value) => out.int32(Number(value)),
      };
    default:
      return {
        schema: simple(data.INT64),
        wire: { wire: 'int64be' },
        select: plain,
        writeImage: (out, bytes, at) => out.int64Halves(bytes.readInt32LE(at + 4), bytes.readUInt32LE(at)),
        writeSelected: (out, value) => {
          const whole = BigInt(value as string | number);
          out.int64Halves(Number(BigInt.asIntN(32, whole >> 32n)), Number(BigInt.asUintN(32, whole)));
        },
      };
  }
}

function decimal(field: FormatField, precision: number, mode: DecimalMode): ColumnType {
  const { dtype, scale } = field;
  const read = readInteger(dtype);
  const digits = dtype === DataType.int128 && scale === 0 && field.subType === 0 ? 39 : precision;
  const forms = {
    precise: {
      schema: (options: SchemaOptions) => decimalSchema(-scale, digits, options),
      wire: { wire: 'decimal-t' },
    },
    string: { schema: simple(data.STRING), wire: { wire: 'utf8' } },
    double: { schema: simple(data.FLOAT64), wire: { wire: 'float-t' } },
  } as const;
  return {
    ...forms[mode],
    select: castTo('varchar(50)'),
    writeImage: (out, bytes, at) => out.ascii(scaledText(read(bytes, at), scale)),
    ...ASCII_TEXT,
  };
}

const TEXT_BLOB = 1;

function blob(field: FormatField): ColumnType {
  const isText = field.subType === TEXT_BLOB;
  const charset = charsetOf(field);
  // Text in OCTETS is bytes.
  const kind = isText && charset !== 1 ? 'text' : 'binary';
  return {
    schema: simple(kind === 'text' ? data.STRING : data.BYTES),
    wire: { wire: kind === 'text' ? 'utf8' : 'bytes' },
    select: plain,
    blob: kind,
    writeImage: () => {
      throw new TypeError('a blob does not lie in its record');
    },
    writeSelected: (out, value) => {
      const bytes = typeof value === 'string' ? Buffer.from(value) : (value as Buffer);
      // The server does not look at it.
      if (kind === 'text' && charset === CHARSET_NONE) out.text(textDecoder(charset)(bytes, 0, bytes.length));
      else out.slice(bytes, 0, bytes.length);
    },
  };
}

const ticks = (us: bigint): number => Number(us / 100n);
const isoUs = (value: unknown): bigint => parseTimestampUs(String(value).trim());

function temporal(dtype: number): ColumnType {
  switch (dtype) {
    case DataType.date:
      return {
        schema: named('INT32', 'io.debezium.time.Date'),
        wire: { wire: 'int32be' },
        select: castTo('varchar(12)'),
        writeImage: (out, bytes, at) => out.int32(bytes.readInt32LE(at) - EPOCH_DAYS),
        writeSelected: (out, value) => out.int32(Number(isoUs(value) / 86_400_000_000n)),
      };
    case DataType.time:
      return {
        schema: named('INT64', 'io.debezium.time.MicroTime'),
        wire: { wire: 'int64be' },
        select: castTo('varchar(14)'),
        writeImage: (out, bytes, at) => out.int64(readTime(bytes, at) * 100),
        writeSelected: (out, value) => out.int64(parseTimeUs(String(value)).timeUs),
      };
    case DataType.timestamp:
      return {
        schema: named('INT64', 'io.debezium.time.MicroTimestamp'),
        wire: { wire: 'int64be-linear', multiply: 100n, add: 0n },
        select: castTo('varchar(26)'),
        writeImage: (out, bytes, at) =>
          out.int64((bytes.readInt32LE(at) - EPOCH_DAYS) * TICKS_PER_DAY + readTime(bytes, at + 4)),
        writeSelected: (out, value) => out.int64(ticks(isoUs(value))),
      };
    // Zones are published as the moment in UTC, which is how they compare; a time of day has no other form that is exact.
    case DataType.timeTz:
      return {
        schema: named('STRING', 'io.debezium.time.ZonedTime'),
        wire: { wire: 'utf8' },
        select: name => `cast(cast(${name} at time zone '+00:00' as time) as varchar(14))`,
        writeImage: (out, bytes, at) => out.ascii(`${timeText(readTime(bytes, at))}Z`),
        writeSelected: (out, value) => out.ascii(`${value}Z`),
      };
    case DataType.timestampTz:
      return {
        schema: named('STRING', 'io.debezium.time.ZonedTimestamp'),
        wire: { wire: 'utf8' },
        select: name => `cast(cast(${name} at time zone '+00:00' as timestamp) as varchar(26))`,
        writeImage: (out, bytes, at) =>
          out.ascii(`${dateText(bytes.readInt32LE(at))}T${timeText(readTime(bytes, at + 4))}Z`),
        writeSelected: (out, value) => out.ascii(`${String(value).trim().replace(' ', 'T')}Z`),
      };
    default:
      throw new ConnectError('FB_VALUE_INVALID', `Columns of type ${dtype} are not supported.`);
  }
}
