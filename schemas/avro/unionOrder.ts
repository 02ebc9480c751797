import type { Schema } from '../data/index.ts';

/**
 * Index of null in the Avro union of an optional schema, as Confluent's converter orders it: a default must be of a union's first branch, so that
 * null is second where the default is a value.
 */
export const nullBranch = (schema: Schema): 0 | 1 =>
  schema.defaultValue !== undefined && schema.defaultValue !== null ? 1 : 0;
