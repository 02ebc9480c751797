/** What a MySQL type is to us: its Connect schema, and how its bytes in the log and its text in a result set become the value: both the same value. */
import type { Schema, SchemaOptions } from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';

export interface ColumnType {
  schema(options: SchemaOptions): Schema;
  readonly binlog: ColumnWire;
  readonly text: ColumnWire;
  /** How a snapshot selects it: as it is, as a double, as a signed integer, or as a number without leading zeros. */
  readonly select: 'plain' | 'double' | 'signed' | 'number';
  /** Stands for null in a NOT NULL column, such as a zero date, and for a default that is CURRENT_TIMESTAMP. */
  readonly zero: unknown;
  /** A constant default as the catalogue has it; undefined = not published. Throws where it is none. */
  fromDefault(text: string): unknown;
}

export interface TypeSettings {
  readonly timePrecision: 'adaptive_time_microseconds' | 'connect' | 'isostring' | 'microseconds' | 'nanoseconds';
  readonly decimal: 'precise' | 'string' | 'double';
  readonly bigintUnsigned: 'long' | 'precise';
  readonly binary: 'bytes' | 'base64' | 'base64-url-safe' | 'hex';
}

export type ReadValue = (bytes: Buffer, start: number, end: number) => unknown;

export const byFunction = (decode: ReadValue): ColumnWire => ({ wire: 'function', decode });
export const byText = (fromText: (text: string) => unknown): ColumnWire =>
  byFunction((bytes, start, end) => fromText(bytes.toString('latin1', start, end)));
