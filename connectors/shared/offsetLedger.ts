/**
 * How far a connector has written each topic partition, kept in the target and moved on in the transaction that writes the rows: what is written is
 * written once, whatever is killed. Whoever takes a partition raises its fence first; the transactions of a task that had it before then fail as a whole.
 * This is what the task knows of it; the statements are the sink's.
 */
import { ConnectError, partitionOf, type SinkBatch, type TopicPartition } from '../../runtime/api/index.ts';
import type { RowLog } from './rowLog.ts';

/** A partition that this task holds. */
interface Held {
  readonly topic: string;
  readonly partition: number;
  readonly fence: string;
  /** As in the table; null = nothing is written yet. */
  stored: number | null;
  /** Behind the last record that the task took. */
  taken: number;
}

/** What a transaction moves: each partition from where it is to where it will be. */
export interface Advance {
  readonly held: Held;
  readonly next: number;
}

/** As it is in the target. */
export interface LedgerRow extends TopicPartition {
  /** null = nothing is written yet. */
  readonly nextOffset: number | null;
  readonly fence: string;
}

/** An offset as REST asks for it; null = from the beginning, as if nothing was ever written. */
export interface WantedOffset extends TopicPartition {
  readonly offset: number | null;
}

export class OffsetLedger {
  readonly connector: string;
  /** For messages. */
  readonly #table: string;
  readonly #held = new Map<string, Held>();

  constructor(connector: string, table: string) {
    this.connector = connector;
    this.#table = table;
  }

  /** Partitions that are this task's own from now on, with their new fences. Gives the offsets to go on from where there are any. */
  adopt(rows: readonly LedgerRow[]): readonly (readonly [TopicPartition, number])[] {
    return rows.flatMap(({ topic, partition, nextOffset, fence }) => {
      this.#held.set(keyOf({ topic, partition }), {
        topic,
        partition,
        fence,
        stored: nextOffset,
        taken: nextOffset ?? 0,
      });
      return nextOffset === null ? [] : [[{ topic, partition }, nextOffset] as const];
    });
  }

  release(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#held.delete(keyOf(partition));
  }

  /** The index of the first record that was not taken before; the batch counts as taken from now on. */
  take(batch: SinkBatch): number {
    const held = this.#heldBy(partitionOf(batch));
    const from = held.taken;
    held.taken = Math.max(from, batch.offset(batch.count - 1) + 1);
    let [low, high] = [0, batch.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (batch.offset(middle) < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Behind the last row of each partition in the range. */
  advanceOf(log: RowLog, from: number, to: number): readonly Advance[] {
    const advances = new Map<Held, number>();
    for (let row = to - 1, seen = -1; row >= from; row--) {
      const origin = log.originIds[row]!;
      if (origin === seen) continue;
      seen = origin;
      const batch = log.origins[origin] as SinkBatch;
      const held = this.#heldBy(partitionOf(batch));
      const next = batch.offset(log.originIndexes[row]!) + 1;
      advances.set(held, Math.max(next, advances.get(held) ?? 0));
    }
    return [...advances].map(([held, next]) => ({ held, next }));
  }

  /** Up to positions behind records that gave no rows. */
  advanceTo(positions: ReadonlyMap<TopicPartition, number>): readonly Advance[] {
    return [...positions].flatMap(([partition, next]) => {
      const held = this.#held.get(keyOf(partition));
      return held === undefined || next <= (held.stored ?? 0) ? [] : [{ held, next }];
    });
  }

  /**
   * After a transaction was refused since a partition is not where this task left it: returns if the same was committed before, when its connection was
   * lost; throws SINK_FENCED if another task has the partition. `rows` are what is stored now.
   */
  checkCommitted(rows: readonly LedgerRow[], advances: readonly Advance[]): void {
    for (const { held, next } of advances) {
      const row = rows.find(r => r.topic === held.topic && r.partition === held.partition);
      if (row?.fence === held.fence && row.nextOffset === next) continue;
      const { topic, partition } = held;
      throw new ConnectError(
        'SINK_FENCED',
        `another task of connector ${this.connector} writes partition ${topic}-${partition} now, or its offset in ${this.#table} was changed; nothing was written, and the task starts again from what is stored there`,
        { place: { topic, partition } },
      );
    }
  }

  committed(advances: readonly Advance[]): void {
    for (const { held, next } of advances) held.stored = next;
  }

  #heldBy({ topic, partition }: TopicPartition): Held {
    const held = this.#held.get(keyOf({ topic, partition }));
    if (held) return held;
    throw new ConnectError('TASK_FAILED', `partition ${topic}-${partition} was put without being opened; report it`);
  }
}

const keyOf = ({ topic, partition }: TopicPartition): string => `${partition}:${topic}`;
