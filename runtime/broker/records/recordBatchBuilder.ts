/**
 * Builds one partition's record batch in one growing buffer: what is appended is copied once and nothing is allocated per record.
 * The header is left open; `sealBatch` fills it.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { PendingBatch } from '../port.ts';
import { batchHeaderBytes } from './batchHeader.ts';
import { BufferPool } from './bufferPool.ts';
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from './varint.ts';

const initialBytes = 16 * 1024;
const maxBatchBytes = 0x7fff_ffff;
const noPool = new BufferPool(0);
/** Below this a loop beats the call of `Buffer.copy`. */
const loopCopyBytes = 48;

export class RecordBatchBuilder {
  readonly topic: string;
  readonly partition: number;
  readonly baseTimestamp: number;
  recordCount = 0;
  #maxTimestamp = Number.NEGATIVE_INFINITY;
  #bytes: Buffer;
  readonly #pool: BufferPool;
  #position = batchHeaderBytes;

  constructor(
    topic: string,
    partition: number,
    baseTimestamp: number,
    expectedBytes: number = initialBytes,
    pool: BufferPool = noPool,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.baseTimestamp = baseTimestamp;
    this.#pool = pool;
    this.#bytes = pool.take(Math.max(expectedBytes, 2 * batchHeaderBytes));
  }

  /** Size of the batch so far, uncompressed, header included. */
  get byteLength(): number {
    return this.#position;
  }

  /** Ranges are [start, end); start -1 = null. `headers` is a section from `encodeHeaders`. */
  append(
    timestamp: number,
    keyBytes: Uint8Array,
    keyStart: number,
    keyEnd: number,
    valueBytes: Uint8Array,
    valueStart: number,
    valueEnd: number,
    headers: Uint8Array,
  ): void {
    const timestampDelta = timestamp - this.baseTimestamp;
    const keyLength = keyStart < 0 ? -1 : keyEnd - keyStart;
    const valueLength = valueStart < 0 ? -1 : valueEnd - valueStart;
    const length =
      1 +
      varlongBytes(timestampDelta) +
      varintBytes(this.recordCount) +
      varintBytes(keyLength) +
      Math.max(keyLength, 0) +
      varintBytes(valueLength) +
      Math.max(valueLength, 0) +
      headers.length;
    const end = this.#position + 5 + length;
    if (end > this.#bytes.length) this.#grow(end);

    const bytes = this.#bytes;
    let position = writeVarint(bytes, this.#position, length);
    bytes[position++] = 0;
    position = writeVarlong(bytes, position, timestampDelta);
    position = writeVarint(bytes, position, this.recordCount);
    position = writeVarint(bytes, position, keyLength);
    if (keyLength > 0) {
      copyRange(keyBytes, keyStart, keyEnd, bytes, position);
      position += keyLength;
    }
    position = writeVarint(bytes, position, valueLength);
    if (valueLength > 0) {
      copyRange(valueBytes, valueStart, valueEnd, bytes, position);
      position += valueLength;
    }
    if (headers.length === 1) {
      bytes[position++] = headers[0];
    } else {
      copyRange(headers, 0, headers.length, bytes, position);
      position += headers.length;
    }
    this.#position = position;
    this.recordCount++;
    if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp;
  }

  /** The batch; the builder must not be used afterwards. */
  finish(): PendingBatch {
    if (this.recordCount === 0) throw new TypeError('a batch needs at least one record');
    return {
      topic: this.topic,
      partition: this.partition,
      bytes: this.#bytes.subarray(0, this.#position),
      recordCount: this.recordCount,
      baseTimestamp: this.baseTimestamp,
      maxTimestamp: this.#maxTimestamp,
    };
  }

  #grow(needed: number): void {
    if (needed > maxBatchBytes)
      throw new ConnectError(
        'BROKER_RECORD_TOO_LARGE',
        `A record batch for ${this.topic}-${this.partition} would take ${needed} bytes; Kafka's format ends at ${maxBatchBytes}.`,
        { place: { topic: this.topic, partition: this.partition } },
      );
    const grown = this.#pool.take(Math.min(Math.max(needed, this.#bytes.length * 2), maxBatchBytes));
    this.#bytes.copy(grown, batchHeaderBytes, batchHeaderBytes, this.#position);
    this.#pool.give(this.#bytes);
    this.#bytes = grown;
  }
}

function copyRange(from: Uint8Array, start: number, end: number, to: Buffer, position: number): void {
  if (end - start > loopCopyBytes) {
    to.set(start === 0 && end === from.length ? from : from.subarray(start, end), position);
    return;
  }
  for (let i = start; i < end; i++) to[position++] = from[i];
}
