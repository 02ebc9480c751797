/** Flatten: fields of nested structs and maps come to the top, their names joined by a delimiter. Arrays and maps inside structs stay as they are. */
import { optional, type Schema, Struct, type StructSchema, struct, withOptions } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { transformFailure } from './failure.ts';
import { isPlainMap } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  delimiter: {
    type: 'STRING',
    default: '.',
    importance: 'MEDIUM',
    documentation: 'Stands between the names of outer and inner field.',
  },
});

class Flatten implements Transformation {
  readonly #side: Side;
  #delimiter = '.';

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    this.#delimiter = settings(def, config).delimiter;
  }

  readonly #flat = schemaCache((schema: Schema): StructSchema | null => {
    if (schema.type !== 'STRUCT') return null;
    const fields: [string, Schema][] = [];
    this.#collect(schema, '', schema.optional, fields);
    return struct(fields, { ...schema });
  });

  #collect(schema: StructSchema, prefix: string, underOptional: boolean, fields: [string, Schema][]): void {
    for (const field of schema.fields) {
      const name = prefix + field.name;
      const inner = field.schema;
      if (inner.type === 'STRUCT')
        this.#collect(inner, name + this.#delimiter, underOptional || inner.optional, fields);
      else fields.push([name, underOptional ? optional(inner) : withOptions(inner, {})]);
    }
  }

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const schema = this.#flat(value.schema)!;
      const values: unknown[] = [];
      flatValues(value.schema, value, values);
      return this.#side.with(record, schema, new Struct(schema, values));
    }
    if (!isPlainMap(value)) throw transformFailure('Flatten', 'only structs and maps can be flattened', record);
    const flat: Record<string, unknown> = {};
    this.#flatMap(value, '', flat);
    return this.#side.with(record, null, flat);
  }

  #flatMap(value: Record<string, unknown>, prefix: string, into: Record<string, unknown>): void {
    for (const [name, inner] of Object.entries(value)) {
      if (isPlainMap(inner)) this.#flatMap(inner, prefix + name + this.#delimiter, into);
      else into[prefix + name] = inner;
    }
  }
}

function flatValues(schema: StructSchema, value: Struct | null, into: unknown[]): void {
  for (const field of schema.fields) {
    const inner = value === null ? null : value.values[field.index];
    if (field.schema.type === 'STRUCT') flatValues(field.schema, inner instanceof Struct ? inner : null, into);
    else into.push(inner);
  }
}

export const flattenPlugins = sidedPlugins('Flatten', def, side => new Flatten(side));
