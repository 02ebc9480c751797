/** Cuts a batch that is larger than a request or a topic allows. Records keep their order and timestamps; a single record is never cut. */
import type { PendingBatch } from '../port.ts';
import { batchHeaderBytes } from './batchHeader.ts';
import { RecordBatchBuilder } from './recordBatchBuilder.ts';
import { VarintCursor } from './varint.ts';

export function splitBatch(batch: PendingBatch, maxBytes: number): PendingBatch[] {
  if (batch.bytes.length <= maxBytes || batch.recordCount === 1) return [batch];
  const parts: PendingBatch[] = [];
  const { bytes } = batch;
  const cursor = new VarintCursor(bytes, batchHeaderBytes, bytes.length);
  let builder: RecordBatchBuilder | null = null;
  while (cursor.position < bytes.length) {
    const recordStart = cursor.position;
    const length = cursor.varint();
    const end = cursor.position + length;
    cursor.skip(1);
    const timestamp = batch.baseTimestamp + cursor.varlong();
    cursor.varint();
    const keyLength = cursor.varint();
    const keyStart = keyLength < 0 ? -1 : cursor.skip(keyLength);
    const keyEnd = cursor.position;
    const valueLength = cursor.varint();
    const valueStart = valueLength < 0 ? -1 : cursor.skip(valueLength);
    const valueEnd = cursor.position;
    if (builder !== null && builder.byteLength + (end - recordStart) > maxBytes) {
      parts.push(builder.finish());
      builder = null;
    }
    // Offset deltas only get smaller, so that a record never takes more than it took.
    builder ??= new RecordBatchBuilder(
      batch.topic,
      batch.partition,
      batch.baseTimestamp,
      Math.min(maxBytes, bytes.length),
    );
    builder.append(timestamp, bytes, keyStart, keyEnd, bytes, valueStart, valueEnd, bytes.subarray(valueEnd, end));
    cursor.position = end;
  }
  if (builder !== null) parts.push(builder.finish());
  return parts;
}
