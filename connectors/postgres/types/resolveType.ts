/** From a type of the catalogue to a column type: the table of all types that are published. */
import { createHash } from 'node:crypto';
import { named } from '../../shared/semanticSchemas.ts';
import { arrayType } from './arrayTypes.ts';
import { type ColumnType, columnType, type TypeSettings } from './columnType.ts';
import { inetType, macaddrType } from './networkTypes.ts';
import { moneyType, numericType } from './numericTypes.ts';
import {
  bitType,
  boolType,
  byteaType,
  float4Type,
  float8Type,
  int2Type,
  int4Type,
  int8Type,
  oidType,
  textType,
  uuidType,
} from './scalarTypes.ts';
import { hstoreType, pointType, tsvectorType } from './structuredTypes.ts';
import { dateType, intervalType, timestampType, timestampTzType, timeType, timeTzType } from './temporalTypes.ts';

/** A type as pg_type has it, domains and arrays with the type below them. */
export interface CatalogType {
  readonly oid: number;
  readonly name: string;
  readonly kind: 'base' | 'composite' | 'domain' | 'enum' | 'pseudo' | 'range' | 'multirange';
  /** The element of a true array. */
  readonly element: CatalogType | null;
  readonly base: CatalogType | null;
  /** Type modifier that a domain lays on its base type. */
  readonly baseTypmod: number;
  readonly enumLabels: readonly string[];
  /** Whether the server can send it in binary. */
  readonly isSendable: boolean;
}

const ISN_TYPES = new Set(['isbn', 'isbn13', 'ean13', 'ismn', 'ismn13', 'issn', 'issn13', 'upc']);
/** Types whose arrays are left out, as Debezium leaves them out. */
const NO_ARRAYS = new Set(['money', 'interval', 'varbit', 'bit', 'xml', 'point', 'hstore', 'tsvector', 'ltree']);

/** null = the column is left out of the events: composite and other types that have no form there. */
export function resolveType(type: CatalogType, typmod: number, settings: TypeSettings): ColumnType | null {
  return withoutSend(type, lookUp(type, typmod, settings));
}

function lookUp(type: CatalogType, typmod: number, settings: TypeSettings): ColumnType | null {
  if (type.kind === 'domain') {
    return type.base === null ? null : resolveType(type.base, typmod >= 0 ? typmod : type.baseTypmod, settings);
  }
  if (type.kind === 'enum') {
    return textType(settings, named('STRING', 'io.debezium.data.Enum', { allowed: type.enumLabels.join(',') }));
  }
  if (type.element !== null) return resolveArray(type.element, typmod, settings);
  if (type.kind === 'range' || type.kind === 'multirange') return textType(settings, undefined, null);
  return type.kind === 'base' ? baseType(type.name, typmod, settings) : null;
}

/** The server sends a type without a send function as text, even when asked for binary. */
function withoutSend(type: CatalogType, resolved: ColumnType | null): ColumnType | null {
  if (resolved === null || type.isSendable) return resolved;
  const { fromText } = resolved;
  return columnType({
    ...resolved,
    fromBinary: (bytes, start, end) => fromText(bytes.toString('utf8', start, end)),
    binaryWire: resolved.textWire,
  });
}

function resolveArray(element: CatalogType, typmod: number, settings: TypeSettings): ColumnType | null {
  const base = baseOf(element);
  if (NO_ARRAYS.has(base.name) || base.element !== null) return null;
  const type = resolveType(element, typmod, settings);
  if (type === null) return null;
  // The server has no binary form of an array whose elements have none.
  const elementType = element.isSendable ? type : { ...type, fromBinary: null };
  return arrayType(elementType, unchangedArray(base.name, type, settings));
}

function baseOf(type: CatalogType): CatalogType {
  return type.kind === 'domain' && type.base ? baseOf(type.base) : type;
}

function unchangedArray(name: string, element: ColumnType, settings: TypeSettings): readonly unknown[] | null {
  const codes = [...Buffer.from(settings.placeholder)];
  switch (name) {
    case 'int2':
    case 'int4':
      return codes;
    case 'int8':
      return codes.map(BigInt);
    case 'uuid':
      return [nameBasedUuid(settings.placeholder)];
    default:
      return element.unchanged === null ? null : [element.unchanged];
  }
}

/** Java's UUID.nameUUIDFromBytes: version 3 without a name space. */
function nameBasedUuid(name: string): string {
  const hash = createHash('md5').update(name).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x30;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function baseType(name: string, typmod: number, settings: TypeSettings): ColumnType | null {
  switch (name) {
    case 'bool':
      return boolType;
    case 'int2':
      return int2Type;
    case 'int4':
      return int4Type;
    case 'int8':
      return int8Type;
    case 'oid':
      return oidType;
    case 'float4':
      return float4Type;
    case 'float8':
      return float8Type;
    case 'numeric':
      return numericType(typmod, settings);
    case 'money':
      return moneyType(settings);
    case 'text':
    case 'varchar':
    case 'bpchar':
    case 'char':
    case 'name':
    case 'citext':
      return textType(settings);
    case 'json':
      return textType(settings, named('STRING', 'io.debezium.data.Json'));
    case 'jsonb':
      return textType(settings, named('STRING', 'io.debezium.data.Json'), 1);
    case 'xml':
      return textType(settings, named('STRING', 'io.debezium.data.Xml'));
    case 'ltree':
      return textType(settings, named('STRING', 'io.debezium.data.Ltree'), 1);
    case 'uuid':
      return uuidType(settings);
    case 'bytea':
      return byteaType(settings);
    case 'bit':
      return bitType(false, typmod);
    case 'varbit':
      return bitType(true, typmod);
    case 'date':
      return dateType(settings);
    case 'time':
      return timeType(typmod, settings);
    case 'timetz':
      return timeTzType();
    case 'timestamp':
      return timestampType(typmod, settings);
    case 'timestamptz':
      return timestampTzType(typmod);
    case 'interval':
      return intervalType(settings);
    case 'inet':
    case 'cidr':
      return inetType(settings);
    case 'macaddr':
    case 'macaddr8':
      return macaddrType(settings);
    case 'point':
      return pointType();
    case 'hstore':
      return hstoreType(settings);
    case 'tsvector':
      return tsvectorType(settings);
    default:
      return ISN_TYPES.has(name) ? textType(settings, undefined, null) : null;
  }
}
