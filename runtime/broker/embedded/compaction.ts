/**
 * Compaction by key, as Kafka's log cleaner does it: of the records below the last stable offset only the last one per key stays, at its offset. Tombstones stay
 * until `delete.retention.ms` after the pass that first saw them; records of aborted transactions and markers go. The newest batch is never touched,
 * so that a reader always finds its way to the end. Works in slices: what is appended or read in between sees whole batches.
 */
import { at, batchHeaderBytes } from '../records/batchHeader.ts';
import { compressions, decompressRecords } from '../records/compression.ts';
import { VarintCursor } from '../records/varint.ts';
import type { PartitionLog } from './partitionLog.ts';
import { isAbortMarker, readStoredHeader, resealBatch } from './storedBatch.ts';
import type { CleanupPolicy } from './topicConfigs.ts';

const sliceBytes = 1024 * 1024;
/** Keys remembered in one pass; a pass with more ends earlier in the log. */
const maxKeyBytes = 32 * 1024 * 1024;
/** What a map entry takes beside its key. */
const keyOverheadBytes = 64;

export interface CompactionHost {
  /** Runs `body` in a write transaction. */
  write(body: () => void): void;
  /** Lets appends go on; false: stop. */
  pause(): Promise<boolean>;
}

export function needsCompaction(log: PartitionLog, policy: CleanupPolicy): boolean {
  const { bytes, cleanedBytes, cleanedTo, lastStable } = log.state;
  const dirtyBytes = bytes - cleanedBytes;
  return dirtyBytes > 0 && cleanedTo < lastStable && dirtyBytes >= bytes * policy.minCleanableDirtyRatio;
}

export async function compactPartition(
  log: PartitionLog,
  policy: CleanupPolicy,
  now: number,
  host: CompactionHost,
): Promise<void> {
  const pass = new CompactionPass(log, policy, now, host);
  await pass.run();
}

class CompactionPass {
  #log: PartitionLog;
  #policy: CleanupPolicy;
  #now: number;
  #host: CompactionHost;
  #latest = new Map<string, number>();
  #keyBytes = 0;

  constructor(log: PartitionLog, policy: CleanupPolicy, now: number, host: CompactionHost) {
    this.#log = log;
    this.#policy = policy;
    this.#now = now;
    this.#host = host;
  }

  async run(): Promise<void> {
    const log = this.#log;
    const end = await this.#collectKeys();
    if (end === null || end <= log.state.cleanedTo) return;
    const tombstonesBelow = log.cleanedBefore(this.#now - this.#policy.deleteRetentionMs);
    let cleanedBytes = 0;
    for (let from = log.state.earliest; from < end; ) {
      if (log.deleted) return;
      const slice = this.#readSlice(from, end);
      if (slice.length === 0) break;
      const changes: { baseOffset: number; batch: Buffer; replacement: Buffer | null; abortMarker: boolean }[] = [];
      for (const { baseOffset, batch } of slice) {
        const replacement = await this.#cleanBatch(batch, tombstonesBelow);
        cleanedBytes += replacement?.length ?? 0;
        if (replacement !== batch)
          changes.push({ baseOffset, batch, replacement, abortMarker: replacement === null && isAbort(batch) });
        from = readStoredHeader(batch).lastOffset + 1;
      }
      if (log.deleted) return;
      if (changes.length > 0)
        this.#host.write(() => {
          for (const { baseOffset, batch, replacement, abortMarker } of changes) {
            if (replacement === null) log.remove(baseOffset, batch.length);
            else log.replace(baseOffset, batch.length, replacement);
            // Together with the marker: later records of the producer must not be taken for aborted ones.
            if (abortMarker) log.removeAborted(baseOffset);
          }
        });
      if (!(await this.#host.pause())) return;
    }
    this.#host.write(() => log.setCleaned(end, cleanedBytes, this.#now, this.#policy.deleteRetentionMs));
  }

  /** Finds the last offset of each key in what was not yet cleaned. Returns the end of what this pass cleans; null: stopped. */
  async #collectKeys(): Promise<number | null> {
    const log = this.#log;
    const { lastStable } = log.state;
    const newestBatch = log.lastBatchOffset();
    const limit = Math.min(lastStable, newestBatch ?? 0);
    let from = Math.max(log.state.cleanedTo, log.state.earliest);
    while (from < limit) {
      const slice = this.#readSlice(from, limit);
      if (slice.length === 0) break;
      for (const { batch } of slice) {
        const header = readStoredHeader(batch);
        if (header.maxTimestamp > this.#now - this.#policy.minCompactionLagMs) return from;
        if (this.#keyBytes > maxKeyBytes) return from;
        if (!header.control && !log.isAborted(header.producerId, header.baseOffset, header.transactional))
          walkRecords(await recordsOf(batch), record => {
            if (record.key === null) return;
            if (!this.#latest.has(record.key)) this.#keyBytes += record.key.length + keyOverheadBytes;
            this.#latest.set(record.key, header.baseOffset + record.offsetDelta);
          });
        from = header.lastOffset + 1;
      }
      if (!(await this.#host.pause()) || log.deleted) return null;
    }
    return from;
  }

  #readSlice(from: number, end: number): { baseOffset: number; batch: Buffer }[] {
    const slice: { baseOffset: number; batch: Buffer }[] = [];
    let bytes = 0;
    for (const entry of this.#log.batches(from, end)) {
      slice.push(entry);
      bytes += entry.batch.length;
      if (bytes >= sliceBytes) break;
    }
    return slice;
  }

  /** The batch itself if all of it stays, null if nothing does, else a batch with the rest, uncompressed. */
  async #cleanBatch(batch: Buffer, tombstonesBelow: number): Promise<Buffer | null> {
    const header = readStoredHeader(batch);
    if (header.control || this.#log.isAborted(header.producerId, header.baseOffset, header.transactional)) return null;
    const records = await recordsOf(batch);
    const kept: Buffer[] = [];
    walkRecords(records, record => {
      const offset = header.baseOffset + record.offsetDelta;
      const superseded = record.key !== null && (this.#latest.get(record.key) ?? -1) > offset;
      const outdated = record.tombstone && offset < tombstonesBelow;
      if (!superseded && !outdated) kept.push(records.subarray(record.start, record.end));
    });
    if (kept.length === header.recordCount) return batch;
    if (kept.length === 0) return null;
    // Deltas are against a base that stays, so that records are taken over byte by byte.
    const rest = Buffer.concat([batch.subarray(0, batchHeaderBytes), ...kept]);
    rest.writeInt16BE(rest.readInt16BE(at.attributes) & ~7, at.attributes);
    rest.writeInt32BE(kept.length, at.recordCount);
    return resealBatch(rest);
  }
}

function isAbort(batch: Buffer): boolean {
  return readStoredHeader(batch).control && isAbortMarker(batch);
}

function recordsOf(batch: Buffer): Promise<Buffer> {
  return decompressRecords(batch.subarray(batchHeaderBytes), compressions[readStoredHeader(batch).codec]);
}

interface WalkedRecord {
  /** [start, end) of the walked bytes, length included. */
  readonly start: number;
  readonly end: number;
  readonly offsetDelta: number;
  /** Latin-1, one character a byte. */
  readonly key: string | null;
  readonly tombstone: boolean;
}

function walkRecords(records: Buffer, visit: (record: WalkedRecord) => void): void {
  const cursor = new VarintCursor(records, 0, records.length);
  while (cursor.position < records.length) {
    const start = cursor.position;
    const length = cursor.varint();
    const end = cursor.position + length;
    cursor.skip(1);
    cursor.varlong();
    const offsetDelta = cursor.varint();
    const keyLength = cursor.varint();
    const key = keyLength < 0 ? null : records.toString('latin1', cursor.skip(keyLength), cursor.position);
    const tombstone = cursor.varint() < 0;
    visit({ start, end, offsetDelta, key, tombstone });
    cursor.position = end;
  }
}
