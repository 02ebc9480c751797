/**
 * Paths to fields (KIP-821). V1: the whole text is one field name. V2: steps divided by dots; a step may be put in backticks, and a backtick inside is
 * escaped by a backslash.
 */
import { type Schema, Struct } from '../../schemas/data/index.ts';
import { settingError } from './failure.ts';
import { schemaCache } from './schemaCache.ts';

export type SyntaxVersion = 'V1' | 'V2';

export const syntaxVersionKey = {
  type: 'STRING',
  default: 'V1',
  oneOf: ['V1', 'V2'],
  ignoreCase: true,
  importance: 'HIGH',
  documentation: 'V1: the name is one field. V2: dots lead into nested fields; names with dots go in backticks.',
} as const;

export function parseFieldPath(text: string, version: SyntaxVersion): readonly string[] {
  if (version === 'V1') return [text];
  const steps: string[] = [];
  let at = 0;
  for (;;) {
    let step = '';
    if (text[at] === '`') {
      at++;
      for (; text[at] !== '`'; at++) {
        if (at >= text.length) throw settingError('field path', `incomplete backtick pair in "${text}"`);
        if (text[at] === '\\' && text[at + 1] === '`') at++;
        step += text[at];
      }
      at++;
      if (at < text.length && text[at] !== '.') {
        throw settingError('field path', `a dot must follow the backtick at position ${at} of "${text}"`);
      }
    } else {
      while (at < text.length && text[at] !== '.') step += text[at++];
    }
    steps.push(step);
    if (at >= text.length) return steps;
    at++;
  }
}

export interface Found {
  readonly schema: Schema | null;
  readonly value: unknown;
}

/** The field at a path; undefined where there is none. A null on the way gives null with the field's schema. */
export function fieldAt(schema: Schema | null, value: unknown, path: readonly string[]): Found | undefined {
  let here: Found = { schema, value };
  for (const step of path) {
    if (here.schema?.type === 'STRUCT') {
      const index = here.schema.fieldIndex.get(step);
      if (index === undefined) return undefined;
      here = {
        schema: here.schema.fields[index]!.schema,
        value: here.value instanceof Struct ? here.value.values[index] : null,
      };
    } else if (here.value === null || here.value === undefined) {
      return here.schema === null ? { schema: null, value: null } : undefined;
    } else if (isPlainMap(here.value)) {
      if (!(step in here.value)) return undefined;
      here = { schema: null, value: here.value[step] };
    } else {
      return undefined;
    }
  }
  return here;
}

/** Schemaless values: the objects that JSON without schemas gives. */
export const isPlainMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Struct) &&
  !(value instanceof Map) &&
  !(value instanceof Uint8Array);

const hasDefaults = schemaCache(
  (schema: Schema): boolean =>
    schema.type === 'STRUCT' && schema.fields.some(f => (f.schema.defaultValue ?? null) !== null),
);

/** All values of a struct, not to be changed; with `replaceNull`, a null in a field with a default reads as that default. */
export const readValues = (value: Struct, replaceNull: boolean): unknown[] =>
  replaceNull && hasDefaults(value.schema)
    ? value.schema.fields.map(f => value.values[f.index] ?? f.schema.defaultValue ?? null)
    : value.values;
