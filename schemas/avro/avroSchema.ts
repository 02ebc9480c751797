/**
 * Avro schemas as a resolved tree: names full, references replaced by their definitions, other attributes kept.
 * Parsed by hand, not by avsc, since the attributes (connect.*) and the exact digits of 64-bit defaults are needed, and since schemas of
 * other teams with defaults that avsc refuses are read by Java without complaint.
 */
import { ConnectError } from '../errors.ts';
import { isJsonObject, type JsonValue, parseJson } from '../json/exactJson.ts';

export type AvroPrimitiveType = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string';

/** Attributes of a schema that the Avro specification leaves to its users, logicalType included. */
export type AvroAttributes = Readonly<Record<string, JsonValue>>;

export interface AvroField {
  readonly name: string;
  readonly type: AvroType;
  readonly doc: string | null;
  /** `undefined` = no default. */
  readonly defaultValue: JsonValue | undefined;
}
export interface AvroPrimitive {
  readonly type: AvroPrimitiveType;
  readonly attributes: AvroAttributes;
}
export interface AvroRecord {
  readonly type: 'record';
  readonly name: string;
  readonly doc: string | null;
  readonly fields: readonly AvroField[];
  readonly attributes: AvroAttributes;
}
export interface AvroEnum {
  readonly type: 'enum';
  readonly name: string;
  readonly doc: string | null;
  readonly symbols: readonly string[];
  readonly attributes: AvroAttributes;
}
export interface AvroFixed {
  readonly type: 'fixed';
  readonly name: string;
  readonly size: number;
  readonly attributes: AvroAttributes;
}
export interface AvroArray {
  readonly type: 'array';
  readonly items: AvroType;
  readonly attributes: AvroAttributes;
}
export interface AvroMap {
  readonly type: 'map';
  readonly values: AvroType;
  readonly attributes: AvroAttributes;
}
export interface AvroUnion {
  readonly type: 'union';
  readonly branches: readonly AvroType[];
}
export type AvroType = AvroPrimitive | AvroRecord | AvroEnum | AvroFixed | AvroArray | AvroMap | AvroUnion;

const primitives: ReadonlySet<string> = new Set([
  'null',
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'bytes',
  'string',
]);
/** Members that are parts of a schema, not attributes. */
const structural: ReadonlySet<string> = new Set([
  'type',
  'name',
  'namespace',
  'fields',
  'items',
  'values',
  'symbols',
  'size',
  'doc',
  'aliases',
]);

/** Parses the JSON text of an Avro schema. Throws ConnectError CONVERTER_FAILED saying what is wrong with it. */
export function parseAvroSchema(text: string): AvroType {
  return resolveAvroSchema(parseJson(text));
}

export function resolveAvroSchema(json: JsonValue): AvroType {
  return new Resolver().resolve(json, '');
}

/** The name of a branch of a union, as messages and Union structs give it: full name or type. */
export function avroTypeName(type: AvroType): string {
  return type.type === 'record' || type.type === 'enum' || type.type === 'fixed' ? type.name : type.type;
}

const bad = (message: string): ConnectError => new ConnectError('CONVERTER_FAILED', `Avro schema: ${message}`);

class Resolver {
  readonly #named = new Map<string, AvroType>();
  readonly #open = new Set<string>();

  resolve(json: JsonValue | undefined, namespace: string): AvroType {
    if (typeof json === 'string') return this.#reference(json, namespace);
    if (Array.isArray(json)) return { type: 'union', branches: this.#branches(json, namespace) };
    if (!isJsonObject(json)) throw bad(`expected a type, found ${JSON.stringify(json)}`);
    const type = json.type;
    if (typeof type !== 'string') return this.resolve(type, namespace);
    const attributes: Record<string, JsonValue> = {};
    for (const [key, value] of Object.entries(json)) if (!structural.has(key)) attributes[key] = value;
    if (primitives.has(type)) return { type: type as AvroPrimitiveType, attributes };
    switch (type) {
      case 'array':
        return { type, items: this.resolve(json.items, namespace), attributes };
      case 'map':
        return { type, values: this.resolve(json.values, namespace), attributes };
      case 'record':
      case 'error':
        return this.#record(json, namespace, attributes);
      case 'enum': {
        const name = this.#fullName(json, namespace);
        const symbols = json.symbols;
        if (!Array.isArray(symbols) || !symbols.every(s => typeof s === 'string'))
          throw bad(`enum ${name} has no symbols`);
        return this.#define(name, { type, name, doc: textOf(json.doc), symbols, attributes });
      }
      case 'fixed': {
        const name = this.#fullName(json, namespace);
        const size = json.size;
        if (typeof size !== 'number' || !Number.isInteger(size) || size < 0) throw bad(`fixed ${name} has no size`);
        return this.#define(name, { type, name, size, attributes });
      }
      default:
        return this.#reference(type, namespace);
    }
  }

  #branches(json: JsonValue[], namespace: string): AvroType[] {
    const branches = json.map(branch => this.resolve(branch, namespace));
    const names = new Set(branches.map(avroTypeName));
    if (branches.length === 0) throw bad('a union without branches');
    if (names.size < branches.length || names.has('union'))
      throw bad(`a union of ${branches.map(avroTypeName).join(', ')}`);
    return branches;
  }

  #record(json: { [key: string]: JsonValue }, namespace: string, attributes: AvroAttributes): AvroType {
    const name = this.#fullName(json, namespace);
    if (!Array.isArray(json.fields)) throw bad(`record ${name} has no fields`);
    if (this.#open.has(name)) throw bad(`${name} is defined inside itself`);
    this.#open.add(name);
    const inner = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : '';
    const seen = new Set<string>();
    const fields = json.fields.map((field): AvroField => {
      if (!isJsonObject(field) || typeof field.name !== 'string')
        throw bad(`record ${name} has a field without a name`);
      if (seen.has(field.name)) throw bad(`record ${name} has two fields named "${field.name}"`);
      seen.add(field.name);
      const type = this.resolve(field.type, inner);
      return { name: field.name, type, doc: textOf(field.doc), defaultValue: field.default };
    });
    this.#open.delete(name);
    return this.#define(name, { type: 'record', name, doc: textOf(json.doc), fields, attributes });
  }

  #define(name: string, type: AvroType): AvroType {
    if (this.#named.has(name)) throw bad(`${name} is defined twice`);
    this.#named.set(name, type);
    return type;
  }

  #reference(name: string, namespace: string): AvroType {
    if (primitives.has(name)) return { type: name as AvroPrimitiveType, attributes: {} };
    const full = name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
    const known = this.#named.get(full) ?? this.#named.get(name);
    if (known) return known;
    if (this.#open.has(full) || this.#open.has(name))
      throw bad(`${full} contains itself; recursive schemas have no counterpart in Connect's data model`);
    throw bad(`unknown type "${name}"`);
  }

  #fullName(json: { [key: string]: JsonValue }, namespace: string): string {
    const name = json.name;
    if (typeof name !== 'string' || name === '') throw bad(`a ${String(json.type)} without a name`);
    if (name.includes('.')) return name;
    const own = typeof json.namespace === 'string' ? json.namespace : namespace;
    return own === '' ? name : `${own}.${name}`;
  }
}

const textOf = (json: JsonValue | undefined): string | null => (typeof json === 'string' ? json : null);
