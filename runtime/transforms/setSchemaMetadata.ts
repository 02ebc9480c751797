import { type Schema, Struct, withOptions } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { transformFailure } from './failure.ts';
import { readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { optionalName, replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  'schema.name': optionalName('New name of the schema.'),
  'schema.version': { type: 'INT', default: null, importance: 'HIGH', documentation: 'New version of the schema.' },
  'replace.null.with.default': replaceNullWithDefault,
});

/** SetSchemaMetadata: another name or version for the schema. */
class SetSchemaMetadata implements Transformation {
  readonly #side: Side;
  #name: string | null = null;
  #version: number | null = null;
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#name = values['schema.name'];
    this.#version = values['schema.version'];
    this.#replaceNull = values['replace.null.with.default'];
  }

  readonly #renamed = schemaCache(
    (schema: Schema): Schema =>
      withOptions(schema, {
        ...(this.#name !== null && { name: this.#name }),
        ...(this.#version !== null && { version: this.#version }),
      }),
  );

  apply<R extends ConnectRecord>(record: R): R {
    const schema = this.#side.schema(record);
    const value = this.#side.value(record);
    if (schema === null) {
      if (value === null || value === undefined) return record;
      throw transformFailure('SetSchemaMetadata', 'the record has no schema', record);
    }
    const renamed = this.#renamed(schema);
    const moved =
      value instanceof Struct && renamed.type === 'STRUCT'
        ? new Struct(renamed, readValues(value, this.#replaceNull))
        : value;
    return this.#side.with(record, renamed, moved);
  }
}

export const setSchemaMetadataPlugins = sidedPlugins('SetSchemaMetadata', def, side => new SetSchemaMetadata(side));
