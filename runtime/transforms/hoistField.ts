import { type Schema, Struct, type StructSchema, struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { schemaCache } from './schemaCache.ts';
import { settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  field: { type: 'STRING', importance: 'MEDIUM', documentation: 'Name of the field that will hold the whole.' },
});

/** HoistField: the key or value becomes a field of a new struct (or of a map, where there is no schema). */
class HoistField implements Transformation {
  readonly #side: Side;
  #field = '';

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    this.#field = settings(def, config).field;
  }

  readonly #hoisted = schemaCache((schema: Schema): StructSchema => struct([[this.#field, schema]]));

  apply<R extends ConnectRecord>(record: R): R {
    const schema = this.#side.schema(record);
    const value = this.#side.value(record);
    if (schema === null) return this.#side.with(record, null, { [this.#field]: value });
    const hoisted = this.#hoisted(schema);
    return this.#side.with(record, hoisted, new Struct(hoisted, [value]));
  }
}

export const hoistFieldPlugins = sidedPlugins('HoistField', def, side => new HoistField(side));
