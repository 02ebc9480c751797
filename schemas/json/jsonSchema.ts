/** Connect schemas as Java's JsonConverter writes them into its envelope, members in Java's order, and back. */
import {
  array,
  map,
  type PrimitiveSchema,
  primitive,
  type Schema,
  type SchemaOptions,
  struct,
  withOptions,
} from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { JsonOptions } from './compileJsonEncoder.ts';
import { isJsonObject, type JsonValue, stringifyJson } from './exactJson.ts';
import { compileJsonReader } from './jsonReader.ts';
import { compileJsonWriter } from './jsonWriter.ts';

const typeNames = {
  INT8: 'int8',
  INT16: 'int16',
  INT32: 'int32',
  INT64: 'int64',
  FLOAT32: 'float',
  FLOAT64: 'double',
  BOOLEAN: 'boolean',
  STRING: 'string',
  BYTES: 'bytes',
} as const satisfies Record<PrimitiveSchema['type'], string>;

const primitiveTypes: ReadonlyMap<string, PrimitiveSchema['type']> = new Map(
  Object.entries(typeNames).map(([type, name]) => [name, type as PrimitiveSchema['type']]),
);

/** The JSON text of a schema. */
export function jsonSchemaText(schema: Schema, options: JsonOptions, field: string | null = null): string {
  const members: string[] = [];
  switch (schema.type) {
    case 'STRUCT': {
      const fields = schema.fields.map(f => jsonSchemaText(f.schema, options, f.name));
      members.push(`"type":"struct","fields":[${fields.join(',')}]`);
      break;
    }
    case 'ARRAY':
      members.push(`"type":"array","items":${jsonSchemaText(schema.valueSchema, options)}`);
      break;
    case 'MAP':
      members.push(
        `"type":"map","keys":${jsonSchemaText(schema.keySchema, options)},"values":${jsonSchemaText(schema.valueSchema, options)}`,
      );
      break;
    default:
      members.push(`"type":"${typeNames[schema.type]}"`);
  }
  members.push(`"optional":${schema.optional}`);
  if (schema.name !== null) members.push(`"name":${JSON.stringify(schema.name)}`);
  if (schema.version !== null) members.push(`"version":${schema.version}`);
  if (schema.doc !== null) members.push(`"doc":${JSON.stringify(schema.doc)}`);
  if (schema.parameters !== null) members.push(`"parameters":${stringifyJson(schema.parameters)}`);
  if (schema.defaultValue !== undefined && schema.defaultValue !== null)
    members.push(`"default":${compileJsonWriter(schema, options)(schema.defaultValue)}`);
  if (field !== null) members.push(`"field":${JSON.stringify(field)}`);
  return `{${members.join(',')}}`;
}

/** The schema in an envelope; null for null. Throws ConnectError CONVERTER_FAILED naming what is wrong. */
export function schemaFromJson(json: JsonValue | undefined): Schema | null {
  return json === null || json === undefined ? null : readSchema(json);
}

const bad = (message: string): ConnectError =>
  new ConnectError('CONVERTER_FAILED', `schema of a JSON envelope: ${message}`);

function readSchema(json: JsonValue | undefined): Schema {
  if (!isJsonObject(json)) throw bad(`expected an object, found ${stringifyJson(json)}`);
  const members = json;
  const schema = readType(members);
  const options: SchemaOptions = { optional: members.optional === true };
  if (typeof members.name === 'string') options.name = members.name;
  if (typeof members.version === 'number') options.version = members.version;
  if (typeof members.doc === 'string') options.doc = members.doc;
  if (typeof members.parameters === 'object' && members.parameters !== null) {
    const given = Object.entries(members.parameters).map(([key, value]) => [key, String(value)]);
    options.parameters = Object.fromEntries(given);
  }
  const described = withOptions(schema, options);
  if (members.default === undefined || members.default === null) return described;
  const defaultValue = compileJsonReader(described, { replaceNullWithDefault: false })(members.default);
  return withOptions(described, { defaultValue });
}

function readType(members: { [key: string]: JsonValue }): Schema {
  const { type } = members;
  if (typeof type !== 'string') throw bad('a schema without a type');
  switch (type) {
    case 'array':
      return array(readSchema(members.items));
    case 'map':
      return map(readSchema(members.keys), readSchema(members.values));
    case 'struct': {
      if (!Array.isArray(members.fields)) throw bad('a struct without fields');
      return struct(
        members.fields.map(json => {
          const field = (json as { field?: JsonValue } | null)?.field;
          if (typeof field !== 'string') throw bad('a field of a struct without a name');
          return [field, readSchema(json)] as const;
        }),
      );
    }
    default: {
      const primitiveType = primitiveTypes.get(type);
      if (primitiveType === undefined) throw bad(`unknown type "${type}"`);
      return primitive(primitiveType);
    }
  }
}
