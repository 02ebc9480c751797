import { parseAvroSchema } from '../avro/avroSchema.ts';
import { compileEncoder, type EncodeValue } from '../avro/compileEncoder.ts';
import { avroSchemaText, scrubName } from '../avro/fromConnect.ts';
import type { Schema } from '../data/index.ts';

const writers = { true: new WeakMap<Schema, EncodeValue>(), false: new WeakMap<Schema, EncodeValue>() };

/** Writes one Connect value as its Avro schema says, union branch included: for constants and column functions. Names do not matter for bytes. */
export function valueWriter(schema: Schema, replaceNullWithDefault: boolean): EncodeValue {
  const known = writers[`${replaceNullWithDefault}`];
  let writer = known.get(schema);
  if (writer === undefined) {
    const type = parseAvroSchema(avroSchemaText(schema, { scrubInvalidNames: true }));
    writer = compileEncoder(schema, type, { replaceNullWithDefault, avroName: scrubName });
    known.set(schema, writer);
  }
  return writer;
}
