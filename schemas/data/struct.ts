import type { StructSchema } from './schema.ts';

/** A value of a STRUCT schema: one value per field, in field order. A missing optional value is null. */
export class Struct {
  readonly schema: StructSchema;
  readonly values: unknown[];

  constructor(schema: StructSchema, values: unknown[]) {
    this.schema = schema;
    this.values = values;
  }

  /** From named values; fields not named get their default, else null. Throws TypeError on an unknown name. */
  static of(schema: StructSchema, named: Readonly<Record<string, unknown>>): Struct {
    for (const name of Object.keys(named)) {
      if (!schema.fieldIndex.has(name)) throw new TypeError(`struct ${schema.name ?? ''} has no field "${name}"`);
    }
    return new Struct(
      schema,
      schema.fields.map(f => (f.name in named ? named[f.name] : (f.schema.defaultValue ?? null))),
    );
  }

  /** Throws TypeError on an unknown name. */
  get(name: string): unknown {
    const index = this.schema.fieldIndex.get(name);
    if (index === undefined) throw new TypeError(`struct ${this.schema.name ?? ''} has no field "${name}"`);
    return this.values[index];
  }
}
