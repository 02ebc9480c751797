/** Values of several parts in PostgreSQL's text forms: arrays, hstore, vectors. */
import { type Schema, Struct } from '../../../schemas/data/index.ts';
import { sourceKind } from '../../shared/sourceKind.ts';
import { textOf } from '../../shared/textForm.ts';

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** `{…}` of a value of an ARRAY schema, or of any JavaScript array. */
export function arrayLiteral(schema: Schema | null): (value: unknown) => string {
  const element = schema?.type === 'ARRAY' ? schema.valueSchema : null;
  const kind = sourceKind(element);
  const nested = kind === 'array' ? arrayLiteral(element) : null;
  const text = kind === 'bytes' ? hexText : textOf(kind, element);
  const literal = (value: unknown): string => {
    if (!Array.isArray(value)) {
      if (typeof value === 'string') return value;
      throw new RangeError('it is no array');
    }
    const parts = value.map(item => {
      if (item === null || item === undefined) return 'NULL';
      if (nested) return nested(item);
      return Array.isArray(item) ? literal(item) : quoted(text(item));
    });
    return `{${parts.join(',')}}`;
  };
  return literal;
}

const hexText = (value: unknown): string => `\\x${Buffer.from(value as Uint8Array).toString('hex')}`;

/** `"k"=>"v"` of a map, an object, or the JSON text of one. */
export function hstoreLiteral(value: unknown): string {
  const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  if (typeof parsed !== 'object' || parsed === null) throw new RangeError('it is no map');
  const entries: [unknown, unknown][] = parsed instanceof Map ? [...parsed] : Object.entries(parsed);
  return entries.map(([k, v]) => `${quoted(String(k))}=>${v === null ? 'NULL' : quoted(String(v))}`).join(',');
}

/** pgvector: `[…]` of an array, `{i:v,…}/n` of a sparse one. */
export function vectorLiteral(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.join(',')}]`;
  if (!(value instanceof Struct)) throw new RangeError('it is no vector');
  const entries = value.get('vector');
  if (!(entries instanceof Map)) throw new RangeError('it is no sparse vector');
  return `{${[...entries].map(([i, v]) => `${i}:${v}`).join(',')}}/${value.get('dimensions')}`;
}
