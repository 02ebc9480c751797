/**
 * A quick reader of JSON text for a schema, for text as converters write it: no blanks, fields in the schema's order, numbers of the plain kind.
 * It builds no objects on the way. Whatever looks different it leaves to the general reader, which is the judge of right and wrong: this one
 * never reports an error, only that it does not serve.
 */
import { Decimal, decimalScale, isDecimal, type Schema, Struct } from '../data/index.ts';

/** Returns the value of the whole text, or `undefined` where the general reader is to be asked. */
export type ReadDirect = (text: string) => unknown;

interface Cursor {
  text: string;
  at: number;
  /** Set where the text is not as expected; what was read is then of no use. */
  failed: boolean;
}
type Reader = (c: Cursor) => unknown;

export function compileDirectReader(schema: Schema, replaceNullWithDefault: boolean): ReadDirect {
  const read = nullable(schema, replaceNullWithDefault);
  const cursor: Cursor = { text: '', at: 0, failed: false };
  return text => {
    cursor.text = text;
    cursor.at = 0;
    cursor.failed = false;
    const value = read(cursor);
    cursor.text = '';
    return cursor.failed || cursor.at !== text.length ? undefined : value;
  };
}

function failed(c: Cursor): null {
  c.failed = true;
  return null;
}

function nullable(schema: Schema, replace: boolean): Reader {
  const present = reader(schema, replace);
  const { defaultValue } = schema;
  const hasDefault = defaultValue !== undefined && defaultValue !== null;
  const nullValue = hasDefault && (!schema.optional || replace) ? defaultValue : schema.optional ? null : undefined;
  if (nullValue === undefined) return present;
  return c => {
    if (c.text.charCodeAt(c.at) !== 0x6e) return present(c);
    if (!c.text.startsWith('null', c.at)) return failed(c);
    c.at += 4;
    return nullValue;
  };
}

const limits = { INT8: 2 ** 7, INT16: 2 ** 15, INT32: 2 ** 31 } as const;

function reader(schema: Schema, replace: boolean): Reader {
  switch (schema.type) {
    case 'INT8':
    case 'INT16':
    case 'INT32': {
      const limit = limits[schema.type];
      return c => {
        const value = integer(c);
        return typeof value === 'number' && value < limit && value >= -limit ? value : failed(c);
      };
    }
    case 'INT64':
      return c => {
        const value = integer(c);
        if (typeof value === 'number') return BigInt(value);
        return BigInt.asIntN(64, value) === value ? value : failed(c);
      };
    case 'FLOAT32':
      return c => Math.fround(float(c));
    case 'FLOAT64':
      return float;
    case 'BOOLEAN':
      return c => {
        const value = c.text.startsWith('true', c.at);
        if (!value && !c.text.startsWith('false', c.at)) return failed(c);
        c.at += value ? 4 : 5;
        return value;
      };
    case 'STRING':
      return string;
    case 'BYTES': {
      const scale = decimalScale(schema);
      const decimal = isDecimal(schema);
      return c => {
        const text = string(c);
        if (!base64.test(text)) return failed(c);
        const bytes = Buffer.from(text, 'base64');
        return decimal ? Decimal.fromBytes(bytes, scale) : bytes;
      };
    }
    case 'ARRAY': {
      const item = nullable(schema.valueSchema, replace);
      return c => {
        const items: unknown[] = [];
        list(c, 0x5b, 0x5d, () => items.push(item(c)));
        return items;
      };
    }
    case 'MAP': {
      if (schema.keySchema.type !== 'STRING' || schema.keySchema.optional) return failed;
      const value = nullable(schema.valueSchema, replace);
      return c => {
        const entries = new Map<unknown, unknown>();
        list(c, 0x7b, 0x7d, () => {
          const key = string(c);
          if (c.text.charCodeAt(c.at++) !== 0x3a) failed(c);
          entries.set(key, value(c));
        });
        return entries;
      };
    }
    case 'STRUCT': {
      const labels = schema.fields.map((f, i) => `${i === 0 ? '{' : ','}${JSON.stringify(f.name)}:`);
      const readers = schema.fields.map(f => nullable(f.schema, replace));
      return c => {
        const values = new Array<unknown>(labels.length);
        for (let i = 0; i < labels.length; i++) {
          if (c.failed || !c.text.startsWith(labels[i], c.at)) return failed(c);
          c.at += labels[i].length;
          values[i] = readers[i](c);
        }
        return c.text.charCodeAt(c.at++) === 0x7d ? new Struct(schema, values) : failed(c);
      };
    }
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

function list(c: Cursor, open: number, close: number, item: () => void): void {
  if (c.text.charCodeAt(c.at++) !== open) {
    failed(c);
    return;
  }
  if (c.text.charCodeAt(c.at) === close) {
    c.at++;
    return;
  }
  for (;;) {
    item();
    if (c.failed) return;
    const code = c.text.charCodeAt(c.at++);
    if (code === close) return;
    if (code !== 0x2c) {
      failed(c);
      return;
    }
  }
}

/** A number up to 15 digits, else a bigint; 0 with `failed` set for anything but an integer. */
function integer(c: Cursor): number | bigint {
  const { text } = c;
  const start = c.at;
  let p = start;
  let code = text.charCodeAt(p);
  const negative = code === 0x2d;
  if (negative) code = text.charCodeAt(++p);
  const digits = p;
  let value = 0;
  for (; code >= 0x30 && code <= 0x39; code = text.charCodeAt(++p)) value = value * 10 + code - 0x30;
  const length = p - digits;
  c.at = p;
  if (length === 0 || length > 30 || code === 0x2e || code === 0x65 || code === 0x45) {
    failed(c);
    return 0;
  }
  if (length > 1 && text.charCodeAt(digits) === 0x30) failed(c);
  if (length > 15) return BigInt(text.slice(start, p));
  return negative ? 0 - value : value;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function float(c: Cursor): number {
  number.lastIndex = c.at;
  if (!number.test(c.text)) {
    failed(c);
    return 0;
  }
  const start = c.at;
  c.at = number.lastIndex;
  return Number(c.text.slice(start, c.at));
}

function string(c: Cursor): string {
  const { text } = c;
  const start = c.at + 1;
  if (text.charCodeAt(c.at) !== 0x22) {
    failed(c);
    return '';
  }
  let p = start;
  for (;;) {
    const code = text.charCodeAt(p);
    if (code === 0x22) break;
    if (code === 0x5c) return escaped(c);
    if (!(code >= 0x20)) {
      failed(c);
      return '';
    }
    p++;
  }
  c.at = p + 1;
  return text.slice(start, p);
}

function escaped(c: Cursor): string {
  const start = c.at;
  let p = start + 1;
  while (p < c.text.length && c.text.charCodeAt(p) !== 0x22) p += c.text.charCodeAt(p) === 0x5c ? 2 : 1;
  c.at = p + 1;
  try {
    return JSON.parse(c.text.slice(start, p + 1)) as string;
  } catch {
    // Not a string: the general reader says what is wrong with it.
    failed(c);
    return '';
  }
}
