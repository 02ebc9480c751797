/** Numbers, booleans, texts, bytes, bits, uuid and json. */
import type { SchemaOptions } from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';
import { named, plain } from '../../shared/semanticSchemas.ts';
import { type ColumnType, columnType, type TypeSettings, utf8 } from './columnType.ts';

export const boolType = columnType({
  schema: plain('BOOLEAN'),
  fromText: text => text === 't' || text === 'true',
  fromBinary: (bytes, start) => bytes[start] === 1,
  textWire: { wire: 'bool-t' },
  binaryWire: { wire: 'bool8' },
  zero: false,
});

export const int2Type = columnType({
  schema: plain('INT16'),
  fromText: Number,
  fromBinary: (bytes, start) => bytes.readInt16BE(start),
  textWire: { wire: 'integer-t' },
  binaryWire: { wire: 'int16be' },
  zero: 0,
});
export const int4Type = columnType({
  schema: plain('INT32'),
  fromText: Number,
  fromBinary: (bytes, start) => bytes.readInt32BE(start),
  textWire: { wire: 'integer-t' },
  binaryWire: { wire: 'int32be' },
  zero: 0,
});
export const int8Type = columnType({
  schema: plain('INT64'),
  fromText: BigInt,
  fromBinary: (bytes, start) => bytes.readBigInt64BE(start),
  textWire: { wire: 'integer-t' },
  binaryWire: { wire: 'int64be' },
  zero: 0n,
});
/** oid is unsigned. */
export const oidType = columnType({
  schema: plain('INT64'),
  fromText: BigInt,
  fromBinary: (bytes, start) => BigInt(bytes.readUInt32BE(start)),
  textWire: { wire: 'integer-t' },
  zero: 0n,
});
export const float4Type = columnType({
  schema: plain('FLOAT32'),
  fromText: text => Math.fround(Number(text)),
  fromBinary: (bytes, start) => bytes.readFloatBE(start),
  textWire: { wire: 'float-t' },
  binaryWire: { wire: 'float32be' },
  zero: 0,
});
export const float8Type = columnType({
  schema: plain('FLOAT64'),
  fromText: Number,
  fromBinary: (bytes, start) => bytes.readDoubleBE(start),
  textWire: { wire: 'float-t' },
  binaryWire: { wire: 'float64be' },
  zero: 0,
});

/** Types whose text is the value. `skip` bytes lead the binary form (the version byte of jsonb and ltree); null = no binary form that is the text. */
export function textType(
  settings: TypeSettings,
  schema: (options: SchemaOptions) => ReturnType<ColumnType['schema']> = plain('STRING'),
  skip: number | null = 0,
  zero = '',
): ColumnType {
  const wire: ColumnWire = { wire: 'utf8' };
  return columnType({
    schema,
    fromText: text => text,
    fromBinary: skip === null ? null : (bytes, start, end) => utf8(bytes, start + skip, end),
    textWire: wire,
    binaryWire: skip === null ? null : skip === 0 ? wire : { wire: 'utf8', skip },
    zero,
    unchanged: settings.placeholder,
  });
}

export function uuidType(settings: TypeSettings): ColumnType {
  return columnType({
    schema: named('STRING', 'io.debezium.data.Uuid'),
    fromText: text => text,
    fromBinary: (bytes, start) =>
      bytes.toString('hex', start, start + 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    textWire: { wire: 'utf8' },
    binaryWire: { wire: 'uuid' },
    zero: '00000000-0000-0000-0000-000000000000',
    unchanged: settings.placeholder,
  });
}

export function byteaType(settings: TypeSettings): ColumnType {
  const raw = (text: string): Buffer => Buffer.from(text.slice(2), 'hex');
  const placeholder = Buffer.from(settings.placeholder);
  if (settings.binary === 'bytes') {
    return columnType({
      schema: plain('BYTES'),
      fromText: raw,
      fromBinary: (bytes, start, end) => Buffer.from(bytes.subarray(start, end)),
      textWire: { wire: 'hex-t' },
      binaryWire: { wire: 'bytes' },
      zero: Buffer.alloc(0),
      unchanged: placeholder,
      hasDefault: false,
    });
  }
  const encode = (bytes: Buffer): string => {
    if (settings.binary === 'hex') return bytes.toString('hex');
    const text = bytes.toString('base64');
    return settings.binary === 'base64' ? text : text.replace(/\+/g, '-').replace(/\//g, '_');
  };
  return columnType({
    schema: plain('STRING'),
    fromText: text => encode(raw(text)),
    fromBinary: (bytes, start, end) => encode(bytes.subarray(start, end)),
    zero: '',
    unchanged: encode(placeholder),
    hasDefault: false,
  });
}

/** bit(1) is a BOOLEAN; other bit strings are little-endian bytes without trailing zero bytes, as a Java BitSet gives them. */
export function bitType(varying: boolean, typmod: number): ColumnType {
  if (!varying && typmod === 1) {
    return columnType({
      schema: plain('BOOLEAN'),
      fromText: text => text === '1',
      fromBinary: (bytes, start) => (bytes[start + 4]! & 0x80) !== 0,
      zero: false,
    });
  }
  return columnType({
    schema: named('BYTES', 'io.debezium.data.Bits', { length: String(typmod < 0 ? 2147483647 : typmod) }),
    fromText: text => littleEndianBits(text.length, i => text.charCodeAt(i) === 0x31),
    fromBinary: (bytes, start) =>
      littleEndianBits(bytes.readInt32BE(start), i => (bytes[start + 4 + (i >> 3)]! & (0x80 >> (i & 7))) !== 0),
    zero: Buffer.alloc(0),
  });
}

function littleEndianBits(count: number, isSet: (index: number) => boolean): Buffer {
  const out = Buffer.alloc((count + 7) >> 3);
  let used = 0;
  for (let i = 0; i < count; i++) {
    if (!isSet(i)) continue;
    const bit = count - 1 - i;
    out[bit >> 3]! |= 1 << (bit & 7);
    used = Math.max(used, (bit >> 3) + 1);
  }
  return out.subarray(0, used);
}
