/** Batches of one partition on their way, in order: sent ones first. State only; `ProduceSender` decides what happens. */
import type { PendingBatch } from '../port.ts';

/** One batch, or a piece of one that was split. */
export interface Outgoing {
  readonly pending: PendingBatch;
  readonly baseSequence: number;
  /** null while it is compressed. */
  sealed: Buffer | null;
  readonly since: number;
  /** Refused as too large: to be split before the next attempt. */
  tooLarge: boolean;
  /** Called once; -1 = the offset is not known. */
  readonly delivered: (baseOffset: bigint) => void;
  readonly failed: (error: Error) => void;
}

export class PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  readonly batches: Outgoing[] = [];
  /** batches[0, sent) wait for an answer, or had one that asks for a retry. */
  sent = 0;
  inFlight = 0;
  /** Something sent must be sent again: as soon as nothing is in flight, all starts from the first. */
  draining = false;
  attempts = 0;
  retryAt = 0;
  /** Whether the broker has acknowledged a batch of this producer: from then on it finds gaps by itself. */
  known = false;
  /** Transactions: whether the coordinator knows of the partition. */
  added = false;
  /** When the topic was first found missing. */
  missingSince = 0;
  #nextSequence = 0;

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  /** Reserves the sequence numbers of `count` records. */
  takeSequence(count: number): number {
    const first = this.#nextSequence;
    this.#nextSequence = addToSequence(first, count);
    return first;
  }

  /** The next batch to send, if it may go now. */
  sendable(now: number, maxInFlight: number): Outgoing | null {
    if (this.draining || this.retryAt > now || this.inFlight >= maxInFlight) return null;
    const next = this.batches[this.sent];
    return next?.sealed ? next : null;
  }
}

/** Sequence numbers wrap from the largest int32 to 0. */
export function addToSequence(sequence: number, count: number): number {
  const sum = sequence + count;
  return sum > 0x7fff_ffff ? sum - 0x8000_0000 : sum;
}
