/** JSON as text: for people and for values without schema. */
import { Decimal, type Schema, Struct } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { OutputBuffer } from '../outputBuffer.ts';
import { compileJsonEncoder, type JsonOptions } from './compileJsonEncoder.ts';
import { doubleText, stringText } from './jsonBytes.ts';

export type WriteJson = (value: unknown) => string;

export function compileJsonWriter(schema: Schema, options: JsonOptions): WriteJson {
  const encode = compileJsonEncoder(schema, options);
  const out = new OutputBuffer(256);
  return value => {
    out.reset();
    encode(value, out);
    return out.written().toString();
  };
}

/** JSON text of a value without schema: plain objects, Maps, Structs, bigints and bytes included. */
export function plainJsonText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringText(value);
    case 'number':
      return Number.isInteger(value) ? String(value) : doubleText(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      if (value === undefined) return 'null';
      throw new ConnectError('DATA_INVALID', `a ${typeof value} has no JSON form`);
  }
  if (value === null) return 'null';
  if (value instanceof Uint8Array)
    return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`;
  if (value instanceof Decimal) return value.toString();
  if (Array.isArray(value)) return `[${value.map(plainJsonText).join(',')}]`;
  if (value instanceof Struct) {
    const members = value.schema.fields.map(f => `${JSON.stringify(f.name)}:${plainJsonText(value.values[f.index])}`);
    return `{${members.join(',')}}`;
  }
  const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  if (entries.every(([k]) => typeof k === 'string'))
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${plainJsonText(v)}`).join(',')}}`;
  return `[${entries.map(([k, v]) => `[${plainJsonText(k)},${plainJsonText(v)}]`).join(',')}]`;
}
