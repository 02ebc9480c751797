/**
 * Walks the record batches of a stretch of log by their headers alone. Every batch it yields is whole, of format v2, and (if asked) has the right checksum;
 * a batch cut off at the end, which every fetch may have, is left out.
 */
import { crc32c } from '@node-rs/crc32';
import { ConnectError } from '../../../schemas/errors.ts';
import { at, batchHeaderBytes, compressionMask, logOverheadBytes, minRecordBytes, readInt64 } from './batchHeader.ts';
import { compressions } from './compression.ts';

export interface ScannedBatch {
  /** Of the whole batch in the scanned bytes. */
  readonly start: number;
  readonly end: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly recordCount: number;
  readonly attributes: number;
}

export function corruptBatch(
  topic: string,
  partition: number,
  offset: number,
  why: string,
  cause?: unknown,
): ConnectError {
  return new ConnectError(
    'BROKER_CORRUPT_BATCH',
    `The record batch at ${topic}-${partition} offset ${offset} cannot be read: ${why}.`,
    { place: { topic, partition, offset }, cause },
  );
}

export function scanBatches(
  log: { readonly topic: string; readonly partition: number; readonly bytes: Buffer; readonly fetchOffset: number },
  checkCrcs: boolean,
): ScannedBatch[] {
  const { topic, partition, bytes } = log;
  const batches: ScannedBatch[] = [];
  let expected = log.fetchOffset;
  let start = 0;
  // Magic stands at the same place in all formats, so that old ones are told from damage before anything else is believed.
  while (bytes.length - start > at.magic) {
    const fail = (why: string): ConnectError => corruptBatch(topic, partition, expected, why);
    const magic = bytes[start + at.magic];
    if (magic === 0 || magic === 1)
      throw new ConnectError(
        'BROKER_OLD_MESSAGE_FORMAT',
        `${topic}-${partition} offset ${expected} has messages of format v${magic}, from before Kafka 0.11. Copy the topic with a tool that reads them, or wait until retention removed them.`,
        { place: { topic, partition, offset: expected } },
      );
    if (magic !== 2) throw fail(`its format is v${magic}, which is not known`);
    const batchLength = bytes.readInt32BE(start + at.batchLength);
    if (batchLength < batchHeaderBytes - logOverheadBytes) throw fail(`its length is ${batchLength}`);
    const end = start + logOverheadBytes + batchLength;
    if (end > bytes.length) break;
    if (checkCrcs) {
      const stored = bytes.readUInt32BE(start + at.crc);
      const computed = crc32c(bytes.subarray(start + at.attributes, end));
      if (stored !== computed) throw fail(`its checksum is ${stored}, its bytes give ${computed}`);
    }
    const attributes = bytes.readInt16BE(start + at.attributes);
    if ((attributes & compressionMask) >= compressions.length)
      throw fail(`its compression ${attributes & compressionMask} is not known`);
    const baseOffset = readInt64(bytes, start + at.baseOffset);
    const lastOffset = baseOffset + bytes.readInt32BE(start + at.lastOffsetDelta);
    if (!(baseOffset >= 0 && lastOffset >= baseOffset && Number.isSafeInteger(lastOffset)))
      throw fail(`its offsets are ${baseOffset} to ${lastOffset}`);
    if (batches.length > 0 && baseOffset < expected) throw fail(`its first offset ${baseOffset} repeats earlier ones`);
    const recordCount = bytes.readInt32BE(start + at.recordCount);
    const plain = (attributes & compressionMask) === 0;
    if (recordCount < 0 || recordCount > lastOffset - baseOffset + 1 || (plain && recordCount * minRecordBytes > end))
      throw fail(`it claims ${recordCount} records`);
    batches.push({ start, end, baseOffset, lastOffset, recordCount, attributes });
    expected = lastOffset + 1;
    start = end;
  }
  return batches;
}
