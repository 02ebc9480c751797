/**
 * A Connect schema as an Avro schema, as the Avro converters for Kafka Connect (Confluent's, Apicurio's) register it, so that consumers and
 * registries see the same schemas: connect.* attributes, namespaces from names, unions with the default's branch first.
 */
import {
  DATE_NAME,
  Decimal,
  decimalScale,
  isDecimal,
  type MapSchema,
  type Schema,
  type Struct,
  type StructSchema,
  TIME_NAME,
  TIMESTAMP_NAME,
} from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { isJsonObject, type JsonValue, stringifyJson } from '../json/exactJson.ts';

export interface FromConnectOptions {
  /** Whether names that Avro does not allow are adjusted (`scrub.invalid.names`); else they are an error. */
  readonly scrubInvalidNames: boolean;
}

type Json = { [key: string]: JsonValue };

/** Namespace of what has no name of its own, as in Confluent's converter. */
export const CONNECT_NAMESPACE = 'io.confluent.connect.avro';
export const MAP_ENTRY = 'MapEntry';
const DEFAULT_PRECISION = 64;

/** The JSON text of the Avro schema. Throws ConnectError CONVERTER_FAILED for a schema that Avro cannot express. */
export function avroSchemaText(schema: Schema, options: FromConnectOptions): string {
  return stringifyJson(new Translation(options).type(schema, ''));
}

/** Whether the union of an optional schema has the value's branch first: Avro wants a default to belong to the first branch. */
export const valueBranchFirst = (schema: Schema): boolean =>
  schema.defaultValue !== undefined && schema.defaultValue !== null;

const legalName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** URL-encodes what Avro does not allow, then replaces `%` and the like by `_`: what `scrub.invalid.names` does. */
export function scrubName(name: string): string {
  const encoded = encodeURIComponent(name).replace(/%20/g, '+');
  return (/^[A-Za-z_]/.test(encoded) ? encoded : `x${encoded}`).replace(/[^A-Za-z0-9_]/g, '_');
}

class Translation {
  readonly #options: FromConnectOptions;
  /** Full name -> its fields, to see whether a repeated name means the same. */
  readonly #defined = new Map<string, string>();
  #unnamed = 0;

  constructor(options: FromConnectOptions) {
    this.#options = options;
  }

  type(schema: Schema, namespace: string): JsonValue {
    const value = this.#required(schema, namespace);
    if (!schema.optional) return value;
    return valueBranchFirst(schema) ? [value, 'null'] : ['null', value];
  }

  #required(schema: Schema, namespace: string): JsonValue {
    switch (schema.type) {
      case 'INT8':
        return simplified({ type: 'int', ...attributes(schema), 'connect.type': 'int8' });
      case 'INT16':
        return simplified({ type: 'int', ...attributes(schema), 'connect.type': 'int16' });
      case 'INT32':
        return simplified({ type: 'int', ...attributes(schema), ...logicalType(schema) });
      case 'INT64':
        return simplified({ type: 'long', ...attributes(schema), ...logicalType(schema) });
      case 'FLOAT32':
        return simplified({ type: 'float', ...attributes(schema) });
      case 'FLOAT64':
        return simplified({ type: 'double', ...attributes(schema) });
      case 'BOOLEAN':
        return simplified({ type: 'boolean', ...attributes(schema) });
      case 'STRING':
        return simplified({ type: 'string', ...attributes(schema) });
      case 'BYTES':
        return simplified(
          isDecimal(schema)
            ? { type: 'bytes', ...decimalNumbers(schema), ...attributes(schema), logicalType: 'decimal' }
            : { type: 'bytes', ...attributes(schema) },
        );
      case 'ARRAY':
        return { type: 'array', items: this.type(schema.valueSchema, namespace), ...attributes(schema) };
      case 'MAP':
        return this.#map(schema, namespace);
      case 'STRUCT':
        return this.#record(schema, namespace);
    }
  }

  #map(schema: MapSchema, namespace: string): JsonValue {
    if (schema.keySchema.type === 'STRING' && !schema.keySchema.optional)
      return { type: 'map', values: this.type(schema.valueSchema, namespace), ...attributes(schema) };
    const name = schema.name === null ? `${CONNECT_NAMESPACE}.${MAP_ENTRY}` : this.#legalFullName(schema.name);
    const inner = namespaceOf(name);
    const fields: JsonValue = [
      this.#field('key', schema.keySchema, inner),
      this.#field('value', schema.valueSchema, inner),
    ];
    const mark: Json = schema.name === null ? {} : { 'connect.internal.type': MAP_ENTRY };
    return {
      type: 'array',
      items: this.#define(name, namespace, schema.name, { fields, ...mark }),
      ...attributes(schema),
    };
  }

  #record(schema: StructSchema, namespace: string): JsonValue {
    const name = schema.name === null ? this.#nextUnnamed() : this.#legalFullName(schema.name);
    const inner = namespaceOf(name);
    const fields = schema.fields.map(field => this.#field(field.name, field.schema, inner));
    return this.#define(name, namespace, schema.name, { fields, ...attributes(schema) });
  }

  /** The definition, or the name alone where the same was defined before. */
  #define(name: string, namespace: string, connectName: string | null, body: Json): JsonValue {
    const own = namespaceOf(name);
    const simple = own === '' ? name : name.slice(own.length + 1);
    // The fields are what a name must mean; attributes (doc, parameters) are said by the first occurrence, since Avro has one definition per name.
    const fields = stringifyJson(namesOnly(body.fields));
    const earlier = this.#defined.get(name);
    if (earlier === undefined) {
      this.#defined.set(name, fields);
      return { type: 'record', name: simple, ...(own === namespace ? {} : { namespace: own }), ...body };
    }
    if (earlier === fields) return own === namespace ? simple : name;
    throw new ConnectError(
      'CONVERTER_FAILED',
      `two different structs are named ${connectName ?? name}, which Avro does not allow: ${earlier} and ${fields}. Rename one of them`,
    );
  }

  #field(name: string, schema: Schema, namespace: string): JsonValue {
    const field: Json = { name: this.#legal(name, `field name "${name}"`), type: this.type(schema, namespace) };
    if (valueBranchFirst(schema)) {
      const value = defaultJson(schema, schema.defaultValue, name => this.#legal(name, name));
      if (value !== undefined) field.default = value;
    } else if (schema.optional) field.default = null;
    return field;
  }

  #legalFullName(name: string): string {
    return name
      .split('.')
      .map(part => this.#legal(part, `schema name "${name}"`))
      .join('.');
  }

  #legal(name: string, what: string): string {
    if (legalName.test(name)) return name;
    if (this.#options.scrubInvalidNames) return scrubName(name);
    throw new ConnectError(
      'CONVERTER_FAILED',
      `Avro does not allow the ${what}; set scrub.invalid.names=true on the converter, or schema.name.adjustment.mode=avro and field.name.adjustment.mode=avro on the connector`,
    );
  }

  #nextUnnamed(): string {
    this.#unnamed++;
    return `${CONNECT_NAMESPACE}.ConnectDefault${this.#unnamed > 1 ? this.#unnamed : ''}`;
  }
}

const namespaceOf = (name: string): string => (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : '');

/** Nested definitions as their names, so that a definition and a reference to it are alike. */
function namesOnly(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(namesOnly);
  if (!isJsonObject(json)) return typeof json === 'string' ? lastPart(json) : json;
  if (json.type === 'record' && typeof json.name === 'string') return lastPart(json.name);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, namesOnly(value)]));
}
const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** A type without attributes is written as its name alone. */
function simplified(json: Json): JsonValue {
  return Object.keys(json).length === 1 ? json.type : json;
}

function attributes(schema: Schema): Json {
  const out: Json = {};
  if (schema.doc !== null) out['connect.doc'] = schema.doc;
  if (schema.version !== null) out['connect.version'] = schema.version;
  if (schema.parameters !== null) out['connect.parameters'] = { ...schema.parameters };
  // A struct's default stands at the field alone: the definition is shared by all that use the name.
  if (valueBranchFirst(schema) && schema.type !== 'STRUCT') {
    const value = defaultJson(schema, schema.defaultValue, name => name);
    if (value !== undefined) out['connect.default'] = value;
  }
  if (schema.name !== null) out['connect.name'] = schema.name;
  return out;
}

function decimalNumbers(schema: Schema): Json {
  const precision = schema.parameters?.['connect.decimal.precision'];
  return { scale: decimalScale(schema), precision: precision === undefined ? DEFAULT_PRECISION : Number(precision) };
}

function logicalType(schema: Schema): Json {
  switch (schema.name) {
    case DATE_NAME:
      return { logicalType: 'date' };
    case TIME_NAME:
      return { logicalType: 'time-millis' };
    case TIMESTAMP_NAME:
      return { logicalType: 'timestamp-millis' };
    default:
      return {};
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

/** A default in Avro's JSON encoding; undefined where it has none (NaN, infinities). */
function defaultJson(schema: Schema, value: unknown, nameOf: (name: string) => string): JsonValue | undefined {
  if (value === null || value === undefined) return null;
  switch (schema.type) {
    case 'BYTES':
      if (value instanceof Decimal) return latin1(value.withScale(decimalScale(schema)).toBytes());
      return latin1(value as Uint8Array);
    case 'FLOAT32':
    case 'FLOAT64':
      return Number.isFinite(value) ? (value as number) : undefined;
    case 'ARRAY':
      return (value as unknown[]).map(item => defaultJson(schema.valueSchema, item, nameOf) ?? null);
    case 'MAP': {
      const entries = [...(value as ReadonlyMap<unknown, unknown>)];
      if (schema.keySchema.type === 'STRING' && !schema.keySchema.optional)
        return Object.fromEntries(entries.map(([k, v]) => [k, defaultJson(schema.valueSchema, v, nameOf) ?? null]));
      return entries.map(([k, v]) => ({
        key: defaultJson(schema.keySchema, k, nameOf) ?? null,
        value: defaultJson(schema.valueSchema, v, nameOf) ?? null,
      }));
    }
    case 'STRUCT': {
      const struct = value as Struct;
      return Object.fromEntries(
        schema.fields.map(f => [nameOf(f.name), defaultJson(f.schema, struct.values[f.index], nameOf) ?? null]),
      );
    }
    default:
      return value as JsonValue;
  }
}
