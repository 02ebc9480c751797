/** Single numbers and booleans as Kafka's serializers write them: big endian, fixed length. */
import type { Converter, ValueDecoder, ValueEncoder } from '../converter.ts';
import { optional, type PrimitiveSchema, primitive, type Schema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { OutputBuffer } from '../outputBuffer.ts';

interface Wire {
  readonly bytes: number;
  /** Returns false where the value does not fit. */
  write(value: unknown, into: Buffer): boolean;
  read(bytes: Buffer): unknown;
}

function integer(bytes: number): Wire {
  const limit = 2 ** (bytes * 8 - 1);
  return {
    bytes,
    write(value, into) {
      if (!Number.isInteger(value) || (value as number) >= limit || (value as number) < -limit) return false;
      into.writeIntBE(value as number, 0, bytes);
      return true;
    },
    read: from => from.readIntBE(0, bytes),
  };
}

function floating(bytes: 4 | 8): Wire {
  return {
    bytes,
    write(value, into) {
      if (typeof value !== 'number') return false;
      if (bytes === 4) into.writeFloatBE(value);
      else into.writeDoubleBE(value);
      return true;
    },
    read: from => (bytes === 4 ? from.readFloatBE() : from.readDoubleBE()),
  };
}

const wires = {
  INT16: integer(2),
  INT32: integer(4),
  INT64: {
    bytes: 8,
    write(value, into) {
      if (typeof value === 'bigint' ? BigInt.asIntN(64, value) !== value : !Number.isSafeInteger(value)) return false;
      into.writeBigInt64BE(BigInt(value as bigint | number));
      return true;
    },
    read: from => from.readBigInt64BE(),
  },
  FLOAT32: floating(4),
  FLOAT64: floating(8),
  BOOLEAN: {
    bytes: 1,
    write(value, into) {
      if (typeof value !== 'boolean') return false;
      into[0] = value ? 1 : 0;
      return true;
    },
    read: from => (from[0] > 1 ? undefined : from[0] === 1),
  },
} as const satisfies Partial<Record<PrimitiveSchema['type'], Wire>>;

export type NumberType = keyof typeof wires;

export class NumberConverter implements Converter {
  readonly #type: NumberType;
  readonly #wire: Wire;
  readonly #schema: Schema;
  readonly #encoder: ValueEncoder;
  readonly #decoder: ValueDecoder;

  constructor(type: NumberType) {
    this.#type = type;
    this.#wire = wires[type];
    this.#schema = optional(primitive(type));
    this.#encoder = {
      encode: (value: unknown, out: OutputBuffer): boolean => {
        const bytes = this.#bytes(value);
        if (bytes === null) return false;
        out.writeBytes(bytes);
        return true;
      },
      transcoder: () => null,
    };
    this.#decoder = {
      schema: this.#schema,
      accepts: () => true,
      decode: (bytes, start, end) => this.#value(bytes.subarray(start, end)),
    };
  }

  encoder(_topic: string, schema: Schema | null): ValueEncoder {
    if (schema !== null && schema.type !== this.#type)
      throw new ConnectError(
        'CONVERTER_FAILED',
        `the converter for ${this.#type} was given a schema of type ${schema.type}`,
      );
    return this.#encoder;
  }

  decoder(): ValueDecoder {
    return this.#decoder;
  }

  #bytes(value: unknown): Buffer | null {
    if (value === null || value === undefined) return null;
    const out = Buffer.allocUnsafe(this.#wire.bytes);
    if (this.#wire.write(value, out)) return out;
    throw new ConnectError(
      'DATA_INVALID',
      `expected ${this.#type}, found ${typeof value} ${String(value).slice(0, 100)}`,
    );
  }

  #value(bytes: Uint8Array): unknown {
    const value =
      bytes.length === this.#wire.bytes
        ? this.#wire.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
        : undefined;
    if (value !== undefined) return value;
    throw new ConnectError(
      'CONVERTER_FAILED',
      `expected ${this.#wire.bytes} bytes of ${this.#type}, found ${bytes.length} bytes: ${Buffer.from(bytes.subarray(0, 16)).toString('hex')}. Check that the converter fits the topic`,
    );
  }
}
