/** The header fields of a stored record batch that the log itself reads or writes, and the transaction markers it makes. */
import { crc32c } from '@node-rs/crc32';
import {
  at,
  batchHeaderBytes,
  compressionMask,
  controlFlag,
  logOverheadBytes,
  readInt64,
  transactionalFlag,
  writeInt64,
} from '../records/batchHeader.ts';

export interface StoredBatchHeader {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly baseTimestamp: number;
  readonly maxTimestamp: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly recordCount: number;
  readonly transactional: boolean;
  readonly control: boolean;
  /** Index into `compressions`. */
  readonly codec: number;
}

export function readStoredHeader(batch: Buffer): StoredBatchHeader {
  const attributes = batch.readInt16BE(at.attributes);
  const baseOffset = readInt64(batch, at.baseOffset);
  return {
    baseOffset,
    lastOffset: baseOffset + batch.readInt32BE(at.lastOffsetDelta),
    baseTimestamp: readInt64(batch, at.baseTimestamp),
    maxTimestamp: readInt64(batch, at.maxTimestamp),
    producerId: batch.readBigInt64BE(at.producerId),
    producerEpoch: batch.readInt16BE(at.producerEpoch),
    recordCount: batch.readInt32BE(at.recordCount),
    transactional: (attributes & transactionalFlag) !== 0,
    control: (attributes & controlFlag) !== 0,
    codec: attributes & compressionMask,
  };
}

/** Not covered by the checksum, so that the log may set it on a sealed batch. Returns the last offset. */
export function setBaseOffset(batch: Buffer, offset: number): number {
  writeInt64(batch, offset, at.baseOffset);
  return offset + batch.readInt32BE(at.lastOffsetDelta);
}

/** Sets length and checksum of a batch whose other fields are right. */
export function resealBatch(batch: Buffer): Buffer {
  batch.writeInt32BE(batch.length - logOverheadBytes, at.batchLength);
  batch.writeUInt32BE(crc32c(batch.subarray(at.attributes)), at.crc);
  return batch;
}

/** Where the two bytes of a marker's type are in its batch: length, attributes, two deltas, key length, key version come before. */
const markerTypeAt = batchHeaderBytes + 7;

/** One control record: key (version 0, type), value (version 0, coordinator epoch 0), no headers. */
export function controlBatch(producerId: bigint, producerEpoch: number, commit: boolean, timestamp: number): Buffer {
  const record = Buffer.from([32, 0, 0, 0, 8, 0, 0, 0, commit ? 1 : 0, 12, 0, 0, 0, 0, 0, 0, 0]);
  const batch = Buffer.alloc(batchHeaderBytes + record.length);
  batch[at.magic] = 2;
  batch.writeInt16BE(transactionalFlag | controlFlag, at.attributes);
  writeInt64(batch, timestamp, at.baseTimestamp);
  writeInt64(batch, timestamp, at.maxTimestamp);
  batch.writeBigInt64BE(producerId, at.producerId);
  batch.writeInt16BE(producerEpoch, at.producerEpoch);
  batch.writeInt32BE(-1, at.baseSequence);
  batch.writeInt32BE(1, at.recordCount);
  record.copy(batch, batchHeaderBytes);
  return resealBatch(batch);
}

export function isAbortMarker(control: Buffer): boolean {
  return control.readInt16BE(markerTypeAt) === 0;
}
