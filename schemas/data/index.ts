export * from './decimal.ts';
export * from './logical.ts';
export * from './schema.ts';
export * from './struct.ts';
/**
 * Values by type: INT8–INT32, FLOAT32/64 number; INT64 bigint; BOOLEAN boolean; STRING string; BYTES Uint8Array (Decimal: class Decimal);
 * ARRAY unknown[]; MAP Map; STRUCT Struct; null only where optional.
 */
export type ConnectValue = unknown;
