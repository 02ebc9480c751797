/** Compiles a Connect schema into a function that appends its values as JSON, as Java's JsonConverter writes them. */
import { Decimal, decimalScale, isDecimal, type Schema, Struct, type StructSchema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { OutputBuffer } from '../outputBuffer.ts';
import { type Block, makeBlock } from '../transcode/write.ts';
import {
  doubleText,
  floatText,
  textBlock,
  writeAscii,
  writeBase64,
  writeBlock,
  writeInt32,
  writeInt64,
  writeString,
} from './jsonBytes.ts';

export interface JsonOptions {
  readonly decimalFormat: 'BASE64' | 'NUMERIC';
  readonly replaceNullWithDefault: boolean;
}

/** Throws ConnectError DATA_INVALID on a value that is not the schema's. */
export type EncodeJson = (value: unknown, out: OutputBuffer) => void;

export function compileJsonEncoder(schema: Schema, options: JsonOptions): EncodeJson {
  return new JsonCompiler(options).encoder(schema, '');
}

/** The text of null in place of a value of the schema: null, or the default; null where neither is allowed. */
export function jsonOfNull(schema: Schema, options: JsonOptions): Block | null {
  const { defaultValue } = schema;
  const hasDefault = defaultValue !== undefined && defaultValue !== null;
  if (!hasDefault || (schema.optional && !options.replaceNullWithDefault)) {
    return schema.optional ? textBlock('null') : null;
  }
  const out = new OutputBuffer(64);
  compileJsonEncoder({ ...schema, defaultValue: undefined }, options)(defaultValue, out);
  return makeBlock(Buffer.from(out.written()));
}

/** What stands before the value of each field. */
export const fieldLabels = (schema: StructSchema): Block[] =>
  schema.fields.map((f, i) => textBlock(`${i === 0 ? '{' : ','}${JSON.stringify(f.name)}:`));

const EMPTY_STRUCT = textBlock('{}');
const TRUE = textBlock('true');
const FALSE = textBlock('false');
const shifts = { INT8: 24, INT16: 16, INT32: 0 } as const;

class JsonCompiler {
  readonly #options: JsonOptions;
  /** By the fields of the struct, shared by its optional variants. */
  readonly #structs = new Map<readonly unknown[], EncodeJson>();

  constructor(options: JsonOptions) {
    this.#options = options;
  }

  encoder(schema: Schema, path: string): EncodeJson {
    const present = this.#present(schema, path);
    const nullText = jsonOfNull(schema, this.#options);
    return (value, out) => {
      if (value !== null && value !== undefined) present(value, out);
      else if (nullText !== null) writeBlock(out, nullText);
      else unfit(path, schema, value);
    };
  }

  #present(schema: Schema, path: string): EncodeJson {
    switch (schema.type) {
      case 'INT8':
      case 'INT16':
      case 'INT32': {
        const shift = shifts[schema.type];
        return (value, out) => {
          if (((value as number) << shift) >> shift !== value) unfit(path, schema, value);
          writeInt32(out, value as number);
        };
      }
      case 'INT64':
        return (value, out) => {
          if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) unfit(path, schema, value);
          if (!writeInt64(out, BigInt(value as bigint | number))) unfit(path, schema, value);
        };
      case 'FLOAT32':
      case 'FLOAT64': {
        const text = schema.type === 'FLOAT32' ? floatText : doubleText;
        return (value, out) => {
          if (typeof value !== 'number') unfit(path, schema, value);
          writeAscii(out, text(value));
        };
      }
      case 'BOOLEAN':
        return (value, out) => {
          if (typeof value !== 'boolean') unfit(path, schema, value);
          writeBlock(out, value ? TRUE : FALSE);
        };
      case 'STRING':
        return (value, out) => {
          if (typeof value !== 'string') unfit(path, schema, value);
          writeString(out, value);
        };
      case 'BYTES':
        if (isDecimal(schema)) return this.#decimal(schema, path);
        return (value, out) => {
          if (!(value instanceof Uint8Array)) unfit(path, schema, value);
          writeBase64(out, value);
        };
      case 'ARRAY': {
        const item = this.encoder(schema.valueSchema, `${path}[]`);
        return (value, out) => {
          if (!Array.isArray(value)) unfit(path, schema, value);
          out.writeByte(0x5b);
          for (let i = 0; i < value.length; i++) {
            if (i > 0) out.writeByte(0x2c);
            item(value[i], out);
          }
          out.writeByte(0x5d);
        };
      }
      case 'MAP':
        return this.#map(schema, path);
      case 'STRUCT':
        return this.#struct(schema, path);
    }
  }

  /** Only strings can be member names; other keys make an array of pairs. */
  #map(schema: Extract<Schema, { type: 'MAP' }>, path: string): EncodeJson {
    const key = this.encoder(schema.keySchema, `${path}.key`);
    const entry = this.encoder(schema.valueSchema, `${path}.value`);
    const named = schema.keySchema.type === 'STRING' && !schema.keySchema.optional;
    return (value, out) => {
      if (!(value instanceof Map)) unfit(path, schema, value);
      let next = named ? '{' : '[';
      for (const [k, v] of value) {
        writeAscii(out, named ? next : `${next}[`);
        key(k, out);
        out.writeByte(named ? 0x3a : 0x2c);
        entry(v, out);
        if (!named) out.writeByte(0x5d);
        next = ',';
      }
      writeAscii(out, value.size === 0 ? (named ? '{}' : '[]') : named ? '}' : ']');
    };
  }

  #struct(schema: StructSchema, path: string): EncodeJson {
    const { fields } = schema;
    const known = this.#structs.get(fields);
    if (known) return known;
    const labels = fieldLabels(schema);
    const encoders = fields.map(f => this.encoder(f.schema, path === '' ? f.name : `${path}.${f.name}`));
    const encode: EncodeJson = (value, out) => {
      if (!(value instanceof Struct) || value.values.length !== encoders.length) unfit(path, schema, value);
      const { values } = value;
      for (let i = 0; i < encoders.length; i++) {
        writeBlock(out, labels[i]);
        encoders[i](values[i], out);
      }
      if (encoders.length === 0) writeBlock(out, EMPTY_STRUCT);
      else out.writeByte(0x7d);
    };
    this.#structs.set(fields, encode);
    return encode;
  }

  #decimal(schema: Schema, path: string): EncodeJson {
    const scale = decimalScale(schema);
    const numeric = this.#options.decimalFormat === 'NUMERIC';
    return (value, out) => {
      const scaled = value instanceof Decimal ? atScale(value, scale) : null;
      if (scaled === null) unfit(path, schema, value);
      if (numeric) writeAscii(out, scaled.toString());
      else writeBase64(out, scaled.toBytes());
    };
  }
}

function atScale(value: Decimal, scale: number): Decimal | null {
  try {
    return value.withScale(scale);
  } catch {
    return null;
  }
}

function unfit(path: string, schema: Schema, value: unknown): never {
  const shown =
    typeof value === 'object' && value !== null ? 'an object' : `${typeof value} ${String(value).slice(0, 100)}`;
  throw new ConnectError(
    'DATA_INVALID',
    `${path === '' ? 'the value' : `field ${path}`}: expected ${schema.type}${schema.name === null ? '' : ` (${schema.name})`}, found ${value === null || value === undefined ? 'null' : shown}`,
    { place: path === '' ? {} : { column: path } },
  );
}
