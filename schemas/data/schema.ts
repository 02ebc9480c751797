/**
 * Connect's data model: what a value is, apart from how it is written.
 * Schemas are immutable and compared by identity on hot paths; `schemaKey` gives structural equality.
 */
export type SchemaType =
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FLOAT32'
  | 'FLOAT64'
  | 'BOOLEAN'
  | 'STRING'
  | 'BYTES'
  | 'ARRAY'
  | 'MAP'
  | 'STRUCT';

export interface Field {
  readonly name: string;
  readonly index: number;
  readonly schema: Schema;
}

interface SchemaBase {
  readonly optional: boolean;
  /** `undefined` = no default; `null` is a default of its own. */
  readonly defaultValue: unknown;
  readonly name: string | null;
  readonly version: number | null;
  readonly doc: string | null;
  readonly parameters: Readonly<Record<string, string>> | null;
}

export interface PrimitiveSchema extends SchemaBase {
  readonly type: Exclude<SchemaType, 'ARRAY' | 'MAP' | 'STRUCT'>;
}
export interface ArraySchema extends SchemaBase {
  readonly type: 'ARRAY';
  readonly valueSchema: Schema;
}
export interface MapSchema extends SchemaBase {
  readonly type: 'MAP';
  readonly keySchema: Schema;
  readonly valueSchema: Schema;
}
export interface StructSchema extends SchemaBase {
  readonly type: 'STRUCT';
  readonly fields: readonly Field[];
  readonly fieldIndex: ReadonlyMap<string, number>;
}
export type Schema = PrimitiveSchema | ArraySchema | MapSchema | StructSchema;

/** What may be said of any schema when it is made; all absent by default. */
export interface SchemaOptions {
  optional?: boolean;
  defaultValue?: unknown;
  name?: string | null;
  version?: number | null;
  doc?: string | null;
  parameters?: Readonly<Record<string, string>> | null;
}

function base(o: SchemaOptions): SchemaBase {
  return {
    optional: o.optional ?? false,
    defaultValue: o.defaultValue,
    name: o.name ?? null,
    version: o.version ?? null,
    doc: o.doc ?? null,
    parameters: o.parameters && Object.keys(o.parameters).length > 0 ? o.parameters : null,
  };
}

export const primitive = (type: PrimitiveSchema['type'], o: SchemaOptions = {}): PrimitiveSchema =>
  Object.freeze({ type, ...base(o) });

export const array = (valueSchema: Schema, o: SchemaOptions = {}): ArraySchema =>
  Object.freeze({ type: 'ARRAY', valueSchema, ...base(o) });

export const map = (keySchema: Schema, valueSchema: Schema, o: SchemaOptions = {}): MapSchema =>
  Object.freeze({ type: 'MAP', keySchema, valueSchema, ...base(o) });

/** Fields in order, as [name, schema] pairs. Throws on a repeated name. */
export function struct(fields: readonly (readonly [string, Schema])[], o: SchemaOptions = {}): StructSchema {
  const fieldIndex = new Map<string, number>();
  const list = fields.map(([name, schema], index) => {
    if (fieldIndex.has(name)) throw new TypeError(`struct ${o.name ?? ''} has two fields named "${name}"`);
    fieldIndex.set(name, index);
    return Object.freeze({ name, index, schema });
  });
  return Object.freeze({ type: 'STRUCT', fields: Object.freeze(list), fieldIndex, ...base(o) });
}

/** The same schema with other options; what is not named stays. */
export function withOptions(schema: Schema, o: SchemaOptions): Schema {
  return Object.freeze({ ...schema, ...base({ ...schema, ...o }) });
}

export const optional = (schema: Schema): Schema =>
  schema.optional ? schema : withOptions(schema, { optional: true });

export const INT8 = primitive('INT8');
export const INT16 = primitive('INT16');
export const INT32 = primitive('INT32');
export const INT64 = primitive('INT64');
export const FLOAT32 = primitive('FLOAT32');
export const FLOAT64 = primitive('FLOAT64');
export const BOOLEAN = primitive('BOOLEAN');
export const STRING = primitive('STRING');
export const BYTES = primitive('BYTES');
export const OPTIONAL_INT8 = primitive('INT8', { optional: true });
export const OPTIONAL_INT16 = primitive('INT16', { optional: true });
export const OPTIONAL_INT32 = primitive('INT32', { optional: true });
export const OPTIONAL_INT64 = primitive('INT64', { optional: true });
export const OPTIONAL_FLOAT32 = primitive('FLOAT32', { optional: true });
export const OPTIONAL_FLOAT64 = primitive('FLOAT64', { optional: true });
export const OPTIONAL_BOOLEAN = primitive('BOOLEAN', { optional: true });
export const OPTIONAL_STRING = primitive('STRING', { optional: true });
export const OPTIONAL_BYTES = primitive('BYTES', { optional: true });
