/**
 * Layout of the header of a record batch, format v2 (Kafka's "magic 2"): where each field is, and what the attribute bits mean.
 * https://kafka.apache.org/documentation/#recordbatch
 */

/** Bytes of the header; the records follow. */
export const batchHeaderBytes = 61;
/** `baseOffset` and `batchLength`, which `batchLength` does not count. */
export const logOverheadBytes = 12;

export const at = {
  baseOffset: 0,
  batchLength: 8,
  partitionLeaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
} as const;

export const compressionMask = 0x07;
export const logAppendTimeFlag = 0x08;
export const transactionalFlag = 0x10;
export const controlFlag = 0x20;

/** No record takes less: length, attributes, timestamp and offset delta, key length, value length, header count of a byte each. */
export const minRecordBytes = 7;

/** A 64-bit integer as a number; NaN where it does not fit one exactly. */
export function readInt64(bytes: Buffer, position: number): number {
  const value = bytes.readInt32BE(position) * 0x1_0000_0000 + bytes.readUInt32BE(position + 4);
  return Number.isSafeInteger(value) ? value : Number.NaN;
}

export function writeInt64(bytes: Buffer, value: number, position: number): void {
  const low = value % 0x1_0000_0000;
  bytes.writeInt32BE(Math.floor(value / 0x1_0000_0000), position);
  bytes.writeUInt32BE(low < 0 ? low + 0x1_0000_0000 : low, position + 4);
}
