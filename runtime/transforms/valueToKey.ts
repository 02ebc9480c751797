/** ValueToKey: the key becomes a struct (or map) of fields of the value. */
import { type Schema, Struct, type StructSchema, struct } from '../../schemas/data/index.ts';
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { settingError, transformFailure } from './failure.ts';
import { fieldAt, isPlainMap, parseFieldPath, readValues, type SyntaxVersion, syntaxVersionKey } from './fieldPath.ts';
import { schemaCache } from './schemaCache.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { plugin } from './side.ts';

const def = configDef({
  fields: { type: 'LIST', importance: 'HIGH', documentation: 'Fields of the value that make the key.' },
  'field.syntax.version': syntaxVersionKey,
  'replace.null.with.default': replaceNullWithDefault,
});

class ValueToKey implements Transformation {
  #fields: readonly { readonly name: string; readonly path: readonly string[] }[] = [];
  #replaceNull = true;

  configure(config: Config): void {
    const values = settings(def, config);
    if (values.fields.length === 0) throw settingError('ValueToKey', 'fields names no field');
    this.#replaceNull = values['replace.null.with.default'];
    const version = values['field.syntax.version'] as SyntaxVersion;
    this.#fields = values.fields.map(name => ({ name, path: parseFieldPath(name, version) }));
  }

  readonly #keySchema = schemaCache(
    (schema: Schema): StructSchema =>
      struct(
        this.#fields.map(({ name, path }) => {
          let inner: Schema | undefined = schema;
          for (const step of path) {
            const index: number | undefined = inner?.type === 'STRUCT' ? inner.fieldIndex.get(step) : undefined;
            inner = index === undefined || inner?.type !== 'STRUCT' ? undefined : inner.fields[index]!.schema;
          }
          if (inner === undefined) throw transformFailure('ValueToKey', `the value has no field "${name}"`);
          return [name, inner];
        }),
      ),
  );

  apply<R extends ConnectRecord>(record: R): R {
    const { value, valueSchema } = record;
    if (value instanceof Struct) {
      const keySchema = this.#keySchema(value.schema);
      const read = new Struct(value.schema, readValues(value, this.#replaceNull));
      const key = new Struct(
        keySchema,
        this.#fields.map(f => fieldAt(value.schema, read, f.path)?.value ?? null),
      );
      return { ...record, keySchema, key };
    }
    if (!isPlainMap(value)) throw transformFailure('ValueToKey', 'only structs and maps have fields', record);
    const key = Object.fromEntries(this.#fields.map(f => [f.name, fieldAt(valueSchema, value, f.path)?.value ?? null]));
    return { ...record, keySchema: null, key };
  }
}

export const valueToKeyPlugin = plugin('ValueToKey', def, () => new ValueToKey());
