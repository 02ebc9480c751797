/**
 * Turns source batches into record batches: transforms (if any), converters, partition. The inner loops are synchronous; they stop only for what
 * has to be loaded first (a topic, an encoder) or for a record that fails, and go on from there.
 */
import type { RowTranscoder } from '../../../schemas/converter.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { stringifyJson } from '../../../schemas/json/exactJson.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { fieldOfColumn } from '../../../schemas/transcode/rowColumns.ts';
import { RowError } from '../../../schemas/transcode/rowErrors.ts';
import { ConnectError, type ConnectRecord, type Header, type SourceBatch, type WireBatch } from '../../api/index.ts';
import { allowLargerRecords } from '../../broker/allowLargerRecords.ts';
import { encodeHeaders, noHeaders, partitionForKey } from '../../broker/records/index.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import type { Converters } from '../converters.ts';
import type { ErrorPolicy, Failure, Stage } from '../errors/errorPolicy.ts';
import { located } from '../errors/located.ts';
import { retryFor } from '../errors/retryFor.ts';
import type { TransformChain } from '../transformChain.ts';
import { EncoderCache } from './encoderCache.ts';
import type { OpenBatches } from './openBatches.ts';
import type { SourceTopic, SourceTopics } from './sourceTopics.ts';

export interface BatchEncoderOptions {
  readonly open: OpenBatches;
  readonly topics: SourceTopics;
  readonly converters: Converters;
  readonly chain: TransformChain | null;
  readonly policy: ErrorPolicy;
  readonly meter: TaskMeter;
  readonly maxRecordBytes: number;
  readonly signal: AbortSignal;
}

/** How long a registry or cluster that is away may hold up a task, whatever `errors.retry.timeout` says of records. */
const loadRetryMs = 15_000;

export class BatchEncoder {
  readonly #options: BatchEncoderOptions;
  readonly #keys: EncoderCache;
  readonly #values: EncoderCache;
  readonly #out = new OutputBuffer(65536);
  #stage: Stage = 'VALUE_CONVERTER';
  /** What the record at hand waits for. */
  #wanted: { readonly topic: string; readonly keySchema: Schema | null; readonly valueSchema: Schema | null } | null =
    null;
  /** The record at hand, already transformed. */
  #held: ConnectRecord | null = null;

  constructor(options: BatchEncoderOptions) {
    this.#options = options;
    this.#keys = new EncoderCache(options.converters.key);
    this.#values = new EncoderCache(options.converters.value);
  }

  /** Appends all records of the batch. Rejects where a record, or the way to its topic, fails for good. */
  async encode(batch: SourceBatch): Promise<void> {
    if (batch.count === 0) return;
    const topic = this.#routed(batch);
    if (topic !== null && batch.wire !== undefined && batch.recordHeaders === undefined) {
      const { keySchema, valueSchema } = batch;
      if (!(await this.#load(batch, { topic, keySchema, valueSchema }, batch.count))) return;
      const rows = this.#rowEncoders(topic, batch, batch.wire);
      if (rows !== null) return this.#encodeRows(topic, batch, batch.wire, rows);
    }
    return this.#encodeRecords(batch);
  }

  /** The topic to write to; null where transforms have to see the records. */
  #routed(batch: SourceBatch): string | null {
    const { chain } = this.#options;
    return chain === null || batch.isOwn ? batch.topic : chain.route(batch.topic);
  }

  /** Encoders compiled for the rows; null = this batch goes as plain records. */
  #rowEncoders(topic: string, { keySchema, valueSchema }: SourceBatch, wire: WireBatch): RowEncoders | null {
    const key = wire.keyLayout && this.#keys.transcoder(this.#keys.get(topic, keySchema)!, wire.keyLayout);
    const value = wire.valueLayout && this.#values.transcoder(this.#values.get(topic, valueSchema)!, wire.valueLayout);
    if ((wire.keyLayout !== null && key === null) || (wire.valueLayout !== null && value === null)) return null;
    return { key, value };
  }

  async #encodeRows(name: string, batch: SourceBatch, wire: WireBatch, rows: RowEncoders): Promise<void> {
    const now = Date.now();
    const topic = await this.#loadTopic(name);
    const headers = this.#headersOf(name, batch.headers);
    for (let i = 0; i < batch.count; ) {
      const run: RowRun = { next: i };
      try {
        this.#stage = 'VALUE_CONVERTER';
        this.#appendRows(batch, wire, rows, topic, headers, now, run);
        return;
      } catch (error) {
        const failing = run.next;
        await this.#options.policy.recover(this.#failure(error, batch, failing), () =>
          this.#appendRows(batch, wire, rows, topic, headers, now, { next: failing, end: failing + 1 }),
        );
        i = failing + 1;
      }
    }
  }

  #appendRows(
    batch: SourceBatch,
    wire: WireBatch,
    { key, value }: RowEncoders,
    topic: SourceTopic,
    headers: Buffer,
    now: number,
    run: RowRun,
  ): void {
    const out = this.#out;
    const { open, maxRecordBytes } = this.#options;
    const { tombstones } = wire;
    const partitions = topic.partitions;
    const end = run.end ?? batch.count;
    key?.begin(wire.rows);
    value?.begin(wire.rows);
    for (let i = run.next; i < end; i++) {
      run.next = i;
      out.position = 0;
      let keyStart = -1;
      let keyEnd = 0;
      if (key !== null) {
        this.#stage = 'KEY_CONVERTER';
        if (key.encode(i, out)) keyStart = 0;
        keyEnd = out.position;
      }
      let valueStart = -1;
      this.#stage = 'VALUE_CONVERTER';
      if (value !== null && tombstones?.[i] !== 1 && value.encode(i, out)) valueStart = keyEnd;
      const partition =
        batch.partition ??
        (keyStart < 0
          ? topic.stickyPartition
          : partitions === 1
            ? 0
            : partitionForKey(out.bytes, keyStart, keyEnd, partitions));
      if (out.position > maxRecordBytes) throw this.#tooLarge(topic.name, out.position);
      open.append(topic, partition, now, now, out.bytes, keyStart, keyEnd, valueStart, out.position, headers);
    }
  }

  async #encodeRecords(batch: SourceBatch): Promise<void> {
    const run: RowRun = { next: 0 };
    while (run.next < batch.count) {
      try {
        this.#appendRecords(batch, run);
        if (run.next === batch.count || (await this.#load(batch, this.#wanted!, 1))) continue;
      } catch (error) {
        await this.#options.policy.recover(this.#failure(error, batch, run.next), () =>
          this.#appendOne(batch, run.next),
        );
      }
      this.#held = null;
      run.next++;
    }
  }

  /** Once more, for one record that failed before. */
  async #appendOne(batch: SourceBatch, index: number): Promise<void> {
    while (!this.#appendRecord(batch, index, Date.now())) {
      const { topic, keySchema, valueSchema } = this.#wanted!;
      await this.#loadTopic(topic);
      await this.#loadEncoders(topic, keySchema, valueSchema);
    }
  }

  /** Stops before a record that waits for something. */
  #appendRecords(batch: SourceBatch, run: RowRun): void {
    const now = Date.now();
    for (; run.next < batch.count; run.next++) {
      if (!this.#appendRecord(batch, run.next, now)) return;
    }
  }

  #appendRecord(batch: SourceBatch, index: number, now: number): boolean {
    let record = this.#held;
    if (record === null) {
      this.#stage = 'VALUE_CONVERTER';
      const { chain } = this.#options;
      record = batch.record(index);
      if (chain !== null && !batch.isOwn) {
        this.#stage = 'TRANSFORMATION';
        record = chain.apply(record);
      }
      if (record === null) return true;
    }
    const { topic: name, keySchema, valueSchema } = record;
    const topic = this.#options.topics.get(name, now);
    const keyEncoder = this.#keys.get(name, keySchema);
    const valueEncoder = this.#values.get(name, valueSchema);
    if (topic === undefined || keyEncoder === undefined || valueEncoder === undefined) {
      this.#held = record;
      this.#wanted = { topic: name, keySchema, valueSchema };
      return false;
    }
    const out = this.#out;
    out.position = 0;
    this.#stage = 'KEY_CONVERTER';
    const keyStart = keyEncoder.encode(record.key, out) ? 0 : -1;
    const keyEnd = out.position;
    this.#stage = 'VALUE_CONVERTER';
    const valueStart = valueEncoder.encode(record.value, out) ? keyEnd : -1;
    const valueEnd = out.position;
    this.#stage = 'HEADER_CONVERTER';
    const headers = record.headers.length === 0 ? noHeaders : this.#headersOf(name, record.headers);
    const partition =
      record.partition ??
      (keyStart < 0 ? topic.stickyPartition : partitionForKey(out.bytes, keyStart, keyEnd, topic.partitions));
    this.#stage = 'KAFKA_PRODUCE';
    if (valueEnd > this.#options.maxRecordBytes) throw this.#tooLarge(name, valueEnd);
    const timestamp = record.timestamp ?? now;
    this.#options.open.append(
      topic,
      partition,
      now,
      timestamp,
      out.bytes,
      keyStart,
      keyEnd,
      valueStart,
      valueEnd,
      headers,
    );
    this.#held = null;
    return true;
  }

  #headersOf(topic: string, headers: readonly Header[]): Buffer {
    if (headers.length === 0) return noHeaders;
    const { converter } = this.#options.converters.header;
    return encodeHeaders(
      headers.map(({ name, schema, value }) => ({ name, value: converter.fromConnect(topic, name, schema, value) })),
    );
  }

  /** Loads the topic and the encoders. False where `records` records are to be skipped for an error. */
  async #load(batch: SourceBatch, wanted: LoadTarget, records: number): Promise<boolean> {
    const { topic, keySchema, valueSchema } = wanted;
    const { policy, meter } = this.#options;
    await this.#loadTopic(topic);
    try {
      await this.#loadEncoders(topic, keySchema, valueSchema);
      return true;
    } catch (error) {
      const done = await policy.recover(
        this.#failure(error, batch, 0),
        async () => {
          await this.#loadEncoders(topic, keySchema, valueSchema);
          return true;
        },
        loadRetryMs,
      );
      const loaded = 'value' in done;
      if (!loaded && records > 1) meter.add('total_records_skipped', records - 1);
      return loaded;
    }
  }

  /** A topic that cannot be had is no matter of one record: never skipped. */
  async #loadTopic(name: string): Promise<SourceTopic> {
    const { topics, signal } = this.#options;
    return topics.get(name, Date.now()) ?? (await retryFor(loadRetryMs, signal, () => topics.load(name)));
  }

  async #loadEncoders(topic: string, keySchema: Schema | null, valueSchema: Schema | null): Promise<void> {
    this.#stage = 'KEY_CONVERTER';
    if (this.#keys.get(topic, keySchema) === undefined) await this.#keys.load(topic, keySchema);
    this.#stage = 'VALUE_CONVERTER';
    if (this.#values.get(topic, valueSchema) === undefined) await this.#values.load(topic, valueSchema);
  }

  #failure(error: unknown, batch: SourceBatch, index: number): Failure {
    const stage = this.#stage;
    const className =
      stage === 'TRANSFORMATION'
        ? (this.#options.chain?.runningClass ?? '')
        : stage === 'KEY_CONVERTER'
          ? this.#keys.className
          : stage === 'VALUE_CONVERTER'
            ? this.#values.className
            : stage === 'HEADER_CONVERTER'
              ? this.#options.converters.header.className
              : 'org.apache.kafka.clients.producer.KafkaProducer';
    const position = batch.sourceOffset === null ? undefined : stringifyJson(batch.sourceOffset);
    const column = columnAtFault(error, stage, batch);
    return {
      stage,
      className,
      error: located(error, stage, { topic: batch.topic, position, column }),
      place: { topic: batch.topic, sourcePartition: batch.sourcePartition, sourceOffset: batch.sourceOffset },
      contents: () => batch.record(index),
      ...(batch.isOwn && { isOwn: true }),
    };
  }

  #tooLarge(topic: string, bytes: number): Error {
    this.#stage = 'KAFKA_PRODUCE';
    return new ConnectError(
      'BROKER_RECORD_TOO_LARGE',
      `A record of ${bytes} bytes is larger than max.request.size, ${this.#options.maxRecordBytes} bytes. ${allowLargerRecords(topic, bytes)}`,
      { place: { topic } },
    );
  }
}

/** The field of a row that could not be written. */
function columnAtFault(
  error: unknown,
  stage: Stage,
  { wire, keySchema, valueSchema }: SourceBatch,
): string | undefined {
  if (!(error instanceof RowError) || wire === undefined) return undefined;
  const [schema, layout] = stage === 'KEY_CONVERTER' ? [keySchema, wire.keyLayout] : [valueSchema, wire.valueLayout];
  if (schema === null || layout === null) return undefined;
  return fieldOfColumn(schema, layout, error.column) ?? undefined;
}

interface RowEncoders {
  readonly key: RowTranscoder | null;
  readonly value: RowTranscoder | null;
}

interface RowRun {
  /** The record at hand. */
  next: number;
  readonly end?: number;
}

type LoadTarget = Pick<SourceBatch, 'topic' | 'keySchema' | 'valueSchema'>;
