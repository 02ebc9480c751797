/** The fields of a generated row: their schemas, and how they lie in the row's bytes (as a PostgreSQL COPY BINARY tuple). */
import { ConnectError } from '../../runtime/api/index.ts';
import {
  BOOLEAN,
  FLOAT64,
  INT32,
  INT64,
  type PrimitiveSchema,
  STRING,
  type StructSchema,
  struct,
  timestampSchema,
} from '../../schemas/data/index.ts';
import type { ColumnWire, Layout } from '../../schemas/transcode/layout.ts';

export type FieldType = 'int' | 'long' | 'double' | 'boolean' | 'string' | 'timestamp';

export interface GeneratedField {
  readonly name: string;
  readonly type: FieldType;
}

const schemas: Readonly<Record<FieldType, PrimitiveSchema>> = {
  int: INT32,
  long: INT64,
  double: FLOAT64,
  boolean: BOOLEAN,
  string: STRING,
  timestamp: timestampSchema(),
};
const wires: Readonly<Record<FieldType, ColumnWire>> = {
  int: { wire: 'int32be' },
  long: { wire: 'int64be' },
  double: { wire: 'float64be' },
  boolean: { wire: 'bool8' },
  string: { wire: 'utf8' },
  timestamp: { wire: 'int64be' },
};

/** Parses `name:type,…`. Throws CONFIG_INVALID. */
export function parseFields(text: string): GeneratedField[] {
  const fields = text.split(',').map(part => {
    const [name, type] = part.split(':').map(s => s.trim());
    if (!name || !/^[A-Za-z_]\w*$/.test(name)) throw invalid(`"${part.trim()}" has no usable name`);
    if (type === undefined || !Object.hasOwn(schemas, type)) {
      throw invalid(`the type of "${name}" must be one of ${Object.keys(schemas).join(', ')}`);
    }
    return { name, type: type as FieldType };
  });
  if (new Set(fields.map(f => f.name)).size < fields.length) throw invalid('a name is used twice');
  if (fields[0]!.type !== 'long') throw invalid(`the first field, "${fields[0]!.name}", is the key and must be a long`);
  return fields;
}

const invalid = (why: string): ConnectError => new ConnectError('CONFIG_INVALID', why);

export interface RowShape {
  readonly fields: readonly GeneratedField[];
  readonly keySchema: StructSchema;
  readonly valueSchema: StructSchema;
  readonly keyLayout: Layout;
  readonly valueLayout: Layout;
}

export function rowShape(topic: string, fields: readonly GeneratedField[]): RowShape {
  const name = topic.replace(/[^A-Za-z0-9_.]/g, '_');
  const columns = fields.map((field, i) => ({ field: i, column: wires[field.type] }));
  const keyColumns = columns.map(({ column }, i) =>
    i === 0 ? { field: 0, column } : { field: -1, column: { wire: 'skip' as const } },
  );
  return {
    fields,
    keySchema: struct([[fields[0]!.name, INT64]], { name: `${name}.Key` }),
    valueSchema: struct(
      fields.map(field => [field.name, schemas[field.type]] as const),
      { name: `${name}.Value` },
    ),
    keyLayout: { kind: 'row', slot: 0, format: 'pg-copy', columns: keyColumns },
    valueLayout: { kind: 'row', slot: 0, format: 'pg-copy', columns },
  };
}
