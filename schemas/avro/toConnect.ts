/**
 * An Avro schema as a Connect schema. Schemas written by the Avro converters come back as they were (connect.* attributes); plain Avro of
 * other teams is read as Confluent's converter reads it, and logical types it does not know become Debezium's semantic types, so that
 * sinks see a time where the producer meant one.
 */
import {
  array,
  DATE_NAME,
  Decimal,
  decimalScale,
  decimalSchema,
  isDecimal,
  map,
  primitive,
  type Schema,
  type SchemaOptions,
  Struct,
  struct,
  TIME_NAME,
  TIMESTAMP_NAME,
  withOptions,
} from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { isJsonObject, type JsonValue } from '../json/exactJson.ts';
import { type AvroArray, type AvroPrimitive, type AvroRecord, type AvroType, avroTypeName } from './avroSchema.ts';
import { CONNECT_NAMESPACE, MAP_ENTRY } from './fromConnect.ts';

/** Name of the struct that stands for a union of several values: one optional field per branch. */
export const UNION_NAME = `${CONNECT_NAMESPACE}.Union`;
const ENUM_PARAMETER = `${CONNECT_NAMESPACE}.Enum`;

/** Translates types of one schema; a named type used twice gives the same Connect schema. */
export class ToConnect {
  readonly #records = new Map<AvroRecord, Schema>();

  schema(type: AvroType): Schema {
    return this.#options(this.#bare(type), type, undefined, null);
  }

  /** The schema of a field: as `schema`, with what only a field says (default, doc). */
  field(type: AvroType, defaultValue: JsonValue | undefined, doc: string | null): Schema {
    return this.#options(this.#bare(type), type, defaultValue, doc);
  }

  /** Adds what the attributes of the type, or of the only value branch of an optional, say. */
  #options(bare: Schema, type: AvroType, fieldDefault: JsonValue | undefined, fieldDoc: string | null): Schema {
    const value = valueBranch(type);
    const options: SchemaOptions = { optional: value !== type || type.type === 'null' };
    if (type.type === 'union' && value.type === 'union') options.optional = type.branches.some(b => b.type === 'null');
    if (value.type !== 'union') {
      const a = value.attributes;
      if (typeof a['connect.name'] === 'string') options.name = a['connect.name'];
      if (typeof a['connect.version'] === 'number') options.version = a['connect.version'];
      const doc = a['connect.doc'] ?? fieldDoc;
      if (typeof doc === 'string') options.doc = doc;
      if (isJsonObject(a['connect.parameters'])) {
        const given = Object.entries(a['connect.parameters']).map(([key, v]) => [key, String(v)]);
        options.parameters = { ...bare.parameters, ...Object.fromEntries(given) };
      }
    }
    const schema = withOptions(bare, options);
    const json = (value.type === 'union' ? undefined : value.attributes['connect.default']) ?? fieldDefault;
    if (json === undefined || json === null) return schema;
    return withOptions(schema, { defaultValue: defaultFromJson(value, schema, json) });
  }

  #bare(type: AvroType): Schema {
    switch (type.type) {
      case 'null':
        return primitive('STRING', { optional: true });
      case 'boolean':
        return primitive('BOOLEAN');
      case 'int':
        return intSchema(type);
      case 'long':
        return longSchema(type);
      case 'float':
        return primitive('FLOAT32');
      case 'double':
        return primitive('FLOAT64');
      case 'string':
        return primitive(
          'STRING',
          type.attributes.logicalType === 'uuid' ? { name: 'io.debezium.data.Uuid', version: 1 } : {},
        );
      case 'bytes':
        return decimalOf(type.attributes) ?? primitive('BYTES');
      case 'fixed':
        return (
          decimalOf(type.attributes) ??
          primitive('BYTES', { name: type.name, parameters: { 'connect.fixed.size': String(type.size) } })
        );
      case 'enum': {
        const symbols = type.symbols.map(symbol => [`${ENUM_PARAMETER}.${symbol}`, symbol]);
        return primitive('STRING', { parameters: { [ENUM_PARAMETER]: type.name, ...Object.fromEntries(symbols) } });
      }
      case 'array': {
        const entry = mapEntry(type);
        if (!entry) return array(this.schema(type.items));
        return map(this.schema(entry.fields[0].type), this.schema(entry.fields[1].type));
      }
      case 'map':
        return map(primitive('STRING'), this.schema(type.values));
      case 'record': {
        const known = this.#records.get(type);
        if (known) return known;
        const fields = type.fields.map(f => [f.name, this.field(f.type, f.defaultValue, f.doc)] as const);
        const made = struct(fields, { name: type.name, doc: type.doc });
        this.#records.set(type, made);
        return made;
      }
      case 'union': {
        const value = valueBranch(type);
        if (value.type !== 'union') return this.#bare(value);
        const members = type.branches.filter(b => b.type !== 'null');
        const fields = members.map(
          b => [lastPart(avroTypeName(b)), withOptions(this.schema(b), { optional: true })] as const,
        );
        return struct(fields, { name: UNION_NAME });
      }
    }
  }
}

export const toConnectSchema = (type: AvroType): Schema => new ToConnect().schema(type);

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The value branch of a union of one type and null; any other type itself. */
export function valueBranch(type: AvroType): AvroType {
  if (type.type !== 'union') return type;
  const values = type.branches.filter(b => b.type !== 'null');
  return values.length === 1 && values.length < type.branches.length ? values[0] : type;
}

/** The record of an array that stands for a map whose keys are not strings, or null. */
export function mapEntry(type: AvroArray): AvroRecord | null {
  const item = type.items;
  if (item.type !== 'record' || item.fields.length !== 2) return null;
  if (item.fields[0].name !== 'key' || item.fields[1].name !== 'value') return null;
  const marked = item.attributes['connect.internal.type'] === MAP_ENTRY;
  return marked || item.name === `${CONNECT_NAMESPACE}.${MAP_ENTRY}` ? item : null;
}

function intSchema(type: AvroPrimitive): Schema {
  const { logicalType, 'connect.type': connectType } = type.attributes;
  if (connectType === 'int8') return primitive('INT8');
  if (connectType === 'int16') return primitive('INT16');
  switch (logicalType) {
    case 'date':
      return primitive('INT32', { name: DATE_NAME, version: 1 });
    case 'time-millis':
      return primitive('INT32', { name: TIME_NAME, version: 1 });
    default:
      return primitive('INT32');
  }
}

const longTypes: Readonly<Record<string, string>> = {
  'timestamp-millis': TIMESTAMP_NAME,
  'local-timestamp-millis': 'io.debezium.time.Timestamp',
  'time-micros': 'io.debezium.time.MicroTime',
  'timestamp-micros': 'io.debezium.time.MicroTimestamp',
  'local-timestamp-micros': 'io.debezium.time.MicroTimestamp',
  'timestamp-nanos': 'io.debezium.time.NanoTimestamp',
  'local-timestamp-nanos': 'io.debezium.time.NanoTimestamp',
};

function longSchema(type: AvroPrimitive): Schema {
  const { logicalType } = type.attributes;
  const name = typeof logicalType === 'string' && Object.hasOwn(longTypes, logicalType) ? longTypes[logicalType] : null;
  return name === null ? primitive('INT64') : primitive('INT64', { name, version: 1 });
}

function decimalOf(attributes: Readonly<Record<string, JsonValue>>): Schema | null {
  if (attributes.logicalType !== 'decimal') return null;
  const { scale = 0, precision } = attributes;
  if (typeof scale !== 'number') return null;
  // 64 is what the converters write where no precision is known.
  return decimalSchema(scale, typeof precision === 'number' && precision !== 64 ? precision : null);
}

/** A default of an Avro schema, in Avro's JSON encoding, as a Connect value. */
function defaultFromJson(type: AvroType, schema: Schema, json: JsonValue): unknown {
  const wrong = (): ConnectError =>
    new ConnectError(
      'CONVERTER_FAILED',
      `Avro schema: default ${JSON.stringify(String(json))} does not fit ${avroTypeName(type)}`,
    );
  if (json === null) return null;
  switch (schema.type) {
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'FLOAT32':
    case 'FLOAT64':
      if (typeof json === 'number') return json;
      break;
    case 'INT64':
      if (typeof json === 'bigint' || Number.isInteger(json)) return BigInt(json as number | bigint);
      break;
    case 'BOOLEAN':
      if (typeof json === 'boolean') return json;
      break;
    case 'STRING':
      if (typeof json === 'string') return json;
      break;
    case 'BYTES':
      if (typeof json !== 'string') break;
      if (!isDecimal(schema)) return Buffer.from(json, 'latin1');
      return Decimal.fromBytes(Buffer.from(json, 'latin1'), decimalScale(schema));
    case 'ARRAY':
      if (type.type !== 'array' || !Array.isArray(json)) break;
      return json.map(item => defaultFromJson(valueBranch(type.items), schema.valueSchema, item));
    case 'MAP': {
      if (type.type === 'map' && isJsonObject(json)) {
        const entries = Object.entries(json);
        return new Map(entries.map(([k, v]) => [k, defaultFromJson(valueBranch(type.values), schema.valueSchema, v)]));
      }
      const entry = type.type === 'array' ? mapEntry(type) : null;
      if (!entry || !Array.isArray(json)) break;
      return new Map(
        json.map(pair => {
          const members = isJsonObject(pair) ? pair : {};
          const side = (at: 0 | 1, of: Schema): unknown =>
            defaultFromJson(valueBranch(entry.fields[at].type), of, members[entry.fields[at].name] ?? null);
          return [side(0, schema.keySchema), side(1, schema.valueSchema)];
        }),
      );
    }
    case 'STRUCT': {
      if (type.type === 'union') {
        const first = lastPart(avroTypeName(type.branches[0]));
        const values = schema.fields.map(f =>
          f.name === first ? defaultFromJson(type.branches[0], f.schema, json) : null,
        );
        return new Struct(schema, values);
      }
      if (type.type !== 'record' || !isJsonObject(json)) break;
      const values = type.fields.map((f, i) => {
        const member = f.name in json ? json[f.name] : f.defaultValue;
        return defaultFromJson(valueBranch(f.type), schema.fields[i].schema, member ?? null);
      });
      return new Struct(schema, values);
    }
  }
  throw wrong();
}
