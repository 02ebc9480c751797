/** Resolved encoders by topic and schema identity, so that a record needs no promise; schemas are held weakly. */
import type { RowTranscoder, ValueEncoder } from '../../../schemas/converter.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import type { NamedConverter } from '../converters.ts';

interface TopicEncoders {
  schemaless: ValueEncoder | undefined;
  readonly bySchema: WeakMap<Schema, ValueEncoder>;
}

export class EncoderCache {
  readonly className: string;
  readonly #named: NamedConverter;
  readonly #topics = new Map<string, TopicEncoders>();
  readonly #transcoders = new WeakMap<ValueEncoder, WeakMap<Layout, RowTranscoder | 'none'>>();

  constructor(named: NamedConverter) {
    this.className = named.className;
    this.#named = named;
  }

  get(topic: string, schema: Schema | null): ValueEncoder | undefined {
    const encoders = this.#topics.get(topic);
    return schema === null ? encoders?.schemaless : encoders?.bySchema.get(schema);
  }

  async load(topic: string, schema: Schema | null): Promise<ValueEncoder> {
    const encoder = await this.#named.waitFor(this.#named.converter.encoder(topic, schema));
    let encoders = this.#topics.get(topic);
    if (encoders === undefined) {
      encoders = { schemaless: undefined, bySchema: new WeakMap() };
      this.#topics.set(topic, encoders);
    }
    if (schema === null) encoders.schemaless = encoder;
    else encoders.bySchema.set(schema, encoder);
    return encoder;
  }

  /** null = this converter has no fast path for the layout. */
  transcoder(encoder: ValueEncoder, layout: Layout): RowTranscoder | null {
    let byLayout = this.#transcoders.get(encoder);
    if (byLayout === undefined) this.#transcoders.set(encoder, (byLayout = new WeakMap()));
    let transcoder = byLayout.get(layout);
    if (transcoder === undefined) byLayout.set(layout, (transcoder = encoder.transcoder(layout) ?? 'none'));
    return transcoder === 'none' ? null : transcoder;
  }
}
