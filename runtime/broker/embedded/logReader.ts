/** Reads one partition from the store, from any thread or process: whole batches from the one that holds the offset on. */
import type { FetchedPartition } from '../port.ts';
import { decodeAborted, logKey, offsetOfKey, type PartitionState, type Store } from './store.ts';
import { readStoredHeader } from './storedBatch.ts';

export type Isolation = 'read_uncommitted' | 'read_committed';

export interface FetchRequest {
  readonly topic: string;
  readonly topicId: number;
  readonly partition: number;
  /** Between `state.earliest` and `state.next`. */
  readonly offset: number;
  readonly maxBytes: number;
  readonly isolation: Isolation;
}

/** The stretch, and the offset that follows it; null: nothing to read yet. The first batch is returned whatever its size. */
export function fetchPartition(
  store: Store,
  request: FetchRequest,
  state: PartitionState,
): { readonly fetched: FetchedPartition; readonly nextOffset: number } | null {
  const { topic, topicId, partition, offset, isolation } = request;
  const limit = isolation === 'read_committed' ? state.lastStable : state.next;
  if (offset >= limit) return null;
  const batches: Buffer[] = [];
  let bytes = 0;
  let nextOffset = offset;
  const start = logKey(topicId, partition, firstBatchOffset(store, request));
  const end = logKey(topicId, partition, limit);
  for (const { value } of store.log.getRange({ start, end })) {
    if (bytes > 0 && bytes + value.length > request.maxBytes) break;
    batches.push(value);
    bytes += value.length;
    if (bytes >= request.maxBytes) break;
  }
  if (batches.length === 0) return null;
  nextOffset = readStoredHeader(batches[batches.length - 1]).lastOffset + 1;
  const fetched: FetchedPartition = {
    topic,
    partition,
    bytes: batches.length === 1 ? batches[0] : Buffer.concat(batches, bytes),
    fetchOffset: offset,
    highWatermark: state.next,
    lastStableOffset: state.lastStable,
    abortedTransactions: isolation === 'read_committed' ? abortedWithin(store, request, nextOffset) : [],
  };
  return { fetched, nextOffset };
}

/** Where the batch starts that holds the offset; the offset itself if it lies between batches, as after compaction. */
function firstBatchOffset(store: Store, { topicId, partition, offset }: FetchRequest): number {
  const at = logKey(topicId, partition, offset);
  for (const { key, value } of store.log.getRange({ start: at, reverse: true, limit: 1 })) {
    if (key.compare(at, 0, 8, 0, 8) !== 0) return offset;
    return readStoredHeader(value).lastOffset >= offset ? offsetOfKey(key) : offset;
  }
  return offset;
}

function abortedWithin(
  store: Store,
  { topicId, partition, offset }: FetchRequest,
  end: number,
): FetchedPartition['abortedTransactions'] {
  const aborted: { producerId: bigint; firstOffset: bigint }[] = [];
  const range = { start: logKey(topicId, partition, offset), end: logKey(topicId, partition, Number.MAX_SAFE_INTEGER) };
  for (const { value } of store.aborted.getRange(range)) {
    const { producerId, firstOffset } = decodeAborted(value);
    if (firstOffset < end) aborted.push({ producerId, firstOffset: BigInt(firstOffset) });
  }
  return aborted;
}
