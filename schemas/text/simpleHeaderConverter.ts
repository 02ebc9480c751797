/**
 * Java's SimpleHeaderConverter: header values as text literals that read back as the type they look like. Text that looks like nothing else is
 * a string. One difference: a fraction with more digits than FLOAT32 holds becomes FLOAT64, where Java rounds it.
 */
import type { HeaderConverter } from '../converter.ts';
import {
  array,
  DATE_NAME,
  Decimal,
  dateSchema,
  decimalSchema,
  map,
  primitive,
  type Schema,
  STRING,
  Struct,
  TIME_NAME,
  TIMESTAMP_NAME,
  timeSchema,
  timestampSchema,
} from '../data/index.ts';
import { ConnectError } from '../errors.ts';

interface Typed {
  /** null where no one schema serves: null values, lists of several types. */
  readonly schema: Schema | null;
  readonly value: unknown;
}

export class SimpleHeaderConverter implements HeaderConverter {
  fromConnect(_topic: string, _name: string, schema: Schema | null, value: unknown): Uint8Array | null {
    return value === null || value === undefined ? null : Buffer.from(literal(schema, value, false));
  }

  toConnect(_topic: string, _name: string, bytes: Uint8Array | null): { schema: Schema | null; value: unknown } {
    if (bytes === null) return { schema: null, value: null };
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    return parseLiteral(text) ?? { schema: STRING, value: text };
  }
}

const DAY_MS = 86_400_000;

function literal(schema: Schema | null, value: unknown, inner: boolean): string {
  switch (schema?.name) {
    case DATE_NAME:
      return new Date(Number(value) * DAY_MS).toISOString().slice(0, 10);
    case TIME_NAME:
      return new Date(Number(value)).toISOString().slice(11);
    case TIMESTAMP_NAME:
      return new Date(Number(value)).toISOString();
  }
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return inner ? `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : value;
  if (typeof value === 'number')
    return schema?.type.startsWith('FLOAT') && Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (typeof value === 'bigint' || typeof value === 'boolean' || value instanceof Decimal) return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) {
    const of = schema?.type === 'ARRAY' ? schema.valueSchema : null;
    return `[${value.map(item => literal(of, item, true)).join(',')}]`;
  }
  if (value instanceof Struct) {
    const shown = value.schema.fields.map(
      f => `${literal(STRING, f.name, true)}:${literal(f.schema, value.values[f.index], true)}`,
    );
    return `{${shown.join(',')}}`;
  }
  if (value instanceof Map) {
    const [k, v] = schema?.type === 'MAP' ? [schema.keySchema, schema.valueSchema] : [null, null];
    return `{${[...value].map(([key, item]) => `${literal(k, key, true)}:${literal(v, item, true)}`).join(',')}}`;
  }
  throw new ConnectError('DATA_INVALID', `a header value of type ${typeof value} has no text form`);
}

/** The value a text stands for; null where it is just text. */
function parseLiteral(text: string): Typed | null {
  const reader = new LiteralReader(text);
  const value = reader.value();
  return value !== null && reader.atEnd() ? value : null;
}

/** One token: a number, a date, a word. */
const token = /[^,:[\]{}"\s]+(?::\d\d:[\d.]+Z?)?/y;

class LiteralReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    return this.#at === this.#text.length;
  }

  value(): Typed | null {
    const first = this.#text[this.#at];
    if (first === '"') return this.#quoted();
    if (first === '[' || first === '{') {
      if (++this.#depth > 64) return null;
      const value = first === '[' ? this.#array() : this.#map();
      this.#depth--;
      return value;
    }
    token.lastIndex = this.#at;
    const word = token.exec(this.#text)?.[0];
    if (word === undefined) return null;
    this.#at += word.length;
    return typed(word);
  }

  #blanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #take(expected: string): boolean {
    this.#blanks();
    if (this.#text[this.#at] !== expected) return false;
    this.#at++;
    this.#blanks();
    return true;
  }

  #quoted(): Typed | null {
    let value = '';
    for (let p = this.#at + 1; p < this.#text.length; p++) {
      const c = this.#text[p];
      if (c === '"') {
        this.#at = p + 1;
        return { schema: STRING, value };
      }
      value += c === '\\' ? (this.#text[++p] ?? '') : c;
    }
    return null;
  }

  #array(): Typed | null {
    const items: Typed[] = [];
    this.#take('[');
    if (!this.#take(']')) {
      do {
        const item = this.value();
        if (item === null) return null;
        items.push(item);
      } while (this.#take(','));
      if (!this.#closed(']')) return null;
    }
    const of = commonSchema(items);
    return { schema: of && array(of), value: items.map(item => item.value) };
  }

  #map(): Typed | null {
    const [keys, values]: [Typed[], Typed[]] = [[], []];
    this.#take('{');
    if (!this.#take('}')) {
      do {
        const key = this.value();
        if (key === null || !this.#take(':')) return null;
        const value = this.value();
        if (value === null) return null;
        keys.push(key);
        values.push(value);
      } while (this.#take(','));
      if (!this.#closed('}')) return null;
    }
    const [k, v] = [commonSchema(keys), commonSchema(values)];
    return { schema: k && v && map(k, v), value: new Map(keys.map((key, i) => [key.value, values[i].value])) };
  }

  /** Takes the closing bracket, and no blanks after it: those would be part of a text. */
  #closed(bracket: string): boolean {
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }
}

function commonSchema(items: readonly Typed[]): Schema | null {
  const first = items[0]?.schema ?? null;
  if (first === null || first.type === 'ARRAY' || first.type === 'MAP') return null;
  return items.every(item => item.schema?.type === first.type && item.schema.name === first.name) ? first : null;
}

function typed(word: string): Typed | null {
  if (word === 'null') return { schema: null, value: null };
  if (word === 'true' || word === 'false') return { schema: primitive('BOOLEAN'), value: word === 'true' };
  if (/^\d{4}-\d\d-\d\d$/.test(word)) {
    const ms = Date.parse(`${word}T00:00:00Z`);
    return Number.isNaN(ms) ? null : { schema: dateSchema(), value: ms / DAY_MS };
  }
  if (/^\d\d:\d\d:\d\d\.\d{3}Z$/.test(word)) {
    const ms = Date.parse(`1970-01-01T${word}`);
    return Number.isNaN(ms) ? null : { schema: timeSchema(), value: ms };
  }
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(word)) {
    const ms = Date.parse(word);
    return Number.isNaN(ms) ? null : { schema: timestampSchema(), value: BigInt(ms) };
  }
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/.test(word) ? number(word) : null;
}

function number(word: string): Typed | null {
  if (/^[+-]?\d+$/.test(word)) {
    const value = BigInt(word.replace(/^\+/, ''));
    for (const [type, bits] of [
      ['INT8', 8],
      ['INT16', 16],
      ['INT32', 32],
    ] as const)
      if (BigInt.asIntN(bits, value) === value) return { schema: primitive(type), value: Number(value) };
    if (BigInt.asIntN(64, value) === value) return { schema: primitive('INT64'), value };
    return { schema: decimalSchema(0), value: new Decimal(value, 0) };
  }
  const value = Number(word);
  const single = Math.fround(value);
  if (Number(single.toPrecision(7)) === value) return { schema: primitive('FLOAT32'), value: single };
  if (Number.isFinite(value)) return { schema: primitive('FLOAT64'), value };
  const decimal = Decimal.parse(word);
  return { schema: decimalSchema(decimal.scale), value: decimal };
}
