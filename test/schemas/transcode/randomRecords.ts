/** Seeded random schemas with layouts for them, and batches of wire rows that fit. For the property test of the transcoder. */
import {
  array,
  Decimal,
  decimalSchema,
  type PrimitiveSchema,
  primitive,
  type Schema,
  type SchemaOptions,
  struct,
  withOptions,
} from '../../../schemas/data/index.ts';
import type {
  ColumnLayout,
  ColumnWire,
  Layout,
  LongSlot,
  RowFormat,
  WireRows,
} from '../../../schemas/transcode/layout.ts';
import { packedDate, packedMoment } from '../../../schemas/transcode/packed.ts';

export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  /** Whole number in [0, n). */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
  /** A 64-bit integer: all lengths alike likely, the ends included. */
  long(bits = 64): bigint {
    if (this.chance(4)) return -(1n << BigInt(bits - 1));
    if (this.chance(4)) return (1n << BigInt(bits - 1)) - 1n;
    const any = (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32));
    return BigInt.asIntN(1 + this.below(bits), any);
  }
  text(): string {
    const length = this.pick([0, 1, 3, 7, 20, 63, 64, 97, 300, 9000 * (this.chance(10) ? 1 : 0)]);
    let out = '';
    while (out.length < length) out += this.pick(['a', 'Z', '7', ' ', 'é', '€', '😀', '"']);
    return out;
  }
  bytes(): Buffer {
    const out = Buffer.alloc(this.pick([0, 1, 2, 5, 64, 200]));
    for (let i = 0; i < out.length; i++) out[i] = this.below(256);
    return out;
  }
}

/** A column kind: its schema, its wire form, a sample slice in that form, and a value of the schema for defaults and constants. */
interface Kind {
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

const kinds: readonly Kind[] = [
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
function notFiniteForm(wire: ColumnWire | undefined): Buffer | null {
  if (wire?.wire === 'decimal-t') return Buffer.from('-Infinity');
  return wire?.wire === 'numeric-pg' ? Buffer.from([0, 0, 0, 0, 0xc0, 0, 0, 0]) : null;
}

const GROUPS = 3;

function sliceOf(kind: Kind, r: Random, canBeNull: boolean): Buffer {
  for (;;) {
    const slice = kind.slice(r);
    if (canBeNull || !kind.isNull?.(slice)) return slice;
  }
}

const listKind: { schema: Schema; wire: ColumnWire } = {
  schema: array(primitive('INT32', { optional: true })),
  wire: { wire: 'function', decode: (b, s, e) => Array.from(b.subarray(s, e), n => (n > 200 ? null : n)) },
};

export interface RandomCase {
  readonly schema: Schema;
  readonly layout: Layout;
  readonly rows: WireRows;
}

/** A schema, a layout of it and `count` records. */
export function randomCase(r: Random, count: number): RandomCase {
  return new CaseBuilder(r, count).build();
}

class CaseBuilder {
  readonly #r: Random;
  readonly #count: number;
  #bytes: Buffer[] = [];
  #length = 0;
  readonly #positions: Int32Array[] = [];
  readonly #longs: BigInt64Array[] = [];
  readonly #longNulls: (Uint8Array | undefined)[] = [];
  readonly #choices: Uint8Array[] = [];
  readonly #constants: unknown[] = [];
  #names = 0;

  constructor(r: Random, count: number) {
    this.#r = r;
    this.#count = count;
  }

  build(): RandomCase {
    // some bytes before the first row, so that position 0 is nothing special
    this.#append(Buffer.from([1, 2, 3]));
    const { schema, layout } = this.#r.chance(40) ? this.#row() : this.#struct(0);
    return {
      schema,
      layout,
      rows: {
        bytes: Buffer.concat(this.#bytes),
        count: this.#count,
        positions: this.#positions,
        longs: this.#longs,
        longNulls: this.#longNulls,
        groups: Int32Array.from({ length: this.#count }, () => this.#r.below(GROUPS)).sort(),
        choices: this.#choices,
        constants: this.#constants,
      },
    };
  }

  #append(bytes: Buffer): number {
    const at = this.#length;
    this.#bytes.push(bytes);
    this.#length += bytes.length;
    return at;
  }

  #options(value: (r: Random) => unknown): SchemaOptions {
    const options: SchemaOptions = { optional: this.#r.chance(50) };
    if (this.#r.chance(25)) options.defaultValue = value(this.#r);
    else if (options.optional && this.#r.chance(20)) options.defaultValue = null;
    return options;
  }

  #field(depth: number): { schema: Schema; layout: Layout } {
    const kind = this.#r.pick(kinds);
    const options = this.#options(kind.value);
    const schema = withOptions(kind.schema, options);
    const canBeNull = schema.optional || (schema.defaultValue ?? null) !== null;
    switch (this.#r.below(depth < 2 ? 9 : 6)) {
      case 0:
        if (canBeNull) return { schema, layout: { kind: 'null' } };
        return { schema, layout: { kind: 'constant', value: kind.value(this.#r) } };
      case 1:
        return {
          schema,
          layout: { kind: 'constant', value: canBeNull && this.#r.chance(20) ? null : kind.value(this.#r) },
        };
      case 2:
        return {
          schema,
          layout: {
            kind: 'batch',
            slot: this.#constants.push(canBeNull && this.#r.chance(20) ? null : kind.value(this.#r)) - 1,
          },
        };
      case 3: {
        const wide = this.#r.chance(70);
        if (this.#r.chance(50)) {
          const schema = primitive(wide ? 'INT64' : 'INT32', { optional: this.#r.chance(50) });
          return { schema, layout: { kind: 'long', ...this.#groupLong(wide ? 64 : 32) } };
        }
        const long = primitive(
          wide ? 'INT64' : 'INT32',
          this.#options(r => (wide ? r.long() : Number(r.long(32)))),
        );
        return {
          schema: long,
          layout: {
            kind: 'long',
            slot: this.#long(wide ? 64 : 32, long.optional || (long.defaultValue ?? null) !== null),
          },
        };
      }
      case 4:
        return {
          schema: primitive('STRING', { optional: this.#r.chance(50) }),
          layout: {
            kind: 'text',
            parts: [
              '["',
              this.#r.chance(50) ? this.#groupLong(64) : { slot: this.#long(64, false) },
              this.#r.pick(['","', 'é'.repeat(40)]),
              this.#r.chance(50) ? this.#groupLong(40) : { slot: this.#long(40, false) },
              '"]',
            ],
          },
        };
      case 5: {
        const of = [1, 2, 3].map(
          (): Layout =>
            canBeNull && this.#r.chance(30) ? { kind: 'null' } : { kind: 'constant', value: kind.value(this.#r) },
        );
        return { schema, layout: { kind: 'choice', slot: this.#choice(of.length), of } };
      }
      case 6:
        return this.#struct(depth + 1);
      default:
        return this.#row();
    }
  }

  #struct(depth: number): { schema: Schema; layout: Layout } {
    const fields = Array.from({ length: 1 + this.#r.below(7) }, (): [string, { schema: Schema; layout: Layout }] => [
      this.#name(),
      this.#field(depth),
    ]);
    const schema = struct(
      fields.map(([name, f]) => [name, f.schema]),
      { name: this.#name(), optional: this.#r.chance(40) },
    );
    return { schema, layout: { kind: 'struct', fields: fields.map(([, f]) => f.layout) } };
  }

  #row(): { schema: Schema; layout: Layout } {
    const r = this.#r;
    const format: RowFormat = r.pick(['pg-tuple', 'pg-copy', 'mysql-binlog', 'mysql-text']);
    const width = r.chance(5) ? 120 : 1 + r.below(9);
    const chosen = Array.from({ length: width }, () => (r.chance(5) ? null : r.pick(kinds)));
    const fields: [string, Schema][] = [];
    const columns: ColumnLayout[] = [];
    const makers: (() => Slice)[] = [];
    const order = chosen.map((_, at) => at);
    if (r.chance(40)) order.sort(() => r.below(3) - 1);
    const fieldAt = new Map<number, number>();
    for (const at of order) {
      if (r.chance(85)) fieldAt.set(at, fieldAt.size);
    }
    const schemas: Schema[] = [];
    chosen.forEach((kind, at) => {
      const field = fieldAt.get(at) ?? -1;
      const options = this.#options(k => (kind === null ? [1, null] : kind.value(k)));
      const schema = withOptions(kind === null ? listKind.schema : kind.schema, options);
      const nullValue = kind !== null && r.chance(30) ? kind.value(r) : undefined;
      const whenNull = kind !== null && r.chance(10) ? kind.value(r) : undefined;
      const unchanged = kind !== null && r.chance(30) ? kind.value(r) : undefined;
      const extent = kind?.size !== undefined && r.chance(80) ? kind.size : r.pick([-2, -3, -4]);
      const canBeNull =
        schema.optional ||
        (schema.defaultValue ?? null) !== null ||
        (nullValue ?? whenNull) !== undefined ||
        field === -1;
      columns.push({
        field,
        column: field === -1 ? { wire: 'skip' } : kind === null ? listKind.wire : kind.wire,
        nullValue,
        whenNull,
        unchanged,
        ...(format === 'mysql-binlog' && { extent }),
      });
      if (field !== -1) schemas[field] = schema;
      makers.push(() => {
        if (canBeNull && r.chance(20)) return { bytes: null, mark: 'n', extent };
        if (format === 'pg-tuple' && (unchanged !== undefined || field === -1) && r.chance(20))
          return { bytes: null, mark: 'u', extent };
        const notFinite = canBeNull && r.chance(10) ? notFiniteForm(kind?.wire) : null;
        return {
          bytes: kind === null ? r.bytes() : (notFinite ?? sliceOf(kind, r, canBeNull)),
          mark: kind?.text ? 't' : 'b',
          extent,
        };
      });
    });
    schemas.forEach(schema => {
      fields.push([this.#name(), schema]);
    });
    const optional = r.chance(60);
    const schema = struct(fields, { name: this.#name(), optional });
    const slot = this.#positions.length;
    const positions = new Int32Array(this.#count);
    this.#positions.push(positions);
    for (let i = 0; i < this.#count; i++) {
      if (optional && r.chance(15)) {
        positions[i] = -1;
        continue;
      }
      positions[i] = this.#append(
        rowBytes(
          format,
          makers.map(make => make()),
        ),
      );
    }
    return { schema, layout: { kind: 'row', slot, format, columns } };
  }

  #long(bits: number, nulls: boolean): number {
    const slot = this.#longs.push(BigInt64Array.from({ length: this.#count }, () => this.#r.long(bits))) - 1;
    if (nulls && this.#r.chance(50))
      this.#longNulls[slot] = Uint8Array.from({ length: this.#count }, () => this.#r.below(2));
    return slot;
  }

  #groupLong(bits: number): LongSlot {
    const slot = this.#longs.push(BigInt64Array.from({ length: GROUPS }, () => this.#r.long(bits))) - 1;
    return { slot, isGrouped: true };
  }

  #choice(of: number): number {
    return this.#choices.push(Uint8Array.from({ length: this.#count }, () => this.#r.below(of))) - 1;
  }

  #name(): string {
    return `n${this.#names++}`;
  }
}

/** A column of a row; `bytes` null = null or, by its mark, unchanged. */
interface Slice {
  readonly bytes: Buffer | null;
  readonly mark: string;
  readonly extent: number;
}

function rowBytes(format: RowFormat, slices: readonly Slice[]): Buffer {
  const parts: Buffer[] = [];
  const number = (size: number, write: (b: Buffer) => void): void => {
    const b = Buffer.alloc(size);
    write(b);
    parts.push(b);
  };
  switch (format) {
    case 'pg-tuple':
    case 'pg-copy':
      number(2, b => b.writeInt16BE(slices.length));
      for (const { bytes, mark } of slices) {
        if (format === 'pg-tuple') parts.push(Buffer.from(mark));
        if (bytes !== null || format === 'pg-copy') number(4, b => b.writeInt32BE(bytes?.length ?? -1));
        if (bytes !== null) parts.push(bytes);
      }
      break;
    case 'mysql-binlog':
      number((slices.length + 7) >> 3, b => {
        for (const [at, { bytes }] of slices.entries()) if (bytes === null) b[at >> 3] |= 1 << (at & 7);
      });
      for (const { bytes, extent } of slices) {
        if (bytes === null) continue;
        if (extent < 0) number(-extent, b => b.writeUIntLE(bytes.length, 0, -extent));
        parts.push(bytes);
      }
      break;
    case 'mysql-text':
      for (const { bytes } of slices) {
        if (bytes === null) parts.push(Buffer.from([251]));
        else if (bytes.length < 251) parts.push(Buffer.from([bytes.length]), bytes);
        else if (bytes.length < 9000) parts.push(Buffer.from([252, bytes.length & 255, bytes.length >> 8]), bytes);
        else if (bytes.length < 20_000) {
          number(4, b => b.writeUInt32LE(253 + bytes.length * 256));
          parts.push(bytes);
        } else {
          parts.push(Buffer.from([254]));
          number(8, b => b.writeUInt32LE(bytes.length));
          parts.push(bytes);
        }
      }
      break;
  }
  return Buffer.concat(parts);
}
