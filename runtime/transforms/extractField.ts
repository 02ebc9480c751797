import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { transformFailure } from './failure.ts';
import { fieldAt, isPlainMap, parseFieldPath, type SyntaxVersion, syntaxVersionKey } from './fieldPath.ts';
import { replaceNullWithDefault, settings } from './settings.ts';
import { type Side, sidedPlugins } from './side.ts';

const def = configDef({
  field: { type: 'STRING', importance: 'MEDIUM', documentation: 'The field that replaces the whole.' },
  'field.syntax.version': syntaxVersionKey,
  'replace.null.with.default': replaceNullWithDefault,
});

/** ExtractField: the key or value becomes one of its fields. A null stays null. */
class ExtractField implements Transformation {
  readonly #side: Side;
  #path: readonly string[] = [];
  #name = '';
  #replaceNull = true;

  constructor(side: Side) {
    this.#side = side;
  }

  configure(config: Config): void {
    const values = settings(def, config);
    this.#name = values.field;
    this.#path = parseFieldPath(values.field, values['field.syntax.version'] as SyntaxVersion);
    this.#replaceNull = values['replace.null.with.default'];
  }

  apply<R extends ConnectRecord>(record: R): R {
    const schema = this.#side.schema(record);
    const value = this.#side.value(record);
    const found = fieldAt(schema, value, this.#path);
    if (found === undefined) {
      if (schema === null && isPlainMap(value)) return this.#side.with(record, null, null);
      throw transformFailure('ExtractField', `there is no field "${this.#name}"`, record);
    }
    const filled = found.value ?? (this.#replaceNull ? (found.schema?.defaultValue ?? null) : null);
    return this.#side.with(record, found.schema, value === null || value === undefined ? null : filled);
  }
}

export const extractFieldPlugins = sidedPlugins('ExtractField', def, side => new ExtractField(side));
