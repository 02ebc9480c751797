/**
 * Turns a fetched partition into sink batches: runs of records that share their decoders, given on undecoded where nothing stands between; else
 * decoded and transformed one by one. Where errors are tolerated every record is decoded here, so that a malformed one can be left out.
 */
import type { ValueDecoder } from '../../../schemas/converter.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import type { SinkBatch, SinkRecord } from '../../api/index.ts';
import type { RecordColumns } from '../../broker/records/index.ts';
import type { Converters } from '../converters.ts';
import type { ErrorPolicy, Failure, Stage } from '../errors/errorPolicy.ts';
import { located } from '../errors/located.ts';
import type { TransformChain } from '../transformChain.ts';
import type { DeadLetterQueue } from './deadLetterQueue.ts';
import { DecoderCache } from './decoderCache.ts';
import { decodeKey, decodeValue, PlainSinkBatch, readHeaders, sinkRecord, WireSinkBatch } from './sinkRecords.ts';

export interface BatchReaderOptions {
  readonly converters: Converters;
  readonly chain: TransformChain | null;
  readonly policy: ErrorPolicy;
  readonly deadLetters: DeadLetterQueue | null;
}

/** Decoders of one record; null = the key, or value, is null. */
interface Decoders {
  readonly key: ValueDecoder | null;
  readonly value: ValueDecoder | null;
}

/** How long a registry that is away may hold up a task, whatever `errors.retry.timeout` says of records. */
const loadRetryMs = 15_000;

export class BatchReader {
  readonly #options: BatchReaderOptions;
  readonly #keys: DecoderCache;
  readonly #values: DecoderCache;
  #stage: Stage = 'VALUE_CONVERTER';

  constructor(options: BatchReaderOptions) {
    this.#options = options;
    this.#keys = new DecoderCache(options.converters.key);
    this.#values = new DecoderCache(options.converters.value);
  }

  async read(columns: RecordColumns): Promise<SinkBatch[]> {
    const { chain } = this.#options;
    const topic = chain === null ? columns.topic : chain.route(columns.topic);
    return topic === null ? this.#readRecords(columns, chain!) : this.#readRuns(columns, topic);
  }

  /** `topic` is the name that the batches get. */
  async #readRuns(columns: RecordColumns, topic: string): Promise<SinkBatch[]> {
    const batches: SinkBatch[] = [];
    const check = this.#options.policy.toleratesAll;
    let from = 0;
    let key: ValueDecoder | null = null;
    let value: ValueDecoder | null = null;
    const endRun = (to: number): void => {
      const { header } = this.#options.converters;
      if (to > from) batches.push(new WireSinkBatch(columns, topic, from, to, key, value, header.converter));
      key = null;
      value = null;
    };
    const { bytes, keyStarts, keyEnds, valueStarts, valueEnds } = columns;
    for (let i = 0; i < columns.count; i++) {
      const keyStart = keyStarts[i]!;
      const valueStart = valueStarts[i]!;
      const sameDecoders =
        (keyStart < 0 || key?.accepts(bytes, keyStart, keyEnds[i]!) === true) &&
        (valueStart < 0 || value?.accepts(bytes, valueStart, valueEnds[i]!) === true);
      if (sameDecoders && !check) continue;
      const decoders = this.#decodersNow(columns, i) ?? (await this.#decoders(columns, i));
      if (decoders === null || (check && !(await this.#decodable(columns, i, decoders)))) {
        endRun(i);
        from = i + 1;
        continue;
      }
      const sameKey = key === null || decoders.key === null || key === decoders.key;
      const sameValue = value === null || decoders.value === null || value === decoders.value;
      if (!sameKey || !sameValue) {
        endRun(i);
        from = i;
      }
      key ??= decoders.key;
      value ??= decoders.value;
    }
    endRun(columns.count);
    return batches;
  }

  async #readRecords(columns: RecordColumns, chain: TransformChain): Promise<SinkBatch[]> {
    const batches: SinkBatch[] = [];
    let run = new RecordRun();
    const endRun = (): void => {
      if (run.records.length > 0) batches.push(new PlainSinkBatch(run.records, run.bytes));
      run = new RecordRun();
    };
    for (let i = 0; i < columns.count; i++) {
      const decoders = this.#decodersNow(columns, i) ?? (await this.#decoders(columns, i));
      if (decoders === null) continue;
      let record: SinkRecord | null;
      try {
        record = this.#transformed(columns, i, decoders, chain);
      } catch (error) {
        const again = await this.#recover(columns, i, error, () => this.#transformed(columns, i, decoders, chain));
        record = again?.value ?? null;
      }
      if (record === null) continue;
      if (!run.takes(record)) endRun();
      run.push(record, columns.headerEnds[i]! - (i === 0 ? 0 : columns.headerEnds[i - 1]!));
    }
    endRun();
    return batches;
  }

  #transformed(columns: RecordColumns, i: number, decoders: Decoders, chain: TransformChain): SinkRecord | null {
    const record = this.#decode(columns, i, decoders);
    this.#stage = 'TRANSFORMATION';
    return chain.apply(record);
  }

  #decode(columns: RecordColumns, i: number, { key, value }: Decoders): SinkRecord {
    this.#stage = 'KEY_CONVERTER';
    const keyValue = decodeKey(columns, i, key);
    this.#stage = 'VALUE_CONVERTER';
    const valueValue = decodeValue(columns, i, value);
    this.#stage = 'HEADER_CONVERTER';
    const headers = readHeaders(columns, i, this.#options.converters.header.converter);
    return sinkRecord(columns, i, keyValue, key?.schema ?? null, valueValue, value?.schema ?? null, headers);
  }

  async #decodable(columns: RecordColumns, i: number, decoders: Decoders): Promise<boolean> {
    try {
      this.#decode(columns, i, decoders);
      return true;
    } catch (error) {
      return (await this.#recover(columns, i, error, () => this.#decode(columns, i, decoders))) !== null;
    }
  }

  /** undefined = a decoder has to be asked for. */
  #decodersNow(columns: RecordColumns, i: number): Decoders | undefined {
    const { topic, bytes } = columns;
    const keyStart = columns.keyStarts[i]!;
    const valueStart = columns.valueStarts[i]!;
    const key = keyStart < 0 ? null : this.#keys.get(topic, bytes, keyStart, columns.keyEnds[i]!);
    if (key === undefined) return undefined;
    const value = valueStart < 0 ? null : this.#values.get(topic, bytes, valueStart, columns.valueEnds[i]!);
    return value === undefined ? undefined : { key, value };
  }

  /** null = the record is to be skipped. */
  async #decoders(columns: RecordColumns, i: number): Promise<Decoders | null> {
    const load = async (): Promise<Decoders> => {
      const { topic, bytes, keyStarts, keyEnds, valueStarts, valueEnds } = columns;
      this.#stage = 'KEY_CONVERTER';
      const key = keyStarts[i]! < 0 ? null : await this.#keys.load(topic, bytes, keyStarts[i]!, keyEnds[i]!);
      this.#stage = 'VALUE_CONVERTER';
      const value = valueStarts[i]! < 0 ? null : await this.#values.load(topic, bytes, valueStarts[i]!, valueEnds[i]!);
      return { key, value };
    };
    try {
      return await load();
    } catch (error) {
      return (await this.#recover(columns, i, error, load, loadRetryMs))?.value ?? null;
    }
  }

  async #recover<T>(
    columns: RecordColumns,
    i: number,
    error: unknown,
    attempt: () => T | Promise<T>,
    minRetryMs = 0,
  ): Promise<{ readonly value: T } | null> {
    const failure = this.#failure(columns, i, error);
    const done = await this.#options.policy.recover(failure, attempt, minRetryMs);
    if ('value' in done) return done;
    await this.#options.deadLetters?.add(columns, i, { ...failure, error: done.skippedFor });
    return null;
  }

  #failure(columns: RecordColumns, i: number, error: unknown): Failure {
    const stage = this.#stage;
    const { converters, chain } = this.#options;
    const className =
      stage === 'TRANSFORMATION'
        ? (chain?.runningClass ?? '')
        : stage === 'KEY_CONVERTER'
          ? converters.key.className
          : stage === 'HEADER_CONVERTER'
            ? converters.header.className
            : converters.value.className;
    const { topic, partition } = columns;
    const place = { topic, partition, offset: columns.offsets[i]! };
    return {
      stage,
      className,
      error: located(error, stage, place),
      place,
      contents: () => ({
        key: shown(columns, columns.keyStarts[i]!, columns.keyEnds[i]!),
        value: shown(columns, columns.valueStarts[i]!, columns.valueEnds[i]!),
      }),
    };
  }
}

/** Records that may go as one batch. */
class RecordRun {
  readonly records: SinkRecord[] = [];
  bytes = 0;
  /** undefined = any. */
  #keySchema: Schema | null | undefined;
  #valueSchema: Schema | null | undefined;

  takes(record: SinkRecord): boolean {
    const [first] = this.records;
    if (first === undefined) return true;
    const key = schemaOf(record.keySchema, record.key);
    const value = schemaOf(record.valueSchema, record.value);
    return (
      first.topic === record.topic &&
      (key === undefined || this.#keySchema === undefined || key === this.#keySchema) &&
      (value === undefined || this.#valueSchema === undefined || value === this.#valueSchema)
    );
  }

  push(record: SinkRecord, bytes: number): void {
    this.records.push(record);
    this.bytes += bytes;
    if (this.#keySchema === undefined) this.#keySchema = schemaOf(record.keySchema, record.key);
    if (this.#valueSchema === undefined) this.#valueSchema = schemaOf(record.valueSchema, record.value);
  }
}

/** A null without a schema goes with any. */
const schemaOf = (schema: Schema | null, value: unknown): Schema | null | undefined =>
  schema === null && value === null ? undefined : schema;

function shown(columns: RecordColumns, start: number, end: number): string | null {
  return start < 0 ? null : columns.bytes.toString('base64', start, end);
}
