/** Sink batches for tests: from plain records, and from Avro bytes as the worker would give them on. */
import type { Header, SinkBatch, SinkRecord } from '../../runtime/api/index.ts';
import { AvroConverter } from '../../schemas/avro/avroConverter.ts';
import type { ValueDecoder } from '../../schemas/converter.ts';
import type { Schema } from '../../schemas/data/index.ts';
import { OutputBuffer } from '../../schemas/outputBuffer.ts';
import type { RegisteredSchema, SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';

export interface TestRecord {
  readonly key: unknown;
  readonly value: unknown;
  readonly headers?: readonly Header[];
}

export interface BatchOptions {
  readonly topic: string;
  /** Where they were read, if transforms have renamed the topic. */
  readonly originalTopic?: string;
  readonly partition?: number;
  readonly firstOffset?: number;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema | null;
}

/** A batch as a chain of transforms leaves it: plain records, no bytes. */
export function plainSinkBatch(options: BatchOptions, records: readonly TestRecord[]): SinkBatch {
  const { topic, originalTopic = topic, partition = 0, firstOffset = 0, keySchema, valueSchema } = options;
  const record = (i: number): SinkRecord => ({
    topic,
    partition,
    keySchema,
    key: records[i]!.key,
    valueSchema,
    value: records[i]!.value,
    timestamp: 1_700_000_000_000 + i,
    headers: records[i]!.headers ?? [],
    originalTopic,
    originalPartition: partition,
    originalOffset: firstOffset + i,
  });
  return {
    topic,
    originalTopic,
    partition,
    keySchema,
    valueSchema,
    count: records.length,
    byteLength: records.length * 100,
    offset: i => firstOffset + i,
    timestamp: i => 1_700_000_000_000 + i,
    record,
  };
}

/** The records as Avro in Confluent's wire format, with their decoders. */
export async function avroSinkBatch(options: BatchOptions, records: readonly TestRecord[]): Promise<SinkBatch> {
  const { topic, partition = 0, firstOffset = 0, keySchema, valueSchema } = options;
  const out = new OutputBuffer();
  const write = async (
    converter: AvroConverter,
    schema: Schema | null,
    values: readonly unknown[],
  ): Promise<{ starts: Int32Array; ends: Int32Array }> => {
    const starts = new Int32Array(values.length).fill(-1);
    const ends = new Int32Array(values.length);
    const encoder = schema === null ? null : await converter.encoder(topic, schema);
    values.forEach((value, i) => {
      const start = out.position;
      if (value !== null && encoder?.encode(value, out)) starts[i] = start;
      ends[i] = out.position;
    });
    return { starts, ends };
  };
  const [keyConverter, valueConverter] = [avroConverter(true), avroConverter(false)];
  const keys = await write(
    keyConverter,
    keySchema,
    records.map(r => r.key),
  );
  const values = await write(
    valueConverter,
    valueSchema,
    records.map(r => r.value),
  );
  const bytes = Buffer.from(out.written());
  const decoderOf = async (
    converter: AvroConverter,
    { starts, ends }: { starts: Int32Array; ends: Int32Array },
  ): Promise<ValueDecoder | null> => {
    const first = starts.findIndex(start => start >= 0);
    return first < 0 ? null : converter.decoder(topic, bytes, starts[first]!, ends[first]!);
  };
  const keyDecoder = await decoderOf(keyConverter, keys);
  const valueDecoder = await decoderOf(valueConverter, values);
  const plain = plainSinkBatch(
    { ...options, keySchema: keyDecoder?.schema ?? null, valueSchema: valueDecoder?.schema ?? null },
    records,
  );
  const at = (decoder: ValueDecoder | null, { starts, ends }: typeof keys, i: number): unknown =>
    starts[i]! < 0 || decoder === null ? null : decoder.decode(bytes, starts[i]!, ends[i]!);
  return {
    ...plain,
    partition,
    byteLength: bytes.length,
    offset: i => firstOffset + i,
    record: i => ({ ...plain.record(i), key: at(keyDecoder, keys, i), value: at(valueDecoder, values, i) }),
    wire: {
      bytes,
      keyStarts: keys.starts,
      keyEnds: keys.ends,
      valueStarts: values.starts,
      valueEnds: values.ends,
      keyDecoder,
      valueDecoder,
    },
  };
}

const registered: RegisteredSchema[] = [];
/** Ids are those of the schema texts, in this process. */
const registry: SchemaRegistry = {
  register: async (subject, schema) => {
    const known = registered.find(r => r.schema === schema);
    if (known) return known.id;
    const id = registered.length + 1;
    registered.push({ id, subject, version: 1, schema, schemaType: 'AVRO' });
    return id;
  },
  lookup: async subject => registered.find(r => r.subject === subject)!.id,
  latest: async subject => registered.findLast(r => r.subject === subject)!,
  schemaById: async id => registered[id - 1]!.schema,
};

const converters = new Map<boolean, AvroConverter>();
function avroConverter(isKey: boolean): AvroConverter {
  let converter = converters.get(isKey);
  if (converter === undefined) {
    converter = new AvroConverter(
      {
        isKey,
        subjectName: topic => `${topic}-${isKey ? 'key' : 'value'}`,
        autoRegisterSchemas: true,
        useLatestVersion: false,
        replaceNullWithDefault: false,
        scrubInvalidNames: true,
      },
      registry,
    );
    converters.set(isKey, converter);
  }
  return converter;
}
