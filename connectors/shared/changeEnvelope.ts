/** Recognises change events: Debezium's envelope, by schema or by the shape of a plain JSON object, against flat records. */
import { createHash } from 'node:crypto';
import type { Schema, StructSchema } from '../../schemas/data/index.ts';

/** `op` of an envelope: c create, r read, u update, d delete, t truncate, m message. */
export const envelopeSchema = (schema: Schema | null): StructSchema | null =>
  schema?.type === 'STRUCT' &&
  schema.fieldIndex.has('op') &&
  schema.fieldIndex.has('source') &&
  (schema.fieldIndex.has('after') || schema.name?.endsWith('.Envelope') === true)
    ? schema
    : null;

/** Of JSON, whatever its members are called. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export const isPlainEnvelope = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value.op === 'string' && 'source' in value && ('after' in value || 'before' in value);

/** Fields that flattening transforms add: not columns unless the table has them. */
export const DELETED_FIELD = '__deleted';

export const isDeletedFlag = (value: unknown): boolean => value === true || value === 'true';

/** Added by flattening transforms with `add.fields=op`: tells an update, which may leave columns out, from a new row. */
export const OP_FIELD = '__op';

/** Debezium's stand-in for a column that the source did not carry, in each form it takes: as text, bytes, JSON, and in arrays. */
export class UnavailableValue {
  readonly #texts: readonly string[];
  readonly #bytes: Buffer;
  readonly #codes: readonly number[];
  readonly #uuid: string;

  constructor(placeholder: string) {
    const bytes = placeholder.startsWith('hex:') ? Buffer.from(placeholder.slice(4), 'hex') : Buffer.from(placeholder);
    const text = bytes.toString();
    const base64 = bytes.toString('base64');
    // bytea as base64, base64-url-safe and hex; hstore as JSON.
    this.#texts = [
      text,
      base64,
      base64.replaceAll('+', '-').replaceAll('/', '_'),
      bytes.toString('hex'),
      JSON.stringify({ [text]: text }),
    ];
    this.#bytes = bytes;
    this.#codes = [...bytes];
    this.#uuid = nameBasedUuid(bytes);
  }

  /** Whether the value is the placeholder, exactly. */
  is(value: unknown): boolean {
    // The other forms are longer.
    if (typeof value === 'string') return value.length >= this.#texts[0]!.length && this.#texts.includes(value);
    if (typeof value !== 'object' || value === null) return false;
    if (value instanceof Uint8Array) return value.length === this.#bytes.length && this.#bytes.equals(value);
    if (Array.isArray(value)) {
      if (value.length === 1) return value[0] === this.#uuid || this.is(value[0]);
      return value.length === this.#codes.length && this.#codes.every((code, i) => Number(value[i]) === code);
    }
    const text = this.#texts[0]!;
    if (value instanceof Map) return value.size === 1 && value.get(text) === text;
    return isPlainObject(value) && value[text] === text && Object.keys(value).length === 1;
  }
}

/** Java's UUID.nameUUIDFromBytes, which Debezium puts into arrays of UUIDs. */
function nameBasedUuid(name: Buffer): string {
  const hash = createHash('md5').update(name).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x30;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
