/**
 * What a PostgreSQL type is to us: its Connect schema, and how its text and binary forms become the value. Snapshot and stream, text and binary,
 * must give the same value; the wires are the fast form of the two functions.
 */
import type { Schema, SchemaOptions } from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';

export type BinaryReader = (bytes: Buffer, start: number, end: number) => unknown;

export interface ColumnType {
  schema(options: SchemaOptions): Schema;
  /** The value from the server's text form (DateStyle ISO, IntervalStyle iso_8601, TimeZone UTC). */
  fromText(text: string): unknown;
  /** The value from the server's binary send form; null where there is no reader, and the column must be asked for as text. */
  readonly fromBinary: BinaryReader | null;
  readonly textWire: ColumnWire;
  readonly binaryWire: ColumnWire | null;
  /** Stands for a default that is a function call, and for NOT NULL columns that a key-only old row does not carry. */
  readonly zero: unknown;
  /** Stands for an unchanged TOASTed value that the server did not send. */
  readonly unchanged: unknown;
  /** Whether column defaults of this type are published in the schema. */
  readonly hasDefault: boolean;
  /** A constant default as text becomes the value; `fromText` where absent. */
  fromDefault?(text: string): unknown;
}

export interface TypeSettings {
  readonly timePrecision:
    | 'adaptive'
    | 'adaptive_time_microseconds'
    | 'connect'
    | 'isostring'
    | 'microseconds'
    | 'nanoseconds';
  readonly decimal: 'precise' | 'string' | 'double';
  readonly interval: 'numeric' | 'string';
  readonly hstore: 'json' | 'map';
  readonly binary: 'bytes' | 'base64' | 'base64-url-safe' | 'hex';
  readonly moneyFractionDigits: number;
  /** Text of the unavailable value placeholder. */
  readonly placeholder: string;
}

type Parts = Pick<ColumnType, 'schema' | 'fromText' | 'zero'> & Partial<ColumnType>;

/** Completes a type: wires default to the functions, defaults are published, an unchanged value is null. */
export function columnType(parts: Parts): ColumnType {
  const fromBinary = parts.fromBinary ?? null;
  const { fromText } = parts;
  return {
    fromBinary,
    hasDefault: true,
    unchanged: null,
    textWire: { wire: 'function', decode: (bytes, start, end) => fromText(bytes.toString('utf8', start, end)) },
    binaryWire: fromBinary === null ? null : { wire: 'function', decode: fromBinary },
    ...parts,
  };
}

export const utf8: BinaryReader = (bytes, start, end) => bytes.toString('utf8', start, end);
