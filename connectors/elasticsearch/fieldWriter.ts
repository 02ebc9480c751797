/** Writers of the fields of documents, compiled from their schemas: exact JSON, dates in ISO 8601, bytes in base64. */
import { Decimal, type Schema, Struct } from '../../schemas/data/index.ts';
import {
  doubleText,
  floatText,
  textBlock,
  writeAscii,
  writeBase64,
  writeBlock,
  writeInt64,
  writeString,
} from '../../schemas/json/jsonBytes.ts';
import { plainJsonText } from '../../schemas/json/jsonWriter.ts';
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';
import { isoTimestampOf } from '../shared/isoText.ts';
import { formatTimestampUs } from '../shared/isoTime.ts';
import { sourceKind } from '../shared/sourceKind.ts';
import { bitText, textOf, variableScaleDecimal } from '../shared/textForm.ts';

/** Writes a value that is not null. Throws RangeError for one that is not of the schema. */
export type WriteField = (value: unknown, out: OutputBuffer) => void;

export interface FieldForms {
  readonly decimalsAsNumbers: boolean;
  readonly compactMaps: boolean;
}

/** Beyond, microseconds are more than a number holds exactly. */
const MAX_QUICK_MS = 9e12;

export function fieldWriter(schema: Schema | null, forms: FieldForms): WriteField {
  const kind = sourceKind(schema);
  switch (kind) {
    case 'integer':
      return (value, out) => {
        if (typeof value === 'number' && Number.isInteger(value)) writeAscii(out, String(value));
        else if (typeof value !== 'bigint' || !writeInt64(out, value)) throw unfit('a whole number');
      };
    case 'durationUs':
    case 'durationNs':
      return (value, out) => writeAscii(out, String(value));
    case 'float': {
      const text = schema?.type === 'FLOAT32' ? floatText : doubleText;
      return (value, out) => {
        if (typeof value !== 'number') throw unfit('a number');
        writeAscii(out, text(value));
      };
    }
    case 'boolean':
      return (value, out) => {
        if (typeof value !== 'boolean') throw unfit('true or false');
        writeAscii(out, value ? 'true' : 'false');
      };
    case 'string':
      return (value, out) => {
        if (typeof value !== 'string') throw unfit('a text');
        writeString(out, value);
      };
    case 'decimal':
      return decimalWriter(value => {
        if (!(value instanceof Decimal)) throw unfit('a decimal');
        return value;
      }, forms);
    case 'variableScaleDecimal':
      return decimalWriter(variableScaleDecimal, forms);
    case 'bytes':
      return (value, out) => {
        if (!(value instanceof Uint8Array)) throw unfit('bytes');
        writeBase64(out, value);
      };
    case 'bits':
      return (value, out) => writeString(out, bitText(value as Uint8Array, schema));
    case 'timestampMs':
      return (value, out) => {
        const ms = Number(value);
        if (Math.abs(ms) > MAX_QUICK_MS) writeAscii(out, quotedTimestamp(BigInt(value as bigint) * 1000n));
        else writeAscii(out, `"${isoTimestampOf(ms * 1000, null)}Z"`);
      };
    case 'timestampUs':
      return (value, out) => {
        const us = Number(value);
        if (!Number.isSafeInteger(us)) writeAscii(out, quotedTimestamp(BigInt(value as bigint)));
        else writeAscii(out, `"${isoTimestampOf(us, null)}Z"`);
      };
    case 'timestampNs':
      return (value, out) => writeAscii(out, `"${nanosText(BigInt(value as bigint))}Z"`);
    case 'isoTimestamp':
      return (value, out) => writeString(out, zoned(value as string));
    case 'array': {
      const item = nullable(fieldWriter(schema?.type === 'ARRAY' ? schema.valueSchema : null, forms));
      return (value, out) => {
        if (!Array.isArray(value)) throw unfit('a list');
        writeList(value, item, out);
      };
    }
    case 'map':
      return mapWriter(schema, forms);
    case 'struct':
    case 'point':
    case 'geometry':
      return structWriter(schema, forms);
    case 'untyped':
      return (value, out) => {
        if (!isFiniteJson(value)) throw unfit('a number that JSON has');
        out.writeUtf8(plainJsonText(value));
      };
    default: {
      const text = textOf(kind, schema);
      return (value, out) => writeString(out, text(value));
    }
  }
}

/** JSON like 1e400 is beyond every number; the text that stands for it would make the field one of texts. */
function isFiniteJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true;
  return Object.values(value).every(isFiniteJson);
}

const unfit = (what: string): RangeError => new RangeError(`it is not ${what}`);

/** The same with `null` for null. */
const nullable =
  (write: WriteField): WriteField =>
  (value, out) => {
    if (value === null || value === undefined) writeAscii(out, 'null');
    else write(value, out);
  };

const decimalWriter =
  (read: (value: unknown) => Decimal, { decimalsAsNumbers }: FieldForms): WriteField =>
  (value, out) => {
    const text = read(value).toString();
    writeAscii(out, decimalsAsNumbers ? text : `"${text}"`);
  };

const quotedTimestamp = (us: bigint): string => `"${formatTimestampUs(us)}Z"`;

function nanosText(ns: bigint): string {
  const rest = ((ns % 1000n) + 1000n) % 1000n;
  const text = formatTimestampUs((ns - rest) / 1000n);
  if (rest === 0n) return text;
  const [seconds, fraction = ''] = text.split('.');
  return `${seconds}.${fraction.padEnd(6, '0')}${String(rest).padStart(3, '0')}`.replace(/0+$/, '');
}

/** What has no zone is in UTC. */
const zoned = (text: string): string => (/(Z|[+-]\d\d(:?\d\d)?)$/.test(text.slice(10)) ? text : `${text}Z`);

function writeList(items: readonly unknown[], item: WriteField, out: OutputBuffer): void {
  out.writeByte(0x5b);
  for (let i = 0; i < items.length; i++) {
    if (i > 0) out.writeByte(0x2c);
    item(items[i], out);
  }
  out.writeByte(0x5d);
}

function mapWriter(schema: Schema | null, forms: FieldForms): WriteField {
  const [keySchema, valueSchema] = schema?.type === 'MAP' ? [schema.keySchema, schema.valueSchema] : [null, null];
  const key = nullable(fieldWriter(keySchema, forms));
  const entry = nullable(fieldWriter(valueSchema, forms));
  const isCompact = forms.compactMaps && keySchema?.type === 'STRING';
  return (value, out) => {
    if (!(value instanceof Map)) throw unfit('a map');
    let separator = isCompact ? '{' : '[';
    for (const [k, v] of value) {
      writeAscii(out, isCompact ? separator : `${separator}{"key":`);
      if (isCompact && typeof k !== 'string') throw unfit('a map with text keys');
      key(k, out);
      writeAscii(out, isCompact ? ':' : ',"value":');
      entry(v, out);
      if (!isCompact) out.writeByte(0x7d);
      separator = ',';
    }
    writeAscii(out, value.size === 0 ? (isCompact ? '{}' : '[]') : isCompact ? '}' : ']');
  };
}

function structWriter(schema: Schema | null, forms: FieldForms): WriteField {
  const fields = schema?.type === 'STRUCT' ? schema.fields : [];
  const labels = fields.map((f, i) => textBlock(`${i === 0 ? '{' : ','}${JSON.stringify(f.name)}:`));
  const writers = fields.map(f => nullable(fieldWriter(f.schema, forms)));
  return (value, out) => {
    if (!(value instanceof Struct)) throw unfit('a struct');
    for (let i = 0; i < writers.length; i++) {
      writeBlock(out, labels[i]!);
      writers[i]!(value.values[i], out);
    }
    writeAscii(out, writers.length === 0 ? '{}' : '}');
  };
}
