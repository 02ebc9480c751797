/** Cast: changes the type of some fields, or of the whole key or value. Narrowing wraps around, as Java's casts do. */
import { Decimal, type PrimitiveSchema, primitive, type Schema, Struct, struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { settingError, transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

type Target = Exclude<PrimitiveSchema['type'], 'BYTES'>;
const TARGETS: readonly string[] = ['INT8', 'INT16', 'INT32', 'INT64', 'FLOAT32', 'FLOAT64', 'BOOLEAN', 'STRING'];

const def = configDef({
  spec: {
    type: 'LIST',
    importance: 'HIGH',
    documentation: `Fields and their new types as field:type, or one type for the whole: ${TARGETS.join(', ').toLowerCase()}.`,
  },
  'replace.null.with.default': replaceNullWithDefault,
});

class Cast implements Transformation {
  readonly #side: Side;
  #fields: ReadonlyMap<string, Target> = new Map();
  #whole: Target | null = null;
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const { spec, 'replace.null.with.default': replaceNull } = settings(def, config);
    this.#replaceNull = replaceNull;
    const fields = new Map<string, Target>();
    for (const part of spec) {
      const at = part.lastIndexOf(':');
      const type = part
        .slice(at + 1)
        .trim()
        .toUpperCase();
      if (!TARGETS.includes(type)) throw settingError('Cast', `"${part}" names no type to cast to`);
      if (at < 0) this.#whole = type as Target;
      else fields.set(part.slice(0, at).trim(), type as Target);
    }
    if (this.#whole !== null && fields.size > 0) {
      throw settingError('Cast', 'spec names both fields and a type for the whole; choose one');
    }
    this.#fields = fields;
  }

  readonly #castSchema = schemaCache((schema: Schema): Schema => {
    if (schema.type !== 'STRUCT') return schema;
    return struct(
      schema.fields.map(f => {
        const target = this.#fields.get(f.name);
        return [f.name, target === undefined ? f.schema : castField(f.schema, target)];
      }),
      { ...schema },
    );
  });

  readonly #wholeSchema = schemaCache((schema: Schema): Schema => castField(schema, this.#whole!));

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    const schema = this.#side.schema(record);
    if (this.#whole !== null) {
      const cast = castValue(value, schema, this.#whole, record);
      return this.#side.with(record, schema && this.#wholeSchema(schema), cast);
    }
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const changed = this.#castSchema(value.schema);
      if (changed.type !== 'STRUCT') return record;
      const read = readValues(value, this.#replaceNull);
      const values = value.schema.fields.map(f => {
        const raw = read[f.index];
        const target = this.#fields.get(f.name);
        return target === undefined ? raw : castValue(raw, f.schema, target, record);
      });
      return this.#side.with(record, changed, new Struct(changed, values));
    }
    if (isPlainMap(value)) {
      const entries = Object.entries(value).map(([name, v]) => {
        const target = this.#fields.get(name);
        return [name, target === undefined ? v : castValue(v, null, target, record)];
      });
      return this.#side.with(record, null, Object.fromEntries(entries));
    }
    throw transformFailure('Cast', 'only structs and maps have fields; give one type to cast the whole', record);
  }
}

function castField(schema: Schema, target: Target): Schema {
  const hasDefault = schema.defaultValue !== undefined;
  return primitive(target, {
    optional: schema.optional,
    ...(hasDefault && { defaultValue: castValue(schema.defaultValue, schema, target) }),
  });
}

function castValue(value: unknown, schema: Schema | null, target: Target, record?: ConnectRecord): unknown {
  if (value === null || value === undefined) return null;
  const refuse = (): never => {
    throw transformFailure('Cast', `${typeof value} value cannot be cast to ${target.toLowerCase()}`, record);
  };
  if (target === 'STRING') return toText(value, schema) ?? refuse();
  if (target === 'BOOLEAN') {
    if (typeof value === 'boolean') return value;
    if (typeof value === 'string')
      return value.toLowerCase() === 'true' ? true : value.toLowerCase() === 'false' ? false : refuse();
    if (typeof value === 'number') return value !== 0;
    return typeof value === 'bigint' ? value !== 0n : refuse();
  }
  if (target === 'FLOAT32' || target === 'FLOAT64') {
    const number = toNumber(value) ?? refuse();
    return target === 'FLOAT32' ? Math.fround(number) : number;
  }
  const integer = toInteger(value) ?? refuse();
  if (target === 'INT64') return BigInt.asIntN(64, integer);
  return Number(BigInt.asIntN(target === 'INT8' ? 8 : target === 'INT16' ? 16 : 32, integer));
}

function toText(value: unknown, schema: Schema | null): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof Decimal || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : undefined;
  const floating = schema?.type === 'FLOAT32' || schema?.type === 'FLOAT64';
  return floating && Number.isInteger(value) ? `${value}.0` : String(value);
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint' || value instanceof Decimal) return Number(value.toString());
  if (typeof value === 'string' && value.trim() !== '') {
    const number = Number(value);
    return Number.isNaN(number) && value.trim() !== 'NaN' ? undefined : number;
  }
  return undefined;
}

function toInteger(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
  if (value instanceof Decimal)
    return value.scale > 0 ? value.unscaled / 10n ** BigInt(value.scale) : value.withScale(0).unscaled;
  return typeof value === 'string' && /^[+-]?\d+$/.test(value.trim()) ? BigInt(value.trim()) : undefined;
}

export const castPlugins = sidedPlugins('Cast', def, side => new Cast(side));
