/** Compiles a Connect schema into a function that writes its values as JSON text, as Java's JsonConverter does. */
import { Decimal, decimalScale, isDecimal, type Schema, Struct } from '../data/index.ts';
import { ConnectError } from '../errors.ts';

export interface JsonOptions {
  readonly decimalFormat: 'BASE64' | 'NUMERIC';
  readonly replaceNullWithDefault: boolean;
}

export type WriteJson = (value: unknown) => string;

export function compileJsonWriter(schema: Schema, options: JsonOptions): WriteJson {
  return new JsonWriterCompiler(options).writer(schema, '');
}

class JsonWriterCompiler {
  readonly #options: JsonOptions;
  /** By schema and place: a place is part of messages. */
  readonly #structs = new Map<readonly unknown[], WriteJson>();

  constructor(options: JsonOptions) {
    this.#options = options;
  }

  writer(schema: Schema, path: string): WriteJson {
    const present = this.#present(schema, path);
    const { defaultValue } = schema;
    const hasDefault = defaultValue !== undefined && defaultValue !== null;
    const nullText =
      hasDefault && (!schema.optional || this.#options.replaceNullWithDefault)
        ? present(defaultValue)
        : schema.optional
          ? 'null'
          : null;
    return value => {
      if (value !== null && value !== undefined) return present(value);
      return nullText ?? unfit(path, schema, value);
    };
  }

  #present(schema: Schema, path: string): WriteJson {
    switch (schema.type) {
      case 'INT8':
        return value => (((value as number) << 24) >> 24 === value ? String(value) : unfit(path, schema, value));
      case 'INT16':
        return value => (((value as number) << 16) >> 16 === value ? String(value) : unfit(path, schema, value));
      case 'INT32':
        return value => (((value as number) | 0) === value ? String(value) : unfit(path, schema, value));
      case 'INT64':
        return value => {
          if (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value))
            return (value as bigint | number).toString();
          return unfit(path, schema, value);
        };
      case 'FLOAT32':
        return value => (typeof value === 'number' ? floatText(value) : unfit(path, schema, value));
      case 'FLOAT64':
        return value => (typeof value === 'number' ? doubleText(value) : unfit(path, schema, value));
      case 'BOOLEAN':
        return value => (value === true ? 'true' : value === false ? 'false' : unfit(path, schema, value));
      case 'STRING':
        return value => (typeof value === 'string' ? stringText(value) : unfit(path, schema, value));
      case 'BYTES':
        return isDecimal(schema)
          ? this.#decimal(schema, path)
          : value => (value instanceof Uint8Array ? base64Text(value) : unfit(path, schema, value));
      case 'ARRAY': {
        const item = this.writer(schema.valueSchema, `${path}[]`);
        return value => {
          if (!Array.isArray(value)) return unfit(path, schema, value);
          let text = '[';
          for (let i = 0; i < value.length; i++) text += i === 0 ? item(value[i]) : `,${item(value[i])}`;
          return `${text}]`;
        };
      }
      case 'MAP': {
        const key = this.writer(schema.keySchema, `${path}.key`);
        const entry = this.writer(schema.valueSchema, `${path}.value`);
        // Only strings can be member names; other keys make an array of pairs.
        const named = schema.keySchema.type === 'STRING' && !schema.keySchema.optional;
        return value => {
          if (!(value instanceof Map)) return unfit(path, schema, value);
          const parts: string[] = [];
          for (const [k, v] of value) parts.push(named ? `${key(k)}:${entry(v)}` : `[${key(k)},${entry(v)}]`);
          return named ? `{${parts.join(',')}}` : `[${parts.join(',')}]`;
        };
      }
      case 'STRUCT': {
        const known = this.#structs.get(schema.fields);
        if (known) return known;
        const { fields } = schema;
        const labels = fields.map((f, i) => `${i === 0 ? '' : ','}${JSON.stringify(f.name)}:`);
        const writers = fields.map(f => this.writer(f.schema, path === '' ? f.name : `${path}.${f.name}`));
        const write: WriteJson = value => {
          if (!(value instanceof Struct) || value.values.length !== writers.length) return unfit(path, schema, value);
          const { values } = value;
          let text = '{';
          for (let i = 0; i < writers.length; i++) text += labels[i] + writers[i](values[i]);
          return `${text}}`;
        };
        this.#structs.set(fields, write);
        return write;
      }
    }
  }

  #decimal(schema: Schema, path: string): WriteJson {
    const scale = decimalScale(schema);
    const numeric = this.#options.decimalFormat === 'NUMERIC';
    return value => {
      if (!(value instanceof Decimal)) return unfit(path, schema, value);
      let scaled: Decimal;
      try {
        scaled = value.withScale(scale);
      } catch {
        return unfit(path, schema, value);
      }
      return numeric ? scaled.toString() : base64Text(scaled.toBytes());
    };
  }
}

/** JSON text of a value without schema: plain objects, Maps, Structs, bigints and bytes included. */
export function plainJsonText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringText(value);
    case 'number':
      return Number.isInteger(value) ? String(value) : doubleText(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      if (value === undefined) return 'null';
      throw new ConnectError('DATA_INVALID', `a ${typeof value} has no JSON form`);
  }
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return base64Text(value);
  if (value instanceof Decimal) return value.toString();
  if (Array.isArray(value)) return `[${value.map(plainJsonText).join(',')}]`;
  if (value instanceof Struct) {
    const members = value.schema.fields.map(f => `${JSON.stringify(f.name)}:${plainJsonText(value.values[f.index])}`);
    return `{${members.join(',')}}`;
  }
  const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  if (entries.every(([k]) => typeof k === 'string'))
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${plainJsonText(v)}`).join(',')}}`;
  return `[${entries.map(([k, v]) => `[${plainJsonText(k)},${plainJsonText(v)}]`).join(',')}]`;
}

const special = /["\\\u0000-\u001f\ud800-\udfff]/;
const stringText = (value: string): string => (special.test(value) ? JSON.stringify(value) : `"${value}"`);

const base64Text = (bytes: Uint8Array): string =>
  `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`;

/** Whole numbers keep a fraction, so that readers without schema see a floating-point number; NaN and infinities are strings, as Jackson has them. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** The shortest text that is this value in single precision; as Java, of those with two digits the nearest one where fewer would do. */
function floatText(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 2 ** 24)) return doubleText(value);
  for (let digits = 2; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return doubleText(short);
  }
  return doubleText(Number(value.toPrecision(9)));
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
