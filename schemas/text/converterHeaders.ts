/** A header converter made of a converter that needs no I/O, as Java's own converters serve for headers too. */
import type { Converter, HeaderConverter } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import { OutputBuffer } from '../outputBuffer.ts';

export class ConverterHeaders implements HeaderConverter {
  readonly #converter: Converter;

  constructor(converter: Converter) {
    this.#converter = converter;
  }

  fromConnect(topic: string, _name: string, schema: Schema | null, value: unknown): Uint8Array | null {
    const out = new OutputBuffer(256);
    return now(this.#converter.encoder(topic, schema)).encode(value, out) ? Buffer.from(out.written()) : null;
  }

  toConnect(topic: string, _name: string, bytes: Uint8Array | null): { schema: Schema | null; value: unknown } {
    if (bytes === null) return { schema: null, value: null };
    const decoder = now(this.#converter.decoder(topic, bytes, 0, bytes.length));
    return { schema: decoder.schema, value: decoder.decode(bytes, 0, bytes.length) };
  }
}

function now<T>(made: T | Promise<T>): T {
  if (made instanceof Promise)
    throw new ConnectError('CONFIG_INVALID', 'a converter that asks a registry cannot convert headers');
  return made;
}
