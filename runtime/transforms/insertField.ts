/** InsertField: adds the record's topic, partition, offset, timestamp or a fixed text as fields. A name may end in `!` (required) or `?` (optional, as without). */
import {
  optional,
  primitive,
  type Schema,
  STRING,
  Struct,
  type StructSchema,
  struct,
  timestampSchema,
} from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type SinkRecord, type Transformation } from '../api/index.ts';
import { settingError, transformFailure } from './failure.ts';
import { isPlainMap, readValues } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { optionalName, replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  'topic.field': optionalName('Field for the topic.'),
  'partition.field': optionalName('Field for the Kafka partition.'),
  'offset.field': optionalName('Field for the Kafka offset; sinks only.'),
  'timestamp.field': optionalName('Field for the record timestamp.'),
  'static.field': optionalName('Field for the fixed text of static.value.'),
  'static.value': optionalName('The fixed text.'),
  'replace.null.with.default': replaceNullWithDefault,
});

interface Insertion {
  readonly name: string;
  readonly schema: Schema;
  readonly value: (record: ConnectRecord) => unknown;
}

class InsertField implements Transformation {
  readonly #side: Side;
  #insertions: readonly Insertion[] = [];
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#replaceNull = values['replace.null.with.default'];
    const insertions: Insertion[] = [];
    const add = (spec: string | null, schema: Schema, value: Insertion['value']): void => {
      if (spec === null) return;
      const required = spec.endsWith('!');
      insertions.push({ name: spec.replace(/[!?]$/, ''), schema: required ? schema : optional(schema), value });
    };
    add(values['topic.field'], STRING, record => record.topic);
    add(values['partition.field'], primitive('INT32'), record => record.partition);
    add(values['offset.field'], primitive('INT64'), record => {
      const offset = (record as Partial<SinkRecord>).originalOffset;
      if (offset === undefined) throw transformFailure('InsertField', 'offset.field works in sinks only', record);
      return BigInt(offset);
    });
    add(values['timestamp.field'], timestampSchema(), record =>
      record.timestamp === null ? null : BigInt(record.timestamp),
    );
    if (values['static.field'] !== null && values['static.value'] === null) {
      throw settingError('InsertField', 'static.field needs static.value');
    }
    add(values['static.field'], STRING, () => values['static.value']);
    if (insertions.length === 0) throw settingError('InsertField', 'nothing to insert: name at least one field');
    this.#insertions = insertions;
  }

  readonly #widened = schemaCache((schema: Schema): StructSchema => {
    const fields = schema.type === 'STRUCT' ? schema.fields.map((f): [string, Schema] => [f.name, f.schema]) : [];
    return struct([...fields, ...this.#insertions.map((i): [string, Schema] => [i.name, i.schema])], { ...schema });
  });

  apply<R extends ConnectRecord>(record: R): R {
    const value = this.#side.value(record);
    if (value === null || value === undefined) return record;
    if (value instanceof Struct) {
      const schema = this.#widened(value.schema);
      return this.#side.with(
        record,
        schema,
        new Struct(schema, [...readValues(value, this.#replaceNull), ...this.#insertions.map(i => i.value(record))]),
      );
    }
    if (!isPlainMap(value)) throw transformFailure('InsertField', 'only structs and maps have fields', record);
    const added = Object.fromEntries(this.#insertions.map(i => [i.name, i.value(record)]));
    return this.#side.with(record, null, { ...value, ...added });
  }
}

export const insertFieldPlugins = sidedPlugins('InsertField', def, side => new InsertField(side));
