/** Transforms of record headers: DropHeaders, InsertHeader, HeaderFrom. */
import { primitive, type Schema, STRING, Struct, struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Header, type Transformation } from '../api/index.ts';
import { settingError, transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { plugin, type Side, sidedPlugins } from './side.ts';

const dropDef = configDef({
  headers: { type: 'LIST', importance: 'HIGH', documentation: 'Names of the headers to remove.' },
});

class DropHeaders implements Transformation {
  #names: ReadonlySet<string> = new Set();
  configure(config: Config): void {
    this.#names = new Set(settings(dropDef, config).headers);
  }
  apply<R extends ConnectRecord>(record: R): R {
    return { ...record, headers: record.headers.filter(header => !this.#names.has(header.name)) };
  }
}

const insertDef = configDef({
  header: { type: 'STRING', importance: 'HIGH', documentation: 'Name of the header to add.' },
  'value.literal': {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Its value: true, false and numbers become values of those types, all else is a string.',
  },
});

class InsertHeader implements Transformation {
  #header: Header = { name: '', schema: null, value: null };
  configure(config: Config): void {
    const values = settings(insertDef, config);
    this.#header = { name: values.header, ...literal(values['value.literal']) };
  }
  apply<R extends ConnectRecord>(record: R): R {
    return { ...record, headers: [...record.headers, this.#header] };
  }
}

/** The typed value of a literal, as Connect's `Values.parseString` infers it: the smallest integer type that holds it. */
function literal(text: string): { schema: Schema; value: unknown } {
  if (text === 'true' || text === 'false') return { schema: primitive('BOOLEAN'), value: text === 'true' };
  if (/^[+-]?\d+$/.test(text)) {
    const integer = BigInt(text);
    const fits = (bits: number): boolean => BigInt.asIntN(bits, integer) === integer;
    if (fits(32)) return { schema: primitive(fits(8) ? 'INT8' : fits(16) ? 'INT16' : 'INT32'), value: Number(integer) };
    if (fits(64)) return { schema: primitive('INT64'), value: integer };
  }
  if (/^[+-]?\d*\.\d+([eE][+-]?\d+)?$/.test(text)) return { schema: primitive('FLOAT64'), value: Number(text) };
  return { schema: STRING, value: text };
}

const fromDef = configDef({
  fields: { type: 'LIST', importance: 'HIGH', documentation: 'Fields to make headers of.' },
  headers: { type: 'LIST', importance: 'HIGH', documentation: 'Names of the headers, as many as fields.' },
  operation: {
    type: 'STRING',
    oneOf: ['move', 'copy'],
    importance: 'HIGH',
    documentation: 'move removes the fields from the record; copy leaves them.',
  },
  'replace.null.with.default': replaceNullWithDefault,
});

class HeaderFrom implements Transformation {
  readonly #side: Side;
  #fields: readonly string[] = [];
  #headers: readonly string[] = [];
  #move = false;
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(fromDef, config);
    if (values.fields.length !== values.headers.length || values.fields.length === 0) {
      throw settingError('HeaderFrom', 'fields and headers must name the same number, at least one');
    }
    this.#fields = values.fields;
    this.#headers = values.headers;
    this.#move = values.operation === 'move';
    this.#replaceNull = values['replace.null.with.default'];
  }

  readonly #without = schemaCache((schema: Schema): Schema => {
    if (schema.type !== 'STRUCT') return schema;
    const kept = schema.fields.filter(f => !this.#fields.includes(f.name));
    return struct(
      kept.map(f => [f.name, f.schema]),
      { ...schema },
    );
  });

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    if (value instanceof Struct) {
      const read = readValues(value, this.#replaceNull);
      const headers = this.#fields.map((name, i): Header => {
        const index = value.schema.fieldIndex.get(name);
        if (index === undefined) throw transformFailure('HeaderFrom', `there is no field "${name}"`, record);
        const schema = value.schema.fields[index]!.schema;
        return { name: this.#headers[i]!, schema, value: read[index] };
      });
      const next = { ...record, headers: [...record.headers, ...headers] };
      if (!this.#move) return next;
      const schema = this.#without(value.schema);
      const values = value.schema.fields.filter(f => !this.#fields.includes(f.name)).map(f => read[f.index]);
      return schema.type === 'STRUCT' ? this.#side.with(next, schema, new Struct(schema, values)) : next;
    }
    if (!isPlainMap(value)) throw transformFailure('HeaderFrom', 'only structs and maps have fields', record);
    const headers = this.#fields.map(
      (name, i): Header => ({ name: this.#headers[i]!, schema: null, value: value[name] ?? null }),
    );
    const next = { ...record, headers: [...record.headers, ...headers] };
    if (!this.#move) return next;
    const kept = Object.entries(value).filter(([name]) => !this.#fields.includes(name));
    return this.#side.with(next, null, Object.fromEntries(kept));
  }
}

export const headerPlugins = [
  plugin('DropHeaders', dropDef, () => new DropHeaders()),
  plugin('InsertHeader', insertDef, () => new InsertHeader()),
  ...sidedPlugins('HeaderFrom', fromDef, side => new HeaderFrom(side)),
];
