/**
 * The JSON converter: values as JSON, with `schemas.enable` inside an envelope {"schema":…,"payload":…}.
 * The schema part of an envelope is long and the same in record after record: it is written from memory, and records whose first bytes are
 * those of a known schema part are parsed from the payload on.
 */
import type { Converter, RowTranscoder, ValueDecoder, ValueEncoder } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { asConnectError, ConnectError } from '../errors.ts';
import type { OutputBuffer } from '../outputBuffer.ts';
import type { Layout } from '../transcode/layout.ts';
import { compileJsonEncoder, type EncodeJson, type JsonOptions } from './compileJsonEncoder.ts';
import { compileDirectReader, type ReadDirect } from './directReader.ts';
import { payloadStart } from './envelopeScan.ts';
import { isJsonObject, type JsonValue, parseJson } from './exactJson.ts';
import { compileJsonReader, hasDecimal, type ReadJson } from './jsonReader.ts';
import { jsonSchemaText, schemaFromJson } from './jsonSchema.ts';
import { compileJsonTranscoder } from './jsonTranscoder.ts';
import { plainJsonText } from './jsonWriter.ts';

export interface JsonConverterSettings extends JsonOptions {
  readonly schemasEnable: boolean;
  readonly schemasCacheSize: number;
}

export class JsonConverter implements Converter {
  readonly #settings: JsonConverterSettings;
  readonly #encoders = new WeakMap<Schema, ValueEncoder>();
  readonly #noSchemaEncoder: ValueEncoder;
  /** By the bytes before the payload. */
  readonly #decoders = new Map<string, ValueDecoder>();

  constructor(settings: JsonConverterSettings) {
    this.#settings = settings;
    const prefix = settings.schemasEnable ? '{"schema":null,"payload":' : '';
    this.#noSchemaEncoder = new JsonEncoder(prefix, encodePlain, true, () => null);
  }

  encoder(_topic: string, schema: Schema | null): ValueEncoder {
    if (schema === null) return this.#noSchemaEncoder;
    const known = this.#encoders.get(schema);
    if (known) return known;
    const prefix = this.#settings.schemasEnable ? `{"schema":${jsonSchemaText(schema, this.#settings)},"payload":` : '';
    const suffix = prefix === '' ? '' : '}';
    const made = new JsonEncoder(prefix, compileJsonEncoder(schema, this.#settings), !schema.optional, layout =>
      compileJsonTranscoder(schema, layout, this.#settings, prefix, suffix),
    );
    this.#encoders.set(schema, made);
    return made;
  }

  decoder(topic: string, bytes: Uint8Array, start: number, end: number): ValueDecoder {
    if (!this.#settings.schemasEnable) return plainDecoder;
    try {
      const at = payloadStart(bytes, start, end);
      if (at === -1) return this.#wholeDecoder(bytes, start, end);
      const prefix = asBuffer(bytes).subarray(start, at);
      const key = prefix.toString('latin1');
      const known = this.#decoders.get(key);
      if (known) return known;
      const envelope = parseJson(`${prefix.toString('utf8')}null}`, true) as { schema: JsonValue };
      const made = new PrefixDecoder(Buffer.from(prefix), schemaFromJson(envelope.schema), this.#settings);
      this.#remember(key, made);
      return made;
    } catch (error) {
      throw asConnectError(error, 'CONVERTER_FAILED', { place: { topic } });
    }
  }

  /** For envelopes whose payload comes first, as some producers write them. */
  #wholeDecoder(bytes: Uint8Array, start: number, end: number): ValueDecoder {
    const { schema } = envelopeOf(textOf(bytes, start, end), true);
    const key = keyOf(schema);
    const known = this.#decoders.get(key);
    if (known) return known;
    const made = new WholeDecoder(key, schemaFromJson(schema), this.#settings);
    this.#remember(key, made);
    return made;
  }

  #remember(key: string, decoder: ValueDecoder): void {
    if (this.#decoders.size >= Math.max(1, this.#settings.schemasCacheSize))
      this.#decoders.delete(this.#decoders.keys().next().value!);
    this.#decoders.set(key, decoder);
  }
}

class JsonEncoder implements ValueEncoder {
  readonly #prefix: Buffer;
  readonly #encode: EncodeJson;
  /** Whether null is a null record; else it is written as JSON null. */
  readonly #nullRecord: boolean;

  readonly #transcoder: (layout: Layout) => RowTranscoder | null;

  constructor(
    prefix: string,
    encode: EncodeJson,
    nullRecord: boolean,
    transcoder: (layout: Layout) => RowTranscoder | null,
  ) {
    this.#prefix = Buffer.from(prefix);
    this.#encode = encode;
    this.#nullRecord = nullRecord;
    this.#transcoder = transcoder;
  }

  encode(value: unknown, out: OutputBuffer): boolean {
    if ((value === null || value === undefined) && this.#nullRecord) return false;
    const start = out.position;
    try {
      if (this.#prefix.length > 0) out.writeBytes(this.#prefix);
      this.#encode(value, out);
      if (this.#prefix.length > 0) out.writeByte(0x7d);
      return true;
    } catch (error) {
      out.position = start;
      throw error;
    }
  }

  transcoder(layout: Layout): RowTranscoder | null {
    return this.#transcoder(layout);
  }
}

const encodePlain: EncodeJson = (value, out) => out.writeUtf8(plainJsonText(value));

const plainDecoder: ValueDecoder = {
  schema: null,
  accepts: () => true,
  decode: (bytes, start, end) => parseJson(textOf(bytes, start, end)),
};

/** Records that begin with the same schema. */
class PrefixDecoder implements ValueDecoder {
  readonly schema: Schema | null;
  readonly #prefix: Buffer;
  readonly #direct: ReadDirect;
  readonly #read: ReadJson;
  readonly #exactFractions: boolean;

  constructor(prefix: Buffer, schema: Schema | null, options: JsonOptions) {
    this.#prefix = prefix;
    this.schema = schema;
    this.#direct = schema === null ? () => undefined : compileDirectReader(schema, options.replaceNullWithDefault);
    this.#read = schema === null ? plainJson : compileJsonReader(schema, options);
    this.#exactFractions = schema !== null && hasDecimal(schema);
  }

  accepts(bytes: Uint8Array, start: number, end: number): boolean {
    const { length } = this.#prefix;
    return end - start > length && this.#prefix.compare(bytes, start, start + length) === 0;
  }

  decode(bytes: Uint8Array, start: number, end: number): unknown {
    let last = end - 1;
    while (last > start && isBlank(bytes[last])) last--;
    if (bytes[last] !== 0x7d)
      throw new ConnectError('CONVERTER_FAILED', 'not valid JSON: the envelope does not end with "}"');
    const from = start + this.#prefix.length;
    const direct = this.#direct(asBuffer(bytes), from, last);
    return direct === undefined ? this.#read(parseJson(textOf(bytes, from, last), this.#exactFractions)) : direct;
  }
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

class WholeDecoder implements ValueDecoder {
  readonly schema: Schema | null;
  readonly #key: string;
  readonly #read: ReadJson;
  readonly #exactFractions: boolean;

  constructor(key: string, schema: Schema | null, options: JsonOptions) {
    this.#key = key;
    this.schema = schema;
    this.#read = schema === null ? plainJson : compileJsonReader(schema, options);
    this.#exactFractions = schema !== null && hasDecimal(schema);
  }

  accepts(bytes: Uint8Array, start: number, end: number): boolean {
    if (payloadStart(bytes, start, end) !== -1) return false;
    try {
      const { schema } = envelopeOf(textOf(bytes, start, end), true);
      return keyOf(schema) === this.#key;
    } catch {
      // `decoder` says what is wrong with it.
      return false;
    }
  }

  decode(bytes: Uint8Array, start: number, end: number): unknown {
    return this.#read(envelopeOf(textOf(bytes, start, end), this.#exactFractions).payload);
  }
}

const keyOf = (schema: JsonValue): string => JSON.stringify(schema, (_, v) => (typeof v === 'bigint' ? `${v}n` : v));

const plainJson: ReadJson = json => json ?? null;

function envelopeOf(text: string, exactFractions = false): { schema: JsonValue; payload: JsonValue } {
  const json = parseJson(text, exactFractions);
  if (isJsonObject(json) && 'schema' in json && 'payload' in json && Object.keys(json).length === 2)
    return { schema: json.schema, payload: json.payload };
  throw new ConnectError(
    'CONVERTER_FAILED',
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration',
  );
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const textOf = (bytes: Uint8Array, start: number, end: number): string => asBuffer(bytes).toString('utf8', start, end);
