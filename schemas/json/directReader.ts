/**
 * A quick reader of JSON text for a schema, for text as converters write it: no blanks, fields in the schema's order, numbers of the plain kind.
 * It builds no objects on the way. Whatever looks different it leaves to the general reader, which is the judge of right and wrong: this one
 * never reports an error, only that it does not serve.
 */
import { utf8Text } from '../avro/binary.ts';
import { Decimal, decimalScale, isDecimal, type Schema, Struct } from '../data/index.ts';
import { longInteger } from '../transcode/parse.ts';

/** Returns the value that bytes[start, end) is the text of, or `undefined` where the general reader is to be asked. */
export type ReadDirect = (bytes: Buffer, start: number, end: number) => unknown;

interface Cursor {
  b: Buffer;
  at: number;
  /** Bytes from here on are none of the text's; those read by mistake are of no use, since the end is checked. */
  end: number;
  /** Set where the text is not as expected; what was read is then of no use. */
  failed: boolean;
}
type Reader = (c: Cursor) => unknown;

const NO_BYTES = Buffer.alloc(0);

export function compileDirectReader(schema: Schema, replaceNullWithDefault: boolean): ReadDirect {
  const read = nullable(schema, replaceNullWithDefault);
  const cursor: Cursor = { b: NO_BYTES, at: 0, end: 0, failed: false };
  return (bytes, start, end) => {
    cursor.b = bytes;
    cursor.at = start;
    cursor.end = end;
    cursor.failed = false;
    const value = read(cursor);
    cursor.b = NO_BYTES;
    return cursor.failed || cursor.at !== end ? undefined : value;
  };
}

/** Steps over a text that must be next. */
function expect(c: Cursor, label: Uint8Array): boolean {
  const { b, at } = c;
  const { length } = label;
  for (let i = 0; i < length; i++) if (b[at + i] !== label[i]) return false;
  c.at = at + length;
  return true;
}

const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');

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
    if (c.b[c.at] !== 0x6e) return present(c);
    return expect(c, NULL) ? nullValue : failed(c);
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
        if (expect(c, TRUE)) return true;
        return expect(c, FALSE) ? false : failed(c);
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
          if (c.b[c.at++] !== 0x3a) failed(c);
          entries.set(key, value(c));
        });
        return entries;
      };
    }
    case 'STRUCT': {
      const labels = schema.fields.map((f, i) => Buffer.from(`${i === 0 ? '{' : ','}${JSON.stringify(f.name)}:`));
      const readers = schema.fields.map(f => nullable(f.schema, replace));
      return c => {
        const values = new Array<unknown>(labels.length);
        for (let i = 0; i < labels.length; i++) {
          if (c.failed || !expect(c, labels[i])) return failed(c);
          values[i] = readers[i](c);
        }
        return c.b[c.at++] === 0x7d ? new Struct(schema, values) : failed(c);
      };
    }
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

function list(c: Cursor, open: number, close: number, item: () => void): void {
  if (c.b[c.at++] !== open) {
    failed(c);
    return;
  }
  if (c.b[c.at] === close) {
    c.at++;
    return;
  }
  for (;;) {
    item();
    if (c.failed) return;
    const code = c.b[c.at++];
    if (code === close) return;
    if (code !== 0x2c) {
      failed(c);
      return;
    }
  }
}

/** A number up to 15 digits, else a bigint; 0 with `failed` set for anything but an integer. */
function integer(c: Cursor): number | bigint {
  const { b } = c;
  const start = c.at;
  let p = start;
  let code = b[p];
  const negative = code === 0x2d;
  if (negative) code = b[++p];
  const digits = p;
  let value = 0;
  for (; code >= 0x30 && code <= 0x39; code = b[++p]) value = value * 10 + code - 0x30;
  const length = p - digits;
  c.at = p;
  if (length === 0 || length > 30 || code === 0x2e || code === 0x65 || code === 0x45) {
    failed(c);
    return 0;
  }
  if (length > 1 && b[digits] === 0x30) failed(c);
  if (length > 15)
    return longInteger(b, start, p, pair) ? (BigInt(pair[1]) << 32n) | BigInt(pair[0] >>> 0) : tooLong(c);
  return negative ? 0 - value : value;
}

const pair = new Int32Array(2);

function tooLong(c: Cursor): number {
  failed(c);
  return 0;
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function float(c: Cursor): number {
  const { b } = c;
  const start = c.at;
  let p = start;
  for (let code = b[p]; (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2d; code = b[++p]);
  if (b[p] === 0x65 || b[p] === 0x45) {
    for (let code = b[++p]; (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d; code = b[++p]);
  }
  c.at = p;
  const text = b.toString('latin1', start, p);
  if (number.test(text)) return Number(text);
  failed(c);
  return 0;
}

function string(c: Cursor): string {
  const { b, end } = c;
  const start = c.at + 1;
  if (b[c.at] !== 0x22) {
    failed(c);
    return '';
  }
  let p = start;
  for (; p < end; p++) {
    const code = b[p];
    if (code === 0x22) {
      c.at = p + 1;
      return utf8Text(b, start, p);
    }
    if (code === 0x5c) return escaped(c);
    if (code < 0x20) break;
  }
  failed(c);
  return '';
}

function escaped(c: Cursor): string {
  const { b, end } = c;
  const start = c.at;
  let p = start + 1;
  while (p < end && b[p] !== 0x22) p += b[p] === 0x5c ? 2 : 1;
  c.at = p + 1;
  try {
    return JSON.parse(b.toString('utf8', start, p + 1)) as string;
  } catch {
    // Not a string: the general reader says what is wrong with it.
    failed(c);
    return '';
  }
}
