/**
 * The Avro converter: Confluent's wire format, schemas in a registry. Encoders are made once per (topic, schema identity), decoders once per
 * schema id; a failed registration or look-up is not kept, so that a retry asks again.
 */
import type { Converter, RowTranscoder, ValueDecoder, ValueEncoder } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { asConnectError, ConnectError } from '../errors.ts';
import type { OutputBuffer } from '../outputBuffer.ts';
import type { SchemaRegistry } from '../registry/schemaRegistry.ts';
import { compileTranscoder } from '../transcode/compileTranscoder.ts';
import type { Layout } from '../transcode/layout.ts';
import { AvroDecoder } from './avroDecoder.ts';
import { avroTypeName, parseAvroSchema } from './avroSchema.ts';
import { compileEncoder, type EncodeValue } from './compileEncoder.ts';
import { framingOf, schemaIdOf } from './framing.ts';
import { avroSchemaText, scrubName } from './fromConnect.ts';
import type { SubjectNameStrategy } from './subjectName.ts';

export interface AvroConverterSettings {
  readonly isKey: boolean;
  readonly subjectName: SubjectNameStrategy;
  readonly autoRegisterSchemas: boolean;
  /** Without auto-registration: write with the newest registered schema instead of looking ours up. */
  readonly useLatestVersion: boolean;
  readonly replaceNullWithDefault: boolean;
  readonly scrubInvalidNames: boolean;
}

export class AvroConverter implements Converter {
  readonly #settings: AvroConverterSettings;
  readonly #registry: SchemaRegistry;
  readonly #encoders = new Map<string, WeakMap<Schema, ValueEncoder | Promise<ValueEncoder>>>();
  readonly #decoders = new Map<number, ValueDecoder | Promise<ValueDecoder>>();

  constructor(settings: AvroConverterSettings, registry: SchemaRegistry) {
    this.#settings = settings;
    this.#registry = registry;
  }

  encoder(topic: string, schema: Schema | null): ValueEncoder | Promise<ValueEncoder> {
    if (schema === null) return noSchemaEncoder;
    let bySchema = this.#encoders.get(topic);
    if (!bySchema) this.#encoders.set(topic, (bySchema = new WeakMap()));
    const known = bySchema.get(schema);
    if (known) return known;
    const encoders = bySchema;
    const made = this.#makeEncoder(topic, schema).then(
      encoder => {
        encoders.set(schema, encoder);
        return encoder;
      },
      error => {
        encoders.delete(schema);
        throw asConnectError(error, 'CONVERTER_FAILED', { place: { topic } });
      },
    );
    encoders.set(schema, made);
    return made;
  }

  decoder(topic: string, bytes: Uint8Array, start: number, end: number): ValueDecoder | Promise<ValueDecoder> {
    const id = schemaIdOf(bytes, start, end);
    const known = this.#decoders.get(id);
    if (known) return known;
    const made = this.#registry
      .schemaById(id)
      .then(text => {
        const decoder = new AvroDecoder(id, parseAvroSchema(text));
        this.#decoders.set(id, decoder);
        return decoder;
      })
      .catch(error => {
        this.#decoders.delete(id);
        throw asConnectError(error, 'CONVERTER_FAILED', { place: { topic } });
      });
    this.#decoders.set(id, made);
    return made;
  }

  async #makeEncoder(topic: string, schema: Schema): Promise<ValueEncoder> {
    const { isKey, subjectName, autoRegisterSchemas, useLatestVersion, scrubInvalidNames } = this.#settings;
    const own = avroSchemaText(schema, { scrubInvalidNames });
    const type = parseAvroSchema(own);
    const subject = subjectName(topic, isKey, type.type === 'record' ? avroTypeName(type) : null);
    const compile = (as = type): EncodeValue =>
      compileEncoder(schema, as, {
        replaceNullWithDefault: this.#settings.replaceNullWithDefault,
        avroName: scrubInvalidNames ? scrubName : name => name,
      });
    if (!autoRegisterSchemas && useLatestVersion) {
      const latest = await this.#registry.latest(subject);
      const as = parseAvroSchema(latest.schema);
      try {
        return new AvroEncoder(compile(as), framingOf(latest.id), null);
      } catch (error) {
        throw asConnectError(error, 'REGISTRY_INCOMPATIBLE');
      }
    }
    const id = await (autoRegisterSchemas
      ? this.#registry.register(subject, own)
      : this.#registry.lookup(subject, own));
    const framing = framingOf(id);
    const { replaceNullWithDefault } = this.#settings;
    return new AvroEncoder(compile(), framing, layout =>
      compileTranscoder(schema, layout, framing, { replaceNullWithDefault }),
    );
  }
}

class AvroEncoder implements ValueEncoder {
  readonly #write: EncodeValue;
  readonly #framing: Buffer;
  readonly #transcoder: ((layout: Layout) => RowTranscoder) | null;

  constructor(write: EncodeValue, framing: Buffer, transcoder: ((layout: Layout) => RowTranscoder) | null) {
    this.#write = write;
    this.#framing = framing;
    this.#transcoder = transcoder;
  }

  encode(value: unknown, out: OutputBuffer): boolean {
    if (value === null || value === undefined) return false;
    const start = out.position;
    out.ensure(5);
    const { bytes } = out;
    const framing = this.#framing;
    bytes[start] = 0;
    bytes[start + 1] = framing[1];
    bytes[start + 2] = framing[2];
    bytes[start + 3] = framing[3];
    bytes[start + 4] = framing[4];
    out.position = start + 5;
    try {
      this.#write(value, out);
    } catch (error) {
      out.position = start;
      throw error;
    }
    return true;
  }

  transcoder(layout: Layout): RowTranscoder | null {
    return this.#transcoder === null ? null : this.#transcoder(layout);
  }
}

const noSchemaEncoder: ValueEncoder = {
  encode(value) {
    if (value === null || value === undefined) return false;
    throw new ConnectError(
      'CONVERTER_FAILED',
      `Avro needs a schema, and this record has none (${typeof value}). Use org.apache.kafka.connect.json.JsonConverter with schemas.enable=false for such records`,
    );
  },
  transcoder: () => null,
};
