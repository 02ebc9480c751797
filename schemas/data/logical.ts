/**
 * Connect's own logical types. Their values stay those of the underlying type:
 * Date = number of days, Time = number of ms of the day, Timestamp = bigint ms since the epoch; Decimal = class Decimal.
 */
import { type PrimitiveSchema, primitive, type Schema, type SchemaOptions } from './schema.ts';

export const DECIMAL_NAME = 'org.apache.kafka.connect.data.Decimal';
export const DATE_NAME = 'org.apache.kafka.connect.data.Date';
export const TIME_NAME = 'org.apache.kafka.connect.data.Time';
export const TIMESTAMP_NAME = 'org.apache.kafka.connect.data.Timestamp';

/** BYTES, value class Decimal; parameter `scale`, and `connect.decimal.precision` where known. */
export function decimalSchema(scale: number, precision: number | null = null, o: SchemaOptions = {}): PrimitiveSchema {
  const parameters: Record<string, string> = { ...o.parameters, scale: String(scale) };
  if (precision !== null) parameters['connect.decimal.precision'] = String(precision);
  return primitive('BYTES', { ...o, name: DECIMAL_NAME, version: 1, parameters });
}
export const dateSchema = (o: SchemaOptions = {}): PrimitiveSchema =>
  primitive('INT32', { ...o, name: DATE_NAME, version: 1 });
export const timeSchema = (o: SchemaOptions = {}): PrimitiveSchema =>
  primitive('INT32', { ...o, name: TIME_NAME, version: 1 });
export const timestampSchema = (o: SchemaOptions = {}): PrimitiveSchema =>
  primitive('INT64', { ...o, name: TIMESTAMP_NAME, version: 1 });

export const isDecimal = (schema: Schema): boolean => schema.name === DECIMAL_NAME && schema.type === 'BYTES';
/** The scale parameter of a Decimal schema; 0 where it is missing. */
export const decimalScale = (schema: Schema): number => Number(schema.parameters?.scale ?? 0);
