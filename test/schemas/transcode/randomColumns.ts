/** Kinds of columns: schema, wire form, and random slices in it. */
import {
  array,
  Decimal,
  decimalSchema,
  type PrimitiveSchema,
  primitive,
  type Schema,
} from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';
import { packedDate, packedMoment } from '../../../schemas/transcode/packed.ts';
import { Random } from '../../random.ts';

/** A column kind: its schema, its wire form, a sample slice in that form, and a value of the schema for defaults and constants. */
export interface Kind {
  readonly schema: PrimitiveSchema;
  readonly wire: ColumnWire;
  readonly text: boolean;
  readonly slice: (r: Random) => Buffer;
  readonly value: (r: Random) => unknown;
  /** Bytes of every slice, where they are all alike. */
  readonly size?: number;
  /** Whether a slice stands for null. */
  readonly isNull?: (slice: Buffer) => boolean;
}

const fixed = (size: number, write: (b: Buffer, r: Random) => void) => (r: Random) => {
  const b = Buffer.alloc(size);
  write(b, r);
  return b;
};
const ascii = (make: (r: Random) => string) => (r: Random) => Buffer.from(make(r));
const numberBelow = (bits: number) => (r: Random) => Number(r.long(bits));

const linears: ColumnWire[] = [
  { wire: 'int64be-linear', multiply: 1n, add: 946684800000000n },
  { wire: 'int64be-linear', multiply: 1n, add: 946684800000n, divide: 1000n },
  {
    wire: 'int64be-linear',
    multiply: 1n,
    add: 946684800000000n,
    special: [
      { wireValue: (1n << 63n) - 1n, value: 9223372036825200000n },
      { wireValue: 5n, value: -7n },
    ],
  },
];

/** PostgreSQL's binary numeric. */
function numeric(decimal: Decimal, displayScale: number): Buffer {
  const negative = decimal.unscaled < 0n;
  let text = decimal.toString().replace('-', '');
  if (!text.includes('.')) text += '.';
  const [whole, fraction] = text.split('.');
  const digits =
    whole.padStart(Math.ceil(whole.length / 4) * 4, '0') + fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0');
  let groups = (digits.match(/.{4}/g) ?? []).map(Number);
  let weight = Math.ceil(whole.length / 4) - 1;
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift();
    weight--;
  }
  while (groups.length > 0 && groups.at(-1) === 0) groups = groups.slice(0, -1);
  const out = Buffer.alloc(8 + groups.length * 2);
  out.writeInt16BE(groups.length, 0);
  out.writeInt16BE(groups.length === 0 ? 0 : weight, 2);
  out.writeUInt16BE(negative ? 0x4000 : 0, 4);
  out.writeInt16BE(displayScale, 6);
  groups.forEach((g, i) => {
    out.writeInt16BE(g, 8 + i * 2);
  });
  return out;
}
const decimalOf = (r: Random, scale: number): Decimal => {
  const used = r.below(scale + 1);
  return new Decimal(r.chance(20) ? r.long() * 10n ** 20n : r.long(1 + r.below(60)), used).withScale(scale);
};

/** All signed and unsigned integers of MySQL in the smallest type that holds them, and 8 bytes without sign as Java's long. */
const integers: readonly Kind[] = ([1, 2, 3, 4, 8] as const).flatMap(bytes =>
  [false, true].map((isUnsigned): Kind => {
    const bits = bytes * 8 + (isUnsigned ? 1 : 0);
    const schema = primitive(bits <= 16 ? 'INT16' : bits <= 32 ? 'INT32' : 'INT64');
    return {
      schema,
      wire: { wire: 'int-le', bytes, isUnsigned },
      text: false,
      size: bytes,
      slice: fixed(bytes, (b, r) => {
        if (bytes === 8) b.writeBigInt64LE(r.long());
        else b.writeUIntLE(Number(BigInt.asUintN(bytes * 8, r.long(bytes * 8))), 0, bytes);
      }),
      value: r => (schema.type === 'INT64' ? r.long() : Number(r.long(16))),
    };
  }),
);

/** As MySQL packs a DECIMAL. */
function packed(decimal: Decimal, precision: number, scale: number): Buffer {
  const digitBytes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
  const isNegative = decimal.unscaled < 0n;
  const digits = (isNegative ? -decimal.unscaled : decimal.unscaled).toString().padStart(precision, '0');
  const whole = digits.slice(0, precision - scale);
  const fraction = digits.slice(precision - scale);
  const groups = [whole.slice(0, whole.length % 9), ...(whole.slice(whole.length % 9).match(/.{9}/g) ?? [])];
  groups.push(...(fraction.match(/.{1,9}/g) ?? []));
  const parts = groups.map(group => {
    const part = Buffer.alloc(digitBytes[group.length]);
    if (part.length > 0) part.writeUIntBE(Number(group), 0, part.length);
    return part;
  });
  const out = Buffer.concat(parts);
  if (isNegative) for (let i = 0; i < out.length; i++) out[i] ^= 0xff;
  out[0] ^= 0x80;
  return out;
}

const packedDecimals: readonly Kind[] = (
  [
    [12, 2],
    [4, 4],
    [18, 4],
    [9, 0],
    [16, 8],
    [65, 30],
  ] as const
).map(([precision, scale]): Kind => {
  const limit = 10n ** BigInt(precision);
  const value = (r: Random): Decimal =>
    new Decimal((r.long() * (precision > 30 ? 10n ** 40n + 7n : 1n)) % limit, scale);
  return {
    schema: decimalSchema(scale, precision),
    wire: { wire: 'decimal-mysql', precision },
    text: false,
    size: packed(value(new Random(1)), precision, scale).length,
    slice: r => packed(value(r), precision, scale),
    value,
  };
});

/** Dates that do not exist among them. */
const packedMoments: readonly Kind[] = [0, 1, 3, 6].flatMap((digits): Kind[] => {
  const size = (digits + 1) >> 1;
  const fraction = (b: Buffer, at: number, r: Random): void => {
    const micros = r.below(1_000_000);
    if (size > 0) b.writeUIntBE(Math.floor(micros / 100 ** (3 - size)), at, size);
  };
  return [
    ...(['ms', 'us'] as const).map(
      (unit): Kind => ({
        schema: primitive('INT64'),
        wire: { wire: 'datetime-mysql', digits, unit },
        text: false,
        size: 5 + size,
        slice: fixed(5 + size, (b, r) => {
          const ymd = (r.pick([0, 1, 1969, 1970, 2024, 9999, r.below(10_000)]) * 13 + r.below(13)) * 32 + r.below(32);
          const hms = r.below(24) * 4096 + r.below(60) * 64 + r.below(60);
          b.writeUIntBE(ymd * 131_072 + hms + 0x8000000000, 0, 5);
          fraction(b, 5, r);
        }),
        value: r => r.long(),
        isNull: b => Number.isNaN(packedMoment(b, 0)),
      }),
    ),
    {
      schema: primitive('STRING', { name: 'io.debezium.time.ZonedTimestamp', version: 1 }),
      wire: { wire: 'timestamp-mysql', digits },
      text: false,
      size: 4 + size,
      slice: fixed(4 + size, (b, r) => {
        b.writeUInt32BE(r.pick([0, 1, 951_782_400, 4_294_967_295, r.below(2 ** 31)]));
        if (r.chance(80)) fraction(b, 4, r);
      }),
      value: r => r.text(),
      isNull: b => b.every(byte => byte === 0),
    },
    {
      schema: primitive('INT64'),
      wire: { wire: 'time-mysql', digits },
      text: false,
      size: 3 + size,
      slice: fixed(3 + size, (b, r) => {
        const hms = r.below(839) * 4096 + r.below(60) * 64 + r.below(60);
        const part = size === 0 ? 0 : Math.floor(r.below(1_000_000) / 100 ** (3 - size));
        const whole = hms * 256 ** size + part;
        b.writeUIntBE(0x800000 * 256 ** size + (r.chance(50) ? -whole : whole), 0, 3 + size);
      }),
      value: r => r.long(),
    },
  ];
});

export const kinds: readonly Kind[] = [
  ...integers,
  ...packedDecimals,
  ...packedMoments,
  {
    schema: primitive('INT32', { name: 'io.debezium.time.Date', version: 1 }),
    wire: { wire: 'date-mysql' },
    text: false,
    size: 3,
    slice: fixed(3, (b, r) =>
      b.writeUIntLE(r.pick([0, 1970, 2000, 2023, r.below(10_000)]) * 512 + r.below(16) * 32 + r.below(32), 0, 3),
    ),
    value: numberBelow(20),
    isNull: b => Number.isNaN(packedDate(b, 0)),
  },
  {
    schema: primitive('INT32', { name: 'io.debezium.time.Year', version: 1 }),
    wire: { wire: 'year-mysql' },
    text: false,
    size: 1,
    slice: r => Buffer.from([r.pick([0, 1, 126, 255])]),
    value: numberBelow(11),
  },
  {
    schema: primitive('BYTES'),
    wire: { wire: 'bytes-mysql', length: 64 },
    text: false,
    slice: r => r.bytes(),
    value: r => r.bytes(),
  },
  ...[1, 2].map(
    (bytes): Kind => ({
      schema: primitive('STRING', { name: 'io.debezium.data.Enum', version: 1 }),
      wire: { wire: 'name-le', names: ['', 'new', 'größer', 'x'.repeat(500)] },
      text: false,
      size: bytes,
      slice: fixed(bytes, (b, r) => b.writeUIntLE(r.below(4), 0, bytes)),
      value: r => r.text(),
    }),
  ),
  {
    schema: primitive('FLOAT32'),
    wire: { wire: 'float32le' },
    text: false,
    size: 4,
    slice: fixed(4, (b, r) => b.writeFloatLE(r.pick([0, -0, 1.5, 1e38, r.below(1e6) / 7]))),
    value: r => Math.fround(r.below(1000) / 3),
  },
  {
    schema: primitive('FLOAT64'),
    wire: { wire: 'float32le' },
    text: false,
    size: 4,
    slice: fixed(4, (b, r) => b.writeFloatLE(r.below(1e6) / 7)),
    value: r => r.below(1000) / 3,
  },
  {
    schema: primitive('FLOAT64'),
    wire: { wire: 'float64le' },
    text: false,
    size: 8,
    slice: fixed(8, (b, r) => b.writeDoubleLE(r.pick([0, -0, 5e-324, r.below(1e9) / 7]))),
    value: r => r.below(1000) / 3,
  },
  {
    schema: primitive('INT16'),
    wire: { wire: 'int16be' },
    text: false,
    slice: fixed(2, (b, r) => b.writeInt16BE(Number(r.long(16)))),
    value: numberBelow(16),
  },
  {
    schema: primitive('INT8'),
    wire: { wire: 'int16be' },
    text: false,
    slice: fixed(2, (b, r) => b.writeInt16BE(Number(r.long(8)))),
    value: numberBelow(8),
  },
  {
    schema: primitive('INT32'),
    wire: { wire: 'int32be' },
    text: false,
    slice: fixed(4, (b, r) => b.writeInt32BE(Number(r.long(32)))),
    value: numberBelow(32),
  },
  {
    schema: primitive('INT64'),
    wire: { wire: 'int32be' },
    text: false,
    slice: fixed(4, (b, r) => b.writeInt32BE(Number(r.long(32)))),
    value: r => r.long(),
  },
  {
    schema: primitive('INT64'),
    wire: { wire: 'int64be' },
    text: false,
    slice: fixed(8, (b, r) => b.writeBigInt64BE(r.long())),
    value: r => r.long(),
  },
  {
    schema: primitive('INT32'),
    wire: { wire: 'int64be' },
    text: false,
    slice: fixed(8, (b, r) => b.writeBigInt64BE(r.long(32))),
    value: numberBelow(32),
  },
  {
    schema: primitive('FLOAT32'),
    wire: { wire: 'float32be' },
    text: false,
    slice: fixed(4, (b, r) => b.writeFloatBE(r.pick([0, -0, 1.5, Number.NaN, 1e38, r.below(1e6) / 7]))),
    value: r => Math.fround(r.below(1000) / 3),
  },
  {
    schema: primitive('FLOAT64'),
    wire: { wire: 'float32be' },
    text: false,
    slice: fixed(4, (b, r) => b.writeFloatBE(r.below(1e6) / 7)),
    value: r => r.below(1000) / 3,
  },
  {
    schema: primitive('FLOAT64'),
    wire: { wire: 'float64be' },
    text: false,
    slice: fixed(8, (b, r) => b.writeDoubleBE(r.pick([0, -0, Number.NaN, Number.NEGATIVE_INFINITY, r.below(1e9) / 7]))),
    value: r => r.below(1000) / 3,
  },
  {
    schema: primitive('FLOAT32'),
    wire: { wire: 'float64be' },
    text: false,
    slice: fixed(8, (b, r) => b.writeDoubleBE(r.below(1e9) / 7)),
    value: r => Math.fround(r.below(1000) / 3),
  },
  {
    schema: primitive('INT32', { name: 'io.debezium.time.Date', version: 1 }),
    wire: { wire: 'int32be-linear', multiply: 1n, add: 10957n, special: [{ wireValue: 2147483647n, value: 1n }] },
    text: false,
    slice: fixed(4, (b, r) => b.writeInt32BE(r.chance(10) ? 2147483647 : Number(r.long(24)))),
    value: numberBelow(20),
  },
  ...linears.map(
    (wire): Kind => ({
      schema: primitive('INT64'),
      wire,
      text: false,
      slice: fixed(8, (b, r) =>
        b.writeBigInt64BE(
          r.pick([r.long(57), r.long(40), 5n, (1n << 63n) - 1n - (wire === linears[2] ? 0n : 946684800000000n)]),
        ),
      ),
      value: r => r.long(),
    }),
  ),
  {
    schema: primitive('INT32'),
    wire: { wire: 'int64be-linear', multiply: 1n, add: 0n, divide: 1000n },
    text: false,
    slice: fixed(8, (b, r) => b.writeBigInt64BE(r.long(38))),
    value: numberBelow(32),
  },
  {
    schema: primitive('INT64'),
    wire: { wire: 'int64be-linear', multiply: 1000n, add: -3n },
    text: false,
    slice: fixed(8, (b, r) => b.writeBigInt64BE(r.long(53))),
    value: r => r.long(),
  },
  {
    schema: primitive('BOOLEAN'),
    wire: { wire: 'bool8' },
    text: false,
    slice: r => Buffer.from([r.below(2)]),
    value: r => r.chance(50),
  },
  {
    schema: primitive('BOOLEAN'),
    wire: { wire: 'bool-t' },
    text: true,
    slice: ascii(r => r.pick(['t', 'f'])),
    value: r => r.chance(50),
  },
  {
    schema: primitive('INT32'),
    wire: { wire: 'integer-t' },
    text: true,
    slice: ascii(r => r.long(32).toString()),
    value: numberBelow(32),
  },
  {
    schema: primitive('INT16'),
    wire: { wire: 'integer-t' },
    text: true,
    slice: ascii(r => r.long(16).toString()),
    value: numberBelow(16),
  },
  {
    schema: primitive('INT64'),
    wire: { wire: 'integer-t' },
    text: true,
    slice: ascii(r => r.long().toString()),
    value: r => r.long(),
  },
  {
    schema: primitive('FLOAT64'),
    wire: { wire: 'float-t' },
    text: true,
    slice: ascii(r =>
      r.pick([
        'NaN',
        'Infinity',
        '-Infinity',
        '1e-300',
        '12.5',
        '-0',
        '0.1',
        String(r.below(1e9) / 7),
        String(r.below(1e9)),
        '1234567890123456',
      ]),
    ),
    value: r => r.below(1000) / 3,
  },
  {
    schema: primitive('FLOAT32'),
    wire: { wire: 'float-t' },
    text: true,
    slice: ascii(r => String(Math.fround(r.below(1e6) / 7))),
    value: r => Math.fround(r.below(1000) / 3),
  },
  {
    schema: primitive('STRING'),
    wire: { wire: 'utf8' },
    text: true,
    slice: ascii(r => r.text()),
    value: r => r.text(),
  },
  {
    schema: primitive('STRING', { name: 'io.debezium.data.Json', version: 1 }),
    wire: { wire: 'utf8', skip: 1 },
    text: false,
    slice: ascii(r => `\u0001${r.text()}`),
    value: r => r.text(),
  },
  { schema: primitive('BYTES'), wire: { wire: 'bytes' }, text: false, slice: r => r.bytes(), value: r => r.bytes() },
  {
    schema: primitive('BYTES'),
    wire: { wire: 'hex-t' },
    text: true,
    slice: ascii(r => `\\x${r.bytes().toString('hex')}`),
    value: r => r.bytes(),
  },
  {
    schema: decimalSchema(2, 10),
    wire: { wire: 'decimal-t' },
    text: true,
    slice: ascii(r => (r.chance(5) ? '-0.00' : decimalOf(r, 2).toString())),
    value: r => decimalOf(r, 2),
  },
  {
    schema: decimalSchema(0),
    wire: { wire: 'decimal-t' },
    text: true,
    slice: ascii(r => decimalOf(r, 0).toString()),
    value: r => decimalOf(r, 0),
  },
  {
    schema: decimalSchema(5),
    wire: { wire: 'numeric-pg' },
    text: false,
    slice: r => numeric(decimalOf(r, 5), 5),
    value: r => decimalOf(r, 5),
  },
  {
    schema: decimalSchema(0),
    wire: { wire: 'numeric-pg' },
    text: false,
    slice: r => numeric(decimalOf(r, 0), 0),
    value: r => decimalOf(r, 0),
  },
  {
    schema: primitive('STRING', { name: 'io.debezium.data.Uuid', version: 1 }),
    wire: { wire: 'uuid' },
    text: false,
    slice: fixed(16, (b, r) => {
      for (let i = 0; i < 16; i++) b[i] = r.below(256);
    }),
    value: r => r.text(),
  },
  {
    schema: primitive('STRING'),
    wire: { wire: 'function', decode: (b, s, e) => b.toString('utf8', s, e).toUpperCase() },
    text: true,
    slice: ascii(r => r.text()),
    value: r => r.text(),
  },
];

/** What a Decimal cannot hold. */
export function notFiniteForm(wire: ColumnWire | undefined): Buffer | null {
  if (wire?.wire === 'decimal-t') return Buffer.from('-Infinity');
  return wire?.wire === 'numeric-pg' ? Buffer.from([0, 0, 0, 0, 0xc0, 0, 0, 0]) : null;
}

export const GROUPS = 3;

export function sliceOf(kind: Kind, r: Random, canBeNull: boolean): Buffer {
  for (;;) {
    const slice = kind.slice(r);
    if (canBeNull || !kind.isNull?.(slice)) return slice;
  }
}

export const listKind: { schema: Schema; wire: ColumnWire } = {
  schema: array(primitive('INT32', { optional: true })),
  wire: { wire: 'function', decode: (b, s, e) => Array.from(b.subarray(s, e), n => (n > 200 ? null : n)) },
};
