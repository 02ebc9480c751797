/** ReplaceField: keeps, drops and renames fields. */
import { type Schema, Struct, type StructSchema, struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { settingError, transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  exclude: {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: 'Fields to drop. Goes before include.',
    aliases: ['blacklist'],
  },
  include: {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: 'Fields to keep; empty = all.',
    aliases: ['whitelist'],
  },
  renames: { type: 'LIST', default: [], importance: 'MEDIUM', documentation: 'Renames as old:new.' },
  'replace.null.with.default': replaceNullWithDefault,
});

interface Plan {
  readonly schema: StructSchema;
  readonly from: readonly number[];
}

class ReplaceField implements Transformation {
  readonly #side: Side;
  #exclude: ReadonlySet<string> = new Set();
  #include: ReadonlySet<string> = new Set();
  #renames: ReadonlyMap<string, string> = new Map();
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#exclude = new Set(values.exclude);
    this.#include = new Set(values.include);
    this.#replaceNull = values['replace.null.with.default'];
    this.#renames = new Map(
      values.renames.map(text => {
        const [from, to, ...more] = text.split(':').map(s => s.trim());
        if (!from || !to || more.length > 0) throw settingError('ReplaceField', `"${text}" in renames is not old:new`);
        return [from, to];
      }),
    );
  }

  #keeps(name: string): boolean {
    return !this.#exclude.has(name) && (this.#include.size === 0 || this.#include.has(name));
  }

  readonly #plan = schemaCache((schema: Schema): Plan | null => {
    if (schema.type !== 'STRUCT') return null;
    const kept = schema.fields.filter(f => this.#keeps(f.name));
    const fields = kept.map((f): [string, Schema] => [this.#renames.get(f.name) ?? f.name, f.schema]);
    return { schema: struct(fields, { ...schema }), from: kept.map(f => f.index) };
  });

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const { schema, from } = this.#plan(value.schema)!;
      const read = readValues(value, this.#replaceNull);
      return this.#side.with(
        record,
        schema,
        new Struct(
          schema,
          from.map(i => read[i]),
        ),
      );
    }
    if (!isPlainMap(value)) throw transformFailure('ReplaceField', 'only structs and maps have fields', record);
    const entries = Object.entries(value).filter(([name]) => this.#keeps(name));
    return this.#side.with(
      record,
      null,
      Object.fromEntries(entries.map(([name, v]) => [this.#renames.get(name) ?? name, v])),
    );
  }
}

export const replaceFieldPlugins = sidedPlugins('ReplaceField', def, side => new ReplaceField(side));
