/** The decoder that served last, per topic; a record it does not accept asks the converter. */
import type { ValueDecoder } from '../../../schemas/converter.ts';
import type { NamedConverter } from '../converters.ts';

export class DecoderCache {
  readonly className: string;
  readonly #named: NamedConverter;
  readonly #last = new Map<string, ValueDecoder>();

  constructor(named: NamedConverter) {
    this.className = named.className;
    this.#named = named;
  }

  get(topic: string, bytes: Uint8Array, start: number, end: number): ValueDecoder | undefined {
    const decoder = this.#last.get(topic);
    return decoder?.accepts(bytes, start, end) ? decoder : undefined;
  }

  async load(topic: string, bytes: Uint8Array, start: number, end: number): Promise<ValueDecoder> {
    const decoder = await this.#named.waitFor(this.#named.converter.decoder(topic, bytes, start, end));
    this.#last.set(topic, decoder);
    return decoder;
  }
}
