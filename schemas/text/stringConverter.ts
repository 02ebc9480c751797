/** Values as text: a string as it is, anything else in JSON-like form. Reads text without knowing more. */
import type { Converter, ValueDecoder, ValueEncoder } from '../converter.ts';
import { Decimal, OPTIONAL_STRING, Struct } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { plainJsonText } from '../json/jsonWriter.ts';
import type { OutputBuffer } from '../outputBuffer.ts';

/** Node's names of the encodings that Java's `converter.encoding` may name. */
const encodings: ReadonlyMap<string, BufferEncoding> = new Map([
  ['UTF-8', 'utf8'],
  ['UTF8', 'utf8'],
  ['ISO-8859-1', 'latin1'],
  ['LATIN1', 'latin1'],
  ['US-ASCII', 'ascii'],
  ['UTF-16LE', 'utf16le'],
]);

/** The encoding called so, or null. */
export const textEncoding = (name: string): BufferEncoding | null => encodings.get(name.toUpperCase()) ?? null;

export class StringConverter implements Converter {
  readonly #encoder: ValueEncoder;
  readonly #decoder: ValueDecoder;

  constructor(encoding: BufferEncoding = 'utf8') {
    this.#encoder = {
      encode(value: unknown, out: OutputBuffer): boolean {
        if (value === null || value === undefined) return false;
        const text = textForm(value);
        if (encoding === 'utf8') out.writeUtf8(text);
        else out.writeBytes(Buffer.from(text, encoding));
        return true;
      },
      transcoder: () => null,
    };
    this.#decoder = {
      schema: OPTIONAL_STRING,
      accepts: () => true,
      decode: (bytes, start, end) => viewOf(bytes).toString(encoding, start, end),
    };
  }

  encoder(): ValueEncoder {
    return this.#encoder;
  }

  decoder(): ValueDecoder {
    return this.#decoder;
  }
}

/** What Java's toString() shows, near enough to be read: `Struct{id=1,name=lamp}` for structs. */
export function textForm(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'object':
      break;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      throw new ConnectError('DATA_INVALID', `a ${typeof value} has no text form`);
  }
  if (value instanceof Struct) {
    const shown = value.schema.fields.filter(f => value.values[f.index] !== null);
    return `Struct{${shown.map(f => `${f.name}=${textForm(value.values[f.index])}`).join(',')}}`;
  }
  if (value instanceof Decimal) return value.toString();
  return plainJsonText(value);
}

const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
