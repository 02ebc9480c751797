/** Compiles a Connect schema into a function that turns parsed JSON into its values, as Java's JsonConverter does. */
import { Decimal, decimalScale, isDecimal, type Schema, Struct } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { JsonOptions } from './compileJsonEncoder.ts';
import { isJsonObject, type JsonValue } from './exactJson.ts';

export type ReadJson = (json: JsonValue | undefined) => unknown;

export function compileJsonReader(
  schema: Schema,
  options: Pick<JsonOptions, 'replaceNullWithDefault'>,
  path = '',
): ReadJson {
  const present = presentReader(schema, options, path);
  const { defaultValue } = schema;
  const hasDefault = defaultValue !== undefined && defaultValue !== null;
  const replace = hasDefault && (!schema.optional || options.replaceNullWithDefault);
  return json => {
    if (json !== null && json !== undefined) return present(json);
    if (replace) return defaultValue;
    return schema.optional ? null : unfit(path, schema, null);
  };
}

/** Whether exact decimal digits are needed to read values of the schema. */
export function hasDecimal(schema: Schema): boolean {
  switch (schema.type) {
    case 'ARRAY':
      return hasDecimal(schema.valueSchema);
    case 'MAP':
      return hasDecimal(schema.keySchema) || hasDecimal(schema.valueSchema);
    case 'STRUCT':
      return schema.fields.some(f => hasDecimal(f.schema));
    default:
      return isDecimal(schema);
  }
}

const integerLimits = { INT8: 2 ** 7, INT16: 2 ** 15, INT32: 2 ** 31 } as const;
const nonFinite: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity']);

function presentReader(
  schema: Schema,
  options: Pick<JsonOptions, 'replaceNullWithDefault'>,
  path: string,
): (json: JsonValue) => unknown {
  const wrong = (json: JsonValue): never => unfit(path, schema, json);
  switch (schema.type) {
    case 'INT8':
    case 'INT16':
    case 'INT32': {
      const limit = integerLimits[schema.type];
      return json =>
        Number.isInteger(json) && (json as number) < limit && (json as number) >= -limit ? json : wrong(json);
    }
    case 'INT64':
      return json => {
        if (typeof json === 'number' && Number.isSafeInteger(json)) return BigInt(json);
        return typeof json === 'bigint' && BigInt.asIntN(64, json) === json ? json : wrong(json);
      };
    case 'FLOAT32':
    case 'FLOAT64': {
      const round = schema.type === 'FLOAT32' ? Math.fround : (n: number) => n;
      return json => {
        if (typeof json === 'number') return round(json);
        if (typeof json === 'bigint' || json instanceof Decimal) return round(Number(json.toString()));
        return nonFinite.has(json) ? Number(json) : wrong(json);
      };
    }
    case 'BOOLEAN':
      return json => (typeof json === 'boolean' ? json : wrong(json));
    case 'STRING':
      return json => (typeof json === 'string' ? json : wrong(json));
    case 'BYTES':
      return isDecimal(schema) ? decimalReader(schema, wrong) : json => base64(json) ?? wrong(json);
    case 'ARRAY': {
      const item = compileJsonReader(schema.valueSchema, options, `${path}[]`);
      return json => (Array.isArray(json) ? json.map(item) : wrong(json));
    }
    case 'MAP': {
      const key = compileJsonReader(schema.keySchema, options, `${path}.key`);
      const value = compileJsonReader(schema.valueSchema, options, `${path}.value`);
      return json => {
        const out = new Map<unknown, unknown>();
        if (Array.isArray(json)) {
          for (const pair of json) {
            if (!Array.isArray(pair) || pair.length !== 2) return wrong(json);
            out.set(key(pair[0]), value(pair[1]));
          }
          return out;
        }
        if (!isJsonObject(json)) return wrong(json);
        for (const [k, v] of Object.entries(json)) out.set(key(k), value(v));
        return out;
      };
    }
    case 'STRUCT': {
      const names = schema.fields.map(f => f.name);
      const readers = schema.fields.map(f =>
        compileJsonReader(f.schema, options, path === '' ? f.name : `${path}.${f.name}`),
      );
      return json => {
        if (!isJsonObject(json)) return wrong(json);
        const values = new Array<unknown>(names.length);
        for (let i = 0; i < names.length; i++) {
          const name = names[i];
          values[i] = readers[i](Object.hasOwn(json, name) ? json[name] : undefined);
        }
        return new Struct(schema, values);
      };
    }
  }
}

/** Both formats are read, whatever `decimal.format` says: a number, or base64 of the unscaled value. */
function decimalReader(schema: Schema, wrong: (json: JsonValue) => never): (json: JsonValue) => Decimal {
  const scale = decimalScale(schema);
  return json => {
    if (typeof json === 'string') {
      const bytes = base64(json);
      return bytes === null ? wrong(json) : Decimal.fromBytes(bytes, scale);
    }
    if (typeof json !== 'number' && typeof json !== 'bigint' && !(json instanceof Decimal)) return wrong(json);
    try {
      return (json instanceof Decimal ? json : Decimal.parse(json.toString())).withScale(scale);
    } catch {
      return wrong(json);
    }
  };
}

function base64(json: JsonValue): Buffer | null {
  return typeof json === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(json) ? Buffer.from(json, 'base64') : null;
}

function unfit(path: string, schema: Schema, json: JsonValue): never {
  const shown =
    json === null
      ? 'null'
      : Array.isArray(json)
        ? 'an array'
        : isJsonObject(json)
          ? 'an object'
          : `${typeof json} ${String(json).slice(0, 100)}`;
  throw new ConnectError(
    'CONVERTER_FAILED',
    `${path === '' ? 'the value' : `field ${path}`}: expected ${schema.type}${schema.name === null ? '' : ` (${schema.name})`}, found ${shown}`,
    { place: path === '' ? {} : { column: path } },
  );
}
