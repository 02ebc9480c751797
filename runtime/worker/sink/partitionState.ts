/** What a sink task knows of its assigned partitions: what it took, what is committed, what it asked to pause. */
import type { TopicPartition } from '../../api/index.ts';

export interface PartitionState {
  /** One object per partition as long as it is assigned: the key of the maps given to `preCommit`. */
  readonly partition: TopicPartition;
  /** Next offset to put; null until the first record. */
  position: number | null;
  /** Where to go on if what was put is given up. */
  committed: number | null;
  /** Where the task sought to; null once a record came from there on. */
  sought: number | null;
  pausedByTask: boolean;
}

export class AssignedPartitions {
  readonly #states = new Map<string, PartitionState>();

  add(partition: TopicPartition): PartitionState {
    const { topic, partition: number } = partition;
    const state = {
      partition: { topic, partition: number },
      position: null,
      committed: null,
      sought: null,
      pausedByTask: false,
    };
    this.#states.set(keyOf(partition), state);
    return state;
  }

  remove(partition: TopicPartition): PartitionState | undefined {
    const state = this.get(partition);
    this.#states.delete(keyOf(partition));
    return state;
  }

  get(partition: TopicPartition): PartitionState | undefined {
    return this.#states.get(keyOf(partition));
  }

  all(): PartitionState[] {
    return [...this.#states.values()];
  }

  get size(): number {
    return this.#states.size;
  }
}

export const keyOf = (partition: TopicPartition): string => `${partition.partition}:${partition.topic}`;
