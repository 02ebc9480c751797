/**
 * Shows records as JSON lines. Avro in Confluent's wire format is decoded with the registry, JSON is shown as it is (without its schema envelope), other
 * text as a string, and other bytes as {"base64":…}.
 */

import { AvroConverter } from '../../schemas/avro/avroConverter.ts';
import { subjectNameStrategies } from '../../schemas/avro/subjectName.ts';
import type { ValueDecoder } from '../../schemas/converter.ts';
import { isJsonObject, parseJson, stringifyJson } from '../../schemas/json/exactJson.ts';
import { compileJsonWriter, type WriteJson } from '../../schemas/json/jsonWriter.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import { ConnectError } from '../api/index.ts';
import { decodeHeaders, type RecordColumns } from '../broker/records/index.ts';

const frameBytes = 5;

export class RecordText {
  readonly #avro: AvroConverter | null;
  readonly #writers = new Map<ValueDecoder, WriteJson>();

  /** Without a registry, Avro is shown as bytes. */
  constructor(registry: SchemaRegistry | null) {
    this.#avro =
      registry &&
      new AvroConverter(
        {
          isKey: false,
          subjectName: Object.values(subjectNameStrategies)[0]!,
          autoRegisterSchemas: false,
          useLatestVersion: false,
          replaceNullWithDefault: false,
          scrubInvalidNames: false,
        },
        registry,
      );
  }

  async line(records: RecordColumns, index: number): Promise<string> {
    const { topic, partition, bytes, offsets, timestamps } = records;
    const { keyStarts, keyEnds, valueStarts, valueEnds, headerStarts, headerEnds } = records;
    const key = await this.#text(topic, bytes, keyStarts[index]!, keyEnds[index]!);
    const value = await this.#text(topic, bytes, valueStarts[index]!, valueEnds[index]!);
    const headers = decodeHeaders(bytes, headerStarts[index]!, headerEnds[index]!).map(
      header =>
        `${JSON.stringify(header.name)}:${header.value === null ? 'null' : plainText(Buffer.from(header.value))}`,
    );
    const shownHeaders = headers.length === 0 ? '' : `,"headers":{${headers.join(',')}}`;
    const time = new Date(timestamps[index]!).toISOString();
    return `{"partition":${partition},"offset":${offsets[index]!},"timestamp":"${time}"${shownHeaders},"key":${key},"value":${value}}`;
  }

  async #text(topic: string, bytes: Buffer, start: number, end: number): Promise<string> {
    if (start < 0) return 'null';
    if (this.#avro !== null && bytes[start] === 0 && end - start >= frameBytes) {
      const text = await this.#avroText(this.#avro, topic, bytes, start, end);
      if (text !== null) return text;
    }
    return plainText(bytes.subarray(start, end));
  }

  /** null = it only looked like Avro. */
  async #avroText(
    avro: AvroConverter,
    topic: string,
    bytes: Buffer,
    start: number,
    end: number,
  ): Promise<string | null> {
    try {
      const decoder = await avro.decoder(topic, bytes, start, end);
      const value = decoder.decode(bytes, start, end);
      let write = this.#writers.get(decoder);
      if (write === undefined) {
        write = decoder.schema
          ? compileJsonWriter(decoder.schema, { decimalFormat: 'NUMERIC', replaceNullWithDefault: false })
          : stringifyJson;
        this.#writers.set(decoder, write);
      }
      return write(value);
    } catch (error) {
      if (
        error instanceof ConnectError &&
        (error.code === 'REGISTRY_SCHEMA_UNKNOWN' || error.code === 'CONVERTER_FAILED')
      ) {
        return null;
      }
      throw error;
    }
  }
}

function plainText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) return `{"base64":"${bytes.toString('base64')}"}`;
  try {
    const json = parseJson(text);
    const isEnvelope = isJsonObject(json) && 'schema' in json && 'payload' in json && Object.keys(json).length === 2;
    return stringifyJson(isEnvelope ? json.payload : json);
  } catch {
    return JSON.stringify(text);
  }
}
