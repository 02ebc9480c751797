/**
 * Makes a batch ready for the wire or the log: compresses, fills the header, computes the checksum. Uncompressed batches are sealed in place, without a copy.
 */
import { crc32c } from '@node-rs/crc32';
import type { Compression, PendingBatch } from '../port.ts';
import { at, batchHeaderBytes, logOverheadBytes, transactionalFlag, writeInt64 } from './batchHeader.ts';
import { compressions, compressRecords } from './compression.ts';

export interface SealOptions {
  readonly compression: Compression;
  /** -1 = none; then epoch and sequence are -1 too. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly transactional: boolean;
}

export async function sealBatch(pending: PendingBatch, options: SealOptions): Promise<Buffer> {
  let bytes = pending.bytes;
  if (options.compression !== 'none') {
    const pieces = await compressRecords(bytes.subarray(batchHeaderBytes), options.compression);
    bytes = Buffer.concat([Buffer.alloc(batchHeaderBytes), ...pieces]);
  }
  return sealInPlace(bytes, pending, options);
}

/** Fills header and checksum of `bytes`, whose records are compressed already as `options` say. */
export function sealInPlace(bytes: Buffer, pending: PendingBatch, options: SealOptions): Buffer {
  writeInt64(bytes, 0, at.baseOffset);
  bytes.writeInt32BE(bytes.length - logOverheadBytes, at.batchLength);
  bytes.writeInt32BE(-1, at.partitionLeaderEpoch);
  bytes[at.magic] = 2;
  bytes.writeInt16BE(
    compressions.indexOf(options.compression) | (options.transactional ? transactionalFlag : 0),
    at.attributes,
  );
  bytes.writeInt32BE(pending.recordCount - 1, at.lastOffsetDelta);
  writeInt64(bytes, pending.baseTimestamp, at.baseTimestamp);
  writeInt64(bytes, pending.maxTimestamp, at.maxTimestamp);
  bytes.writeBigInt64BE(options.producerId, at.producerId);
  bytes.writeInt16BE(options.producerEpoch, at.producerEpoch);
  bytes.writeInt32BE(options.baseSequence, at.baseSequence);
  bytes.writeInt32BE(pending.recordCount, at.recordCount);
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc);
  return bytes;
}
