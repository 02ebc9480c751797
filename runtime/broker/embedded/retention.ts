/** Removes the oldest batches of a partition: past `retention.ms`, or beyond `retention.bytes`. Nothing of an open transaction or behind it. */
import type { PartitionLog } from './partitionLog.ts';
import { readStoredHeader } from './storedBatch.ts';
import type { CleanupPolicy } from './topicConfigs.ts';

/** What one slice may read and remove. */
const maxSliceBatches = 200;
const maxSliceBytes = 8 * 1024 * 1024;

export interface RetentionSlice {
  readonly batches: readonly { readonly baseOffset: number; readonly bytes: number }[];
  /** The first offset kept. */
  readonly earliest: number;
}

/** The next batches to remove; null: nothing to remove. */
export function planRetention(log: PartitionLog, policy: CleanupPolicy, now: number): RetentionSlice | null {
  const { lastStable, bytes } = log.state;
  let { earliest } = log.state;
  const batches: { baseOffset: number; bytes: number }[] = [];
  let sliceBytes = 0;
  for (const { baseOffset, batch } of log.batches(earliest, lastStable)) {
    const { maxTimestamp, lastOffset } = readStoredHeader(batch);
    const expired = now - maxTimestamp > policy.retentionMs;
    const beyond = bytes - sliceBytes - batch.length >= policy.retentionBytes;
    if (!expired && !beyond) break;
    batches.push({ baseOffset, bytes: batch.length });
    sliceBytes += batch.length;
    earliest = lastOffset + 1;
    if (batches.length === maxSliceBatches || sliceBytes >= maxSliceBytes) break;
  }
  return batches.length === 0 ? null : { batches, earliest };
}

/** Within a write transaction. */
export function applyRetention(log: PartitionLog, slice: RetentionSlice): void {
  for (const { baseOffset, bytes } of slice.batches) log.remove(baseOffset, bytes);
  log.setEarliest(slice.earliest);
  log.removeAbortedBelow(slice.earliest);
}
