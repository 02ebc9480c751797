import type { Schema } from '../../schemas/data/index.ts';

/** Remembers what a schema becomes, so that equal input keeps the identity of its output. */
export function schemaCache<T = Schema>(make: (schema: Schema) => T): (schema: Schema) => T {
  const known = new WeakMap<Schema, T>();
  return schema => {
    let made = known.get(schema);
    if (made === undefined) {
      made = make(schema);
      known.set(schema, made);
    }
    return made;
  };
}
