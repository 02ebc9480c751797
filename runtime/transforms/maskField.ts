/** MaskField: replaces fields by a given text or number, or by the empty value of their type. */
import { Decimal, decimalScale, isDecimal, type Schema, Struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { optionalName, replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  fields: { type: 'LIST', importance: 'HIGH', documentation: 'Fields to mask.' },
  replacement: optionalName('Value for text and number fields instead of the empty one.'),
  'replace.null.with.default': replaceNullWithDefault,
});

class MaskField implements Transformation {
  readonly #side: Side;
  #fields: ReadonlySet<string> = new Set();
  #replacement: string | null = null;
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#fields = new Set(values.fields);
    this.#replacement = values.replacement;
    this.#replaceNull = values['replace.null.with.default'];
  }

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const read = readValues(value, this.#replaceNull);
      const values = value.schema.fields.map(f => {
        const raw = read[f.index];
        return this.#fields.has(f.name) ? this.#mask(raw, f.schema, f.name, record) : raw;
      });
      return this.#side.with(record, value.schema, new Struct(value.schema, values));
    }
    if (!isPlainMap(value)) throw transformFailure('MaskField', 'only structs and maps have fields', record);
    const masked = Object.entries(value).map(([name, v]) => [
      name,
      this.#fields.has(name) ? this.#mask(v, null, name, record) : v,
    ]);
    return this.#side.with(record, null, Object.fromEntries(masked));
  }

  #mask(value: unknown, schema: Schema | null, field: string, record: ConnectRecord): unknown {
    if (value === null || value === undefined) return value;
    const replacement = this.#replacement;
    const number = (): number => {
      const parsed = Number(replacement);
      if (Number.isNaN(parsed))
        throw transformFailure('MaskField', `replacement does not fit the number field "${field}"`, record);
      return parsed;
    };
    if (typeof value === 'string') return replacement ?? '';
    if (typeof value === 'number') return replacement === null ? 0 : number();
    if (typeof value === 'bigint') return replacement === null ? 0n : BigInt(number());
    if (value instanceof Decimal) {
      const scale = schema && isDecimal(schema) ? decimalScale(schema) : value.scale;
      return replacement === null ? new Decimal(0n, scale) : Decimal.parse(replacement).withScale(scale);
    }
    if (replacement !== null)
      throw transformFailure('MaskField', `replacement does not fit the type of field "${field}"`, record);
    if (typeof value === 'boolean') return false;
    if (value instanceof Uint8Array) return Buffer.alloc(0);
    if (Array.isArray(value)) return [];
    if (value instanceof Map) return new Map();
    if (isPlainMap(value)) return {};
    throw transformFailure('MaskField', `field "${field}" is of a type that cannot be masked`, record);
  }
}

export const maskFieldPlugins = sidedPlugins('MaskField', def, side => new MaskField(side));
