/** Text, bytes, ENUM, SET and JSON. */
import { utf8Text } from '../../../schemas/avro/binary.ts';
import type { ColumnWire } from '../../../schemas/transcode/layout.ts';
import { named, plain } from '../../shared/semanticSchemas.ts';
import { jsonText } from '../protocol/jsonBinary.ts';
import { textDecoding } from './charsets.ts';
import type { ColumnDef } from './columnDef.ts';
import { byFunction, type ColumnType, type TypeSettings } from './columnType.ts';
import { compactJson } from './compactJson.ts';

/** null where the character set is not read. */
export function textType(def: ColumnDef): ColumnType | null {
  const decoding = textDecoding(def.charset ?? 'utf8mb4');
  if (decoding === null) return null;
  return {
    schema: plain('STRING'),
    binlog: decoding === 'utf8' ? { wire: 'utf8' } : byFunction(decoding),
    text: { wire: 'utf8' },
    select: 'plain',
    zero: '',
    fromDefault: text => text,
  };
}

/** BINARY(n) is `length` bytes long, VARBINARY and BLOBs (length 0) as long as they are. */
export function binaryType(def: ColumnDef, settings: TypeSettings): ColumnType {
  const { length } = def;
  const padded = (bytes: Buffer): Buffer => {
    const out = Buffer.alloc(Math.max(length, bytes.length));
    bytes.copy(out);
    return out;
  };
  if (settings.binary === 'bytes') {
    const wire: ColumnWire = { wire: 'bytes' };
    return {
      schema: plain('BYTES'),
      binlog: length === 0 ? wire : { wire: 'bytes-mysql', length },
      text: wire,
      select: 'plain',
      zero: Buffer.alloc(length),
      fromDefault: text => padded(defaultBytes(text)),
    };
  }
  const encode = (bytes: Buffer): string => {
    if (settings.binary === 'hex') return bytes.toString('hex');
    const text = bytes.toString('base64');
    return settings.binary === 'base64' ? text : text.replace(/\+/g, '-').replace(/\//g, '_');
  };
  const wire = byFunction((bytes, start, end) => encode(padded(bytes.subarray(start, end))));
  return {
    schema: plain('STRING'),
    binlog: wire,
    text: wire,
    select: 'plain',
    zero: encode(Buffer.alloc(length)),
    fromDefault: text => encode(padded(defaultBytes(text))),
  };
}

/** The catalogue shows bytes as 0x…, MariaDB as text. */
const defaultBytes = (text: string): Buffer =>
  /^0x([0-9a-f]{2})*$/i.test(text) ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text, 'latin1');

/** Debezium marks commas inside of names. */
const allowed = (values: readonly string[]): string => values.map(value => value.replaceAll(',', '\\,')).join(',');

/** The number of the name; 0 is the empty text that stands for an invalid value. */
export function enumType(def: ColumnDef): ColumnType {
  const names = ['', ...def.values];
  return {
    schema: named('STRING', 'io.debezium.data.Enum', { allowed: allowed(def.values) }),
    binlog: { wire: 'name-le', names },
    text: { wire: 'utf8' },
    select: 'plain',
    zero: '',
    fromDefault: text => text,
  };
}

/** A bit a name, up to 64. */
export function setType(def: ColumnDef): ColumnType {
  const { values } = def;
  return {
    schema: named('STRING', 'io.debezium.data.EnumSet', { allowed: allowed(values) }),
    binlog: byFunction((bytes, start, end) => {
      let text = '';
      for (let i = 0; i < values.length; i++) {
        const p = start + (i >> 3);
        if (p < end && ((bytes[p]! >> (i & 7)) & 1) === 1) text = text === '' ? values[i]! : `${text},${values[i]}`;
      }
      return text;
    }),
    text: { wire: 'utf8' },
    select: 'plain',
    zero: '',
    fromDefault: text => text,
  };
}

/** Both the binary form of the log and the text of result sets become compact text. */
export const jsonType: ColumnType = {
  schema: named('STRING', 'io.debezium.data.Json'),
  binlog: byFunction(jsonText),
  text: byFunction((bytes, start, end) => compactJson(utf8Text(bytes, start, end))),
  select: 'plain',
  zero: '{}',
  fromDefault: () => undefined,
};
