/**
 * Reads a fetched stretch of a partition into columns. All bytes are checked before they are believed: damage ends in BROKER_CORRUPT_BATCH with topic,
 * partition and offset, never in a wrong record. Control records, records of aborted transactions (read_committed) and records below the fetch offset
 * are left out.
 */
import type { FetchedPartition } from '../port.ts';
import {
  at,
  batchHeaderBytes,
  compressionMask,
  controlFlag,
  logAppendTimeFlag,
  minRecordBytes,
  readInt64,
  transactionalFlag,
} from './batchHeader.ts';
import { corruptBatch, type ScannedBatch, scanBatches } from './batchScan.ts';
import { compressions, decompressRecords } from './compression.ts';
import { walkHeaders } from './recordHeaders.ts';
import { VarintCursor } from './varint.ts';

export type Isolation = 'read_uncommitted' | 'read_committed';

export interface RecordColumns {
  readonly topic: string;
  readonly partition: number;
  readonly bytes: Buffer;
  readonly count: number;
  readonly offsets: Float64Array;
  /** ms since the epoch. */
  readonly timestamps: Float64Array;
  /** The key of record i is bytes[keyStarts[i], keyEnds[i]); keyStarts[i] = -1 for null. Values likewise. */
  readonly keyStarts: Int32Array;
  readonly keyEnds: Int32Array;
  readonly valueStarts: Int32Array;
  readonly valueEnds: Int32Array;
  /** Header sections, for `decodeHeaders`; a section of one byte has no header. */
  readonly headerStarts: Int32Array;
  readonly headerEnds: Int32Array;
  /** Where the next fetch starts: behind the last whole batch. */
  readonly nextOffset: number;
}

/** A batch to be read, and where its records are: [start, end) of `bytes`. */
interface Body {
  readonly batch: ScannedBatch;
  readonly start: number;
  readonly end: number;
}

export async function readRecords(
  fetched: FetchedPartition,
  isolation: Isolation,
  options: { readonly checkCrcs?: boolean } = {},
): Promise<RecordColumns> {
  const batches = scanBatches(fetched, options.checkCrcs ?? true);
  const nextOffset = Math.max(fetched.fetchOffset, (batches.at(-1)?.lastOffset ?? -1) + 1);
  const wanted = visibleBatches(fetched, batches, isolation);
  const { bytes, bodies } = await recordBodies(fetched, wanted);

  let capacity = 0;
  for (const { batch, start, end } of bodies) {
    // A compressed batch is checked here: before, its size was not known.
    if (batch.recordCount * minRecordBytes > end - start)
      throw corruptBatch(fetched.topic, fetched.partition, batch.baseOffset, `it claims ${batch.recordCount} records`);
    capacity += batch.recordCount;
  }
  const columns = {
    offsets: new Float64Array(capacity),
    timestamps: new Float64Array(capacity),
    keyStarts: new Int32Array(capacity),
    keyEnds: new Int32Array(capacity),
    valueStarts: new Int32Array(capacity),
    valueEnds: new Int32Array(capacity),
    headerStarts: new Int32Array(capacity),
    headerEnds: new Int32Array(capacity),
  };
  let count = 0;
  for (const body of bodies) {
    try {
      count = readBatch(fetched, bytes, body, columns, count);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw corruptBatch(fetched.topic, fetched.partition, body.batch.baseOffset, why, error);
    }
  }
  return { topic: fetched.topic, partition: fetched.partition, bytes, count, ...columns, nextOffset };
}

type Columns = Omit<RecordColumns, 'topic' | 'partition' | 'bytes' | 'count' | 'nextOffset'>;

function readBatch(fetched: FetchedPartition, bytes: Buffer, body: Body, columns: Columns, first: number): number {
  const { batch } = body;
  const header = fetched.bytes;
  const appendTime = (batch.attributes & logAppendTimeFlag) !== 0;
  const baseTimestamp = readInt64(header, batch.start + (appendTime ? at.maxTimestamp : at.baseTimestamp));
  if (Number.isNaN(baseTimestamp)) throw new Error('its timestamp is out of range');
  const { baseOffset, recordCount } = batch;
  const lastDelta = batch.lastOffset - baseOffset;
  const { fetchOffset } = fetched;
  const cursor = new VarintCursor(bytes, body.start, body.end);
  let previousDelta = -1;
  let index = first;
  for (let i = 0; i < recordCount; i++) {
    cursor.limit = body.end;
    const length = cursor.varint();
    const attributesAt = cursor.skip(length);
    const end = cursor.position;
    cursor.limit = end;
    cursor.position = attributesAt;
    cursor.skip(1);
    const timestampDelta = cursor.varlong();
    const offsetDelta = cursor.varint();
    if (offsetDelta <= previousDelta || offsetDelta > lastDelta)
      throw new Error(`offset delta ${offsetDelta} of record ${i} is out of order`);
    previousDelta = offsetDelta;
    const keyLength = cursor.varint();
    const keyStart = keyLength === -1 ? -1 : cursor.skip(keyLength);
    const keyEnd = cursor.position;
    const valueLength = cursor.varint();
    const valueStart = valueLength === -1 ? -1 : cursor.skip(valueLength);
    const valueEnd = cursor.position;
    if (end - valueEnd !== 1 || bytes[valueEnd] !== 0) walkHeaders(cursor, null);
    cursor.position = end;
    const offset = baseOffset + offsetDelta;
    if (offset < fetchOffset) continue;
    columns.offsets[index] = offset;
    columns.timestamps[index] = appendTime ? baseTimestamp : baseTimestamp + timestampDelta;
    columns.keyStarts[index] = keyStart;
    columns.keyEnds[index] = keyEnd;
    columns.valueStarts[index] = valueStart;
    columns.valueEnds[index] = valueEnd;
    columns.headerStarts[index] = valueEnd;
    columns.headerEnds[index] = end;
    index++;
  }
  if (cursor.position !== body.end) throw new Error('bytes are left behind its last record');
  return index;
}

/** Uncompressed batches stay where they are; as soon as one is compressed, all records move to one new buffer. */
async function recordBodies(
  fetched: FetchedPartition,
  batches: readonly ScannedBatch[],
): Promise<{ bytes: Buffer; bodies: Body[] }> {
  const isPlain = (batch: ScannedBatch): boolean => (batch.attributes & compressionMask) === 0;
  if (batches.every(isPlain)) {
    const bodies = batches.map(batch => ({ batch, start: batch.start + batchHeaderBytes, end: batch.end }));
    return { bytes: fetched.bytes, bodies };
  }
  const parts = await Promise.all(
    batches.map(async batch => {
      const part = fetched.bytes.subarray(batch.start + batchHeaderBytes, batch.end);
      const compression = compressions[batch.attributes & compressionMask]!;
      try {
        return await decompressRecords(part, compression);
      } catch (error) {
        const why = `${compression} says: ${error instanceof Error ? error.message : String(error)}`;
        throw corruptBatch(fetched.topic, fetched.partition, batch.baseOffset, why, error);
      }
    }),
  );
  const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  let end = 0;
  const bodies = batches.map((batch, i) => ({ batch, start: end, end: (end += parts[i]!.length) }));
  return { bytes, bodies };
}

/** Leaves out control batches and, for read_committed, what aborted transactions wrote. */
function visibleBatches(
  fetched: FetchedPartition,
  batches: readonly ScannedBatch[],
  isolation: Isolation,
): readonly ScannedBatch[] {
  const aborted =
    isolation === 'read_committed'
      ? [...fetched.abortedTransactions].sort((a, b) => Number(a.firstOffset - b.firstOffset))
      : [];
  const abortedNow = new Set<bigint>();
  let next = 0;
  return batches.filter(batch => {
    while (next < aborted.length && aborted[next]!.firstOffset <= batch.lastOffset)
      abortedNow.add(aborted[next++]!.producerId);
    if ((batch.attributes & controlFlag) !== 0) {
      if (abortedNow.size > 0) abortedNow.delete(fetched.bytes.readBigInt64BE(batch.start + at.producerId));
      return false;
    }
    if (batch.lastOffset < fetched.fetchOffset) return false;
    if ((batch.attributes & transactionalFlag) === 0 || abortedNow.size === 0) return true;
    return !abortedNow.has(fetched.bytes.readBigInt64BE(batch.start + at.producerId));
  });
}
