/** Mappings from schemas: how the target is to index the fields that `fieldWriter` writes. */
import { decimalScale, type Schema } from '../../schemas/data/index.ts';
import type { RunField } from '../shared/changeRun.ts';
import { sourceKind } from '../shared/sourceKind.ts';
import type { FieldForms } from './fieldWriter.ts';

export interface FieldMapping {
  readonly type?: string;
  readonly properties?: Mapping;
  readonly [option: string]: unknown;
}
export type Mapping = Readonly<Record<string, FieldMapping>>;

/** Longer texts are not in the keyword field beside the text, as dynamic mapping has it. */
const KEYWORD_BYTES = 256;
/** Digits that survive a double, which the target makes of a number before it counts in the smallest unit. */
const MAX_SCALED_DIGITS = 15;

/** Fields without schema are left to the target. */
export function mappingOf(fields: readonly RunField[], forms: FieldForms): Mapping {
  const mapping: Record<string, FieldMapping> = {};
  for (const { name, schema } of fields) {
    if (name === '' || schema === null) continue;
    const mapped = fieldMapping(schema, forms);
    if (mapped !== null) mapping[name] = mapped;
  }
  return mapping;
}

const TEXT: FieldMapping = {
  type: 'text',
  fields: { keyword: { type: 'keyword', ignore_above: KEYWORD_BYTES } },
};
const KEYWORD: FieldMapping = { type: 'keyword' };

function fieldMapping(schema: Schema, forms: FieldForms): FieldMapping | null {
  switch (sourceKind(schema)) {
    case 'integer':
      return { type: { INT8: 'byte', INT16: 'short', INT32: 'integer' }[schema.type as string] ?? 'long' };
    case 'durationUs':
    case 'durationNs':
      return { type: 'long' };
    case 'float':
      return { type: schema.type === 'FLOAT32' ? 'float' : 'double' };
    case 'boolean':
      return { type: 'boolean' };
    case 'decimal':
      return forms.decimalsAsNumbers ? decimalNumber(schema) : KEYWORD;
    case 'variableScaleDecimal':
      return forms.decimalsAsNumbers ? { type: 'double' } : KEYWORD;
    case 'date':
    case 'isoDate':
    case 'timestampMs':
    case 'timestampUs':
    case 'timestampNs':
    case 'zonedTimestamp':
    case 'isoTimestamp':
      return { type: 'date' };
    case 'bytes':
      return { type: 'binary' };
    case 'string':
      return schema.name === 'io.debezium.data.Enum' ? KEYWORD : TEXT;
    case 'json':
      return TEXT;
    case 'array':
      return schema.type === 'ARRAY' ? fieldMapping(schema.valueSchema, forms) : null;
    case 'map':
      return mapMapping(schema, forms);
    case 'struct':
    case 'point':
    case 'geometry':
      return schema.type === 'STRUCT' ? objectMapping(schema.fields, forms) : null;
    case 'untyped':
      return null;
    default:
      return KEYWORD;
  }
}

/** Digits that a double would round are counted in the smallest unit, if that is known to fit. */
function decimalNumber(schema: Schema): FieldMapping {
  const scale = decimalScale(schema);
  const precision = Number(schema.parameters?.['connect.decimal.precision'] ?? Number.NaN);
  return precision <= MAX_SCALED_DIGITS && scale >= 0 && scale <= precision
    ? { type: 'scaled_float', scaling_factor: 10 ** scale }
    : { type: 'double' };
}

const objectMapping = (fields: readonly RunField[], forms: FieldForms): FieldMapping => ({
  type: 'object',
  properties: mappingOf(fields, forms),
});

/** The members of an object that stands for a map are not known before. */
function mapMapping(schema: Schema, forms: FieldForms): FieldMapping | null {
  if (schema.type !== 'MAP') return null;
  if (forms.compactMaps && schema.keySchema.type === 'STRING') return { type: 'object' };
  const entry = [
    { name: 'key', schema: schema.keySchema },
    { name: 'value', schema: schema.valueSchema },
  ];
  return objectMapping(entry, forms);
}

/** What `wanted` has and `there` has not, field by field; null = nothing. What is there stays as it is, whatever its type. */
export function missingFields(wanted: Mapping, there: Mapping): Mapping | null {
  const missing: Record<string, FieldMapping> = {};
  for (const [name, field] of Object.entries(wanted)) {
    const known = Object.hasOwn(there, name) ? there[name] : undefined;
    if (known === undefined) missing[name] = field;
    else if (field.properties !== undefined && known.properties !== undefined) {
      const inner = missingFields(field.properties, known.properties);
      if (inner !== null) missing[name] = { properties: inner };
    }
  }
  return Object.keys(missing).length === 0 ? null : missing;
}
