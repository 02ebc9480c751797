/**
 * One partition as the log thread keeps it: where the log begins and ends, and its open transactions. Changes are made inside a write transaction of
 * the store; what is in memory follows it, back as well.
 */

import {
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
    const { log } = this.#context.store;
    const start = logKey(this.topicId, this.partition, from);
    const end = logKey(this.topicId, this.partition, to);
    for (const { key, value } of log.getRange({ start, end })) yield { baseOffset: offsetOfKey(key), batch: value };
  }

  /** Takes a batch out; with `replacement`, puts that in its place. */
  replace(baseOffset: number, batch: Buffer, replacement: Buffer | null): void {
    const { store } = this.#context;
    const key = logKey(this.topicId, this.partition, baseOffset);
    if (replacement === null) store.log.removeSync(key);
    else store.log.putSync(key, replacement);
    this.#change({ bytes: this.#state.bytes - batch.length + (replacement?.length ?? 0) });
  }

  removeAborted(markerOffset: number): void {
    this.#context.store.aborted.removeSync(logKey(this.topicId, this.partition, markerOffset));
  }

  /** The log now begins at `offset`; batches below are gone already. */
  setEarliest(offset: number): void {
    this.#change({ earliest: offset });
  }

  setCleaned(cleanedTo: number): void {
    this.#change({ cleanedTo, cleanedBytes: this.#state.bytes });
  }

  writeState(): void {
    if (this.deleted) return;
    this.#context.store.partitions.putSync(
      partitionKey(this.topicId, this.partition),
      encodePartitionState(this.#state),
    );
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
