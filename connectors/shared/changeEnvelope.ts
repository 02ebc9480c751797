/** Recognises change events: Debezium's envelope, by schema or by the shape of a plain JSON object, against flat records. */
import type { Schema, StructSchema } from '../../schemas/data/index.ts';

/** `op` of an envelope: c create, r read, u update, d delete, t truncate, m message. */
export const envelopeSchema = (schema: Schema | null): StructSchema | null =>
  schema?.type === 'STRUCT' &&
  schema.fieldIndex.has('op') &&
  schema.fieldIndex.has('source') &&
  (schema.fieldIndex.has('after') || schema.name?.endsWith('.Envelope') === true)
    ? schema
    : null;

export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  (value.constructor === Object || Object.getPrototypeOf(value) === null);

export const isPlainEnvelope = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value.op === 'string' && 'source' in value && ('after' in value || 'before' in value);

/** Fields that flattening transforms add: not columns unless the table has them. */
export const DELETED_FIELD = '__deleted';

export const isDeletedFlag = (value: unknown): boolean => value === true || value === 'true';

/** Debezium's stand-in for a column that the source did not carry, in each form it takes. Only updates have it. */
export class UnavailableValue {
  readonly #text: string;
  readonly #bytes: Buffer;
  readonly #codes: readonly number[];

  constructor(placeholder: string) {
    this.#bytes = placeholder.startsWith('hex:') ? Buffer.from(placeholder.slice(4), 'hex') : Buffer.from(placeholder);
    this.#text = this.#bytes.toString();
    this.#codes = [...this.#bytes];
  }

  /** Whether the value is the placeholder, exactly. */
  is(value: unknown): boolean {
    if (typeof value === 'string') return value === this.#text;
    if (typeof value !== 'object' || value === null) return false;
    if (value instanceof Uint8Array) return value.length === this.#bytes.length && this.#bytes.equals(value);
    if (Array.isArray(value)) {
      if (value.length === 1) return this.is(value[0]);
      return value.length === this.#codes.length && this.#codes.every((code, i) => Number(value[i]) === code);
    }
    return value instanceof Map && value.size === 1 && value.get(this.#text) === this.#text;
  }
}
