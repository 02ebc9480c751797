/**
 * One partition as the log thread keeps it: where the log begins and ends, and its open transactions. Changes are made inside a write transaction of
 * the store; what is in memory follows it, back as well.
 */

import {
  decodeAborted,
  encodeAborted,
  encodePartitionState,
  logKey,
  offsetOfKey,
  type PartitionState,
  partitionKey,
  type Store,
} from './store.ts';
import { isAbortMarker, readStoredHeader, setBaseOffset } from './storedBatch.ts';
import type { UndoLog } from './undoLog.ts';

export interface LogContext {
  readonly store: Store;
  readonly undo: UndoLog;
  /** Partitions whose state has to be written before the commit. */
  readonly changed: Set<PartitionLog>;
}

/** Compaction passes remembered for one `delete.retention.ms`: tombstones stay at most this fraction of it longer. */
const passesPerRetention = 50;

export class PartitionLog {
  readonly topic: string;
  readonly topicId: number;
  readonly partition: number;
  deleted = false;
  #context: LogContext;
  #state: PartitionState;
  /** Producer id to the first offset of its open transaction. */
  #open: ReadonlyMap<bigint, number> = new Map();

  constructor(context: LogContext, topic: string, topicId: number, partition: number, state: PartitionState) {
    this.#context = context;
    this.topic = topic;
    this.topicId = topicId;
    this.partition = partition;
    this.#state = state;
  }

  get state(): PartitionState {
    return this.#state;
  }

  /** Gives the batch its offsets and stores it. Returns the first one. */
  append(batch: Buffer): number {
    const baseOffset = this.#state.next;
    const next = setBaseOffset(batch, baseOffset) + 1;
    this.#context.store.log.putSync(logKey(this.topicId, this.partition, baseOffset), batch);
    this.#change({ next, bytes: this.#state.bytes + batch.length });
    return baseOffset;
  }

  openTransaction(producerId: bigint, firstOffset: number): void {
    this.#change({}, new Map(this.#open).set(producerId, firstOffset));
  }

  /** Appends the marker that ends a transaction. */
  endTransaction(producerId: bigint, firstOffset: number, marker: Buffer): void {
    const markerOffset = this.append(marker);
    if (isAbortMarker(marker))
      this.#context.store.aborted.putSync(
        logKey(this.topicId, this.partition, markerOffset),
        encodeAborted({ producerId, firstOffset }),
      );
    const open = new Map(this.#open);
    open.delete(producerId);
    this.#change({}, open);
  }

  /** Transactions that were open when the last process ended: their producers are gone. */
  *unfinishedTransactions(): Generator<{ producerId: bigint; epoch: number; firstOffset: number }> {
    const { lastStable, next } = this.#state;
    if (lastStable === next) return;
    const unfinished = new Map<bigint, { producerId: bigint; epoch: number; firstOffset: number }>();
    for (const { batch } of this.batches(lastStable, next)) {
      const header = readStoredHeader(batch);
      if (header.control) unfinished.delete(header.producerId);
      else if (header.transactional && !unfinished.has(header.producerId))
        unfinished.set(header.producerId, {
          producerId: header.producerId,
          epoch: header.producerEpoch,
          firstOffset: header.baseOffset,
        });
    }
    yield* unfinished.values();
  }

  /** Batches whose first offset is in [from, to), in order. */
  *batches(from: number, to: number): Generator<{ baseOffset: number; batch: Buffer }> {
    const range = this.#range(from, to);
    for (const { key, value } of this.#context.store.log.getRange(range))
      yield { baseOffset: offsetOfKey(key), batch: value };
  }

  /** First offset of the newest batch. */
  lastBatchOffset(): number | null {
    const { log } = this.#context.store;
    const start = logKey(this.topicId, this.partition, this.#state.next);
    for (const key of log.getKeys({ start, reverse: true, limit: 1 }))
      return key.compare(start, 0, 8, 0, 8) === 0 ? offsetOfKey(key) : null;
    return null;
  }

  /** Takes a batch of `bytes` out. */
  remove(baseOffset: number, bytes: number): void {
    this.#context.store.log.removeSync(logKey(this.topicId, this.partition, baseOffset));
    this.#shrink(baseOffset, bytes);
  }

  /** Puts another batch with the same offsets in the place of one of `bytes`. */
  replace(baseOffset: number, bytes: number, replacement: Buffer): void {
    this.#context.store.log.putSync(logKey(this.topicId, this.partition, baseOffset), replacement);
    this.#shrink(baseOffset, bytes - replacement.length);
  }

  /** Whether a transactional batch is part of an aborted transaction. */
  isAborted(producerId: bigint, baseOffset: number, transactional: boolean): boolean {
    if (!transactional) return false;
    // The first marker of the producer behind the batch decides.
    for (const { value } of this.#context.store.aborted.getRange(this.#range(baseOffset, this.#state.next))) {
      const aborted = decodeAborted(value);
      if (aborted.producerId === producerId) return aborted.firstOffset <= baseOffset;
    }
    return false;
  }

  removeAborted(markerOffset: number): void {
    this.#context.store.aborted.removeSync(logKey(this.topicId, this.partition, markerOffset));
  }

  removeAbortedBelow(offset: number): void {
    const { aborted } = this.#context.store;
    for (const key of [...aborted.getKeys(this.#range(0, offset))]) aborted.removeSync(key);
  }

  /** The log now begins at `offset`; batches below are gone already. */
  setEarliest(offset: number): void {
    this.#change({ earliest: offset });
  }

  /** A compaction pass ended that left `cleanedBytes` below `cleanedTo`. Remembers when, for the tombstones below. */
  setCleaned(cleanedTo: number, cleanedBytes: number, now: number, deleteRetentionMs: number): void {
    let passes = this.#passes();
    const last = passes.at(-1);
    if (last === undefined || now - last.at >= deleteRetentionMs / passesPerRetention)
      passes = [...passes, { cleanedTo, at: now }];
    const outdated = passes.findLastIndex(pass => pass.at <= now - deleteRetentionMs);
    this.#context.store.meta.putSync(['cleaned', this.topicId, this.partition], passes.slice(Math.max(0, outdated)));
    this.#change({ cleanedTo, cleanedBytes });
  }

  /** Everything below was seen by a pass at or before `time`. */
  cleanedBefore(time: number): number {
    return Math.max(0, ...this.#passes().map(pass => (pass.at <= time ? pass.cleanedTo : 0)));
  }

  writeState(): void {
    if (this.deleted) return;
    this.#context.store.partitions.putSync(
      partitionKey(this.topicId, this.partition),
      encodePartitionState(this.#state),
    );
  }

  #shrink(baseOffset: number, byBytes: number): void {
    const { bytes, cleanedTo, cleanedBytes } = this.#state;
    this.#change({
      bytes: bytes - byBytes,
      cleanedBytes: baseOffset < cleanedTo ? cleanedBytes - byBytes : cleanedBytes,
    });
  }

  #passes(): readonly { readonly cleanedTo: number; readonly at: number }[] {
    const passes = this.#context.store.meta.get(['cleaned', this.topicId, this.partition]);
    return (passes ?? []) as { cleanedTo: number; at: number }[];
  }

  #range(from: number, to: number): { start: Buffer; end: Buffer } {
    return { start: logKey(this.topicId, this.partition, from), end: logKey(this.topicId, this.partition, to) };
  }

  #change(change: Partial<PartitionState>, open: ReadonlyMap<bigint, number> = this.#open): void {
    const { undo, changed } = this.#context;
    if (!changed.has(this)) {
      const before = this.#state;
      const openBefore = this.#open;
      undo.push(() => {
        this.#state = before;
        this.#open = openBefore;
      });
      changed.add(this);
    }
    const next = change.next ?? this.#state.next;
    let lastStable = next;
    for (const firstOffset of open.values()) lastStable = Math.min(lastStable, firstOffset);
    this.#open = open;
    this.#state = { ...this.#state, ...change, lastStable };
  }
}
