/** Batches as a sink task gets them: a stretch of a fetch as it lies in the log, decoded on demand; or plain records after transforms. */
import type { HeaderConverter, ValueDecoder } from '../../../schemas/converter.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { asConnectError, type Header, partitionOf, type SinkBatch, type SinkRecord } from '../../api/index.ts';
import { decodeHeaders, type RecordColumns } from '../../broker/records/index.ts';

/** Leads from a record back to its original bytes. Enumerable, so that a transform's copy of the record keeps it. */
export const columnsOf: unique symbol = Symbol('columns');

export interface TracedRecord extends SinkRecord {
  readonly [columnsOf]: RecordColumns;
}

export function decodeKey(columns: RecordColumns, i: number, decoder: ValueDecoder | null): unknown {
  const start = columns.keyStarts[i]!;
  return start < 0 || decoder === null ? null : decoder.decode(columns.bytes, start, columns.keyEnds[i]!);
}

export function decodeValue(columns: RecordColumns, i: number, decoder: ValueDecoder | null): unknown {
  const start = columns.valueStarts[i]!;
  return start < 0 || decoder === null ? null : decoder.decode(columns.bytes, start, columns.valueEnds[i]!);
}

const noHeaders: readonly Header[] = [];

export function readHeaders(columns: RecordColumns, i: number, converter: HeaderConverter): readonly Header[] {
  const { topic, bytes, headerStarts, headerEnds } = columns;
  const start = headerStarts[i]!;
  const end = headerEnds[i]!;
  if (end - start <= 1) return noHeaders;
  return decodeHeaders(bytes, start, end).map(({ name, value }) => ({
    name,
    ...converter.toConnect(topic, name, value),
  }));
}

export function sinkRecord(
  columns: RecordColumns,
  i: number,
  key: unknown,
  keySchema: Schema | null,
  value: unknown,
  valueSchema: Schema | null,
  headers: readonly Header[],
): TracedRecord {
  const { topic, partition } = columns;
  return {
    topic,
    partition,
    keySchema,
    key,
    valueSchema,
    value,
    timestamp: columns.timestamps[i]!,
    headers,
    originalTopic: topic,
    originalPartition: partition,
    originalOffset: columns.offsets[i]!,
    [columnsOf]: columns,
  };
}

/** Records [from, to) of a fetched partition, which one key decoder and one value decoder serve, under the name `topic`. */
export class WireSinkBatch implements SinkBatch {
  readonly topic: string;
  readonly originalTopic: string;
  readonly partition: number;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema | null;
  readonly count: number;
  readonly byteLength: number;
  readonly wire: NonNullable<SinkBatch['wire']>;
  readonly #columns: RecordColumns;
  readonly #from: number;
  readonly #headerConverter: HeaderConverter;

  constructor(
    columns: RecordColumns,
    topic: string,
    from: number,
    to: number,
    keyDecoder: ValueDecoder | null,
    valueDecoder: ValueDecoder | null,
    headerConverter: HeaderConverter,
  ) {
    this.#columns = columns;
    this.#from = from;
    this.#headerConverter = headerConverter;
    this.topic = topic;
    this.originalTopic = columns.topic;
    this.partition = columns.partition;
    this.keySchema = keyDecoder?.schema ?? null;
    this.valueSchema = valueDecoder?.schema ?? null;
    this.count = to - from;
    const firstKey = columns.keyStarts[from]!;
    const firstValue = columns.valueStarts[from]!;
    const start = firstKey >= 0 ? firstKey : firstValue >= 0 ? firstValue : columns.headerStarts[from]!;
    this.byteLength = columns.headerEnds[to - 1]! - start;
    this.wire = {
      bytes: columns.bytes,
      keyStarts: columns.keyStarts.subarray(from, to),
      keyEnds: columns.keyEnds.subarray(from, to),
      valueStarts: columns.valueStarts.subarray(from, to),
      valueEnds: columns.valueEnds.subarray(from, to),
      keyDecoder,
      valueDecoder,
    };
  }

  offset(index: number): number {
    return this.#columns.offsets[this.#from + index]!;
  }

  timestamp(index: number): number {
    return this.#columns.timestamps[this.#from + index]!;
  }

  record(index: number): SinkRecord {
    const i = this.#from + index;
    const columns = this.#columns;
    const { keyDecoder, valueDecoder } = this.wire;
    try {
      const key = decodeKey(columns, i, keyDecoder);
      const value = decodeValue(columns, i, valueDecoder);
      const headers = readHeaders(columns, i, this.#headerConverter);
      const record = sinkRecord(columns, i, key, this.keySchema, value, this.valueSchema, headers);
      return this.topic === columns.topic ? record : { ...record, topic: this.topic };
    } catch (error) {
      throw asConnectError(error, 'CONVERTER_FAILED').at({ ...partitionOf(this), offset: this.offset(index) });
    }
  }
}

export class PlainSinkBatch implements SinkBatch {
  readonly topic: string;
  readonly originalTopic: string;
  readonly partition: number;
  readonly keySchema: Schema | null;
  readonly valueSchema: Schema | null;
  readonly byteLength: number;
  readonly #records: readonly SinkRecord[];

  constructor(records: readonly SinkRecord[], byteLength: number) {
    const [first] = records;
    this.#records = records;
    this.topic = first!.topic;
    this.originalTopic = first!.originalTopic;
    this.partition = first!.originalPartition;
    this.keySchema = records.find(r => r.keySchema !== null)?.keySchema ?? null;
    this.valueSchema = records.find(r => r.valueSchema !== null)?.valueSchema ?? null;
    this.byteLength = byteLength;
  }

  get count(): number {
    return this.#records.length;
  }

  offset(index: number): number {
    return this.#records[index]!.originalOffset;
  }

  timestamp(index: number): number {
    return this.#records[index]!.timestamp ?? 0;
  }

  record(index: number): SinkRecord {
    return this.#records[index]!;
  }
}
