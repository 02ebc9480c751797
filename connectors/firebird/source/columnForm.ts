/** What all kinds of columns have in events, and the pieces that they are made of. */
import { type PrimitiveSchema, primitive, type Schema, type SchemaOptions } from '../../../schemas/data/index.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';
import type { RowBuffer } from './rowBuffer.ts';

export interface ColumnType {
  schema(options: SchemaOptions): Schema;
  readonly wire: ColumnWire;
  /** The expression that a snapshot selects; `name` is quoted. */
  select(name: string): string;
  writeImage(out: RowBuffer, bytes: Buffer, at: number): void;
  /** Of a value that is not null. */
  writeSelected(out: RowBuffer, value: unknown): void;
  /** Set for blobs, whose values do not lie in the record. */
  readonly blob?: 'text' | 'binary';
}

export const plain = (name: string): string => name;
export const castTo = (type: string) => (name: string) => `cast(${name} as ${type})`;
export const named =
  (type: Parameters<typeof primitive>[0], name: string) =>
  (options: SchemaOptions): Schema =>
    primitive(type, { ...options, name, version: 1 });
export const simple =
  (schema: PrimitiveSchema) =>
  (options: SchemaOptions): Schema =>
    primitive(schema.type, options);
