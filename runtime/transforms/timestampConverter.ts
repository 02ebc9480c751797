/** TimestampConverter: one field, or the whole, between text, epoch numbers and Connect's Date, Time and Timestamp. */
import {
  DATE_NAME,
  dateSchema,
  primitive,
  type Schema,
  Struct,
  type StructSchema,
  struct,
  TIME_NAME,
  TIMESTAMP_NAME,
  timeSchema,
  timestampSchema,
} from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { type DateFormat, dateFormat } from './dateFormat.ts';
import { settingError, transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const PRECISIONS = ['seconds', 'milliseconds', 'microseconds', 'nanoseconds'] as const;
const DAY_MS = 86_400_000;
type Kind = 'string' | 'unix' | 'Date' | 'Time' | 'Timestamp';

const def = configDef({
  field: {
    type: 'STRING',
    default: '',
    importance: 'HIGH',
    documentation: 'The field; empty = the whole key or value.',
  },
  'target.type': {
    type: 'STRING',
    oneOf: ['string', 'unix', 'Date', 'Time', 'Timestamp'],
    importance: 'HIGH',
    documentation: 'What it becomes.',
  },
  format: {
    type: 'STRING',
    default: '',
    importance: 'MEDIUM',
    documentation: 'Pattern of java.text.SimpleDateFormat for text, in UTC.',
  },
  'unix.precision': {
    type: 'STRING',
    default: 'milliseconds',
    oneOf: PRECISIONS,
    importance: 'LOW',
    documentation: 'Unit of epoch numbers.',
  },
  'replace.null.with.default': replaceNullWithDefault,
});

class TimestampConverter implements Transformation {
  readonly #side: Side;
  #field = '';
  #replaceNull = true;
  #target: Kind = 'Timestamp';
  #format: DateFormat | null = null;
  #precision: (typeof PRECISIONS)[number] = 'milliseconds';

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#field = values.field;
    this.#replaceNull = values['replace.null.with.default'];
    this.#target = values['target.type'] as Kind;
    this.#precision = values['unix.precision'] as (typeof PRECISIONS)[number];
    if (this.#target === 'string' && values.format === '')
      throw settingError('TimestampConverter', 'target.type=string needs format');
    this.#format = values.format === '' ? null : dateFormat(values.format);
  }

  readonly #targetSchema = schemaCache((schema: Schema): Schema => {
    const o = { optional: schema.optional };
    switch (this.#target) {
      case 'string':
        return primitive('STRING', o);
      case 'unix':
        return primitive('INT64', o);
      case 'Date':
        return dateSchema(o);
      case 'Time':
        return timeSchema(o);
      case 'Timestamp':
        return timestampSchema(o);
    }
  });

  readonly #structSchema = schemaCache((schema: Schema): StructSchema | null =>
    schema.type !== 'STRUCT'
      ? null
      : struct(
          schema.fields.map(f => [f.name, f.name === this.#field ? this.#targetSchema(f.schema) : f.schema]),
          { ...schema },
        ),
  );

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    const schema = this.#side.schema(record);
    if (this.#field === '') {
      if (value === null && schema === null) return record;
      return this.#side.with(record, schema && this.#targetSchema(schema), this.#convert(value, schema, record));
    }
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const converted = this.#structSchema(value.schema)!;
      const read = readValues(value, this.#replaceNull);
      const values = value.schema.fields.map(f => {
        const raw = read[f.index];
        return f.name === this.#field ? this.#convert(raw, f.schema, record) : raw;
      });
      return this.#side.with(record, converted, new Struct(converted, values));
    }
    if (!isPlainMap(value)) throw transformFailure('TimestampConverter', 'only structs and maps have fields', record);
    return this.#side.with(record, null, { ...value, [this.#field]: this.#convert(value[this.#field], null, record) });
  }

  #convert(value: unknown, schema: Schema | null, record: ConnectRecord): unknown {
    if (value === null || value === undefined) return null;
    const timeMs = this.#toMs(value, schema, record);
    switch (this.#target) {
      case 'string':
        return this.#format!.format(Number(timeMs));
      case 'unix':
        return this.#fromMs(timeMs);
      case 'Timestamp':
        return timeMs;
      case 'Date':
        return Math.floor(Number(timeMs) / DAY_MS);
      case 'Time':
        return ((Number(timeMs) % DAY_MS) + DAY_MS) % DAY_MS;
    }
  }

  #toMs(value: unknown, schema: Schema | null, record: ConnectRecord): bigint {
    if (typeof value === 'string') {
      if (this.#format === null) throw transformFailure('TimestampConverter', 'text needs the setting format', record);
      const time = this.#format.parse(value);
      if (time === undefined) throw transformFailure('TimestampConverter', 'the text does not fit the format', record);
      return BigInt(time);
    }
    if (typeof value !== 'number' && typeof value !== 'bigint') {
      throw transformFailure('TimestampConverter', `a ${typeof value} is not a time`, record);
    }
    const integer = BigInt(value);
    if (schema?.name === DATE_NAME) return integer * BigInt(DAY_MS);
    if (schema?.name === TIME_NAME || schema?.name === TIMESTAMP_NAME) return integer;
    switch (this.#precision) {
      case 'seconds':
        return integer * 1000n;
      case 'milliseconds':
        return integer;
      case 'microseconds':
        return integer / 1000n;
      case 'nanoseconds':
        return integer / 1_000_000n;
    }
  }

  #fromMs(timeMs: bigint): bigint {
    switch (this.#precision) {
      case 'seconds':
        return timeMs / 1000n;
      case 'milliseconds':
        return timeMs;
      case 'microseconds':
        return timeMs * 1000n;
      case 'nanoseconds':
        return timeMs * 1_000_000n;
    }
  }
}

export const timestampConverterPlugins = sidedPlugins('TimestampConverter', def, side => new TimestampConverter(side));
