/**
 * Which source offsets may be committed. Records are sent in groups; a group holds the marks of the source batches that end in it. A mark is
 * committable when its group and every earlier one are acknowledged, so an offset never passes a record that is not in its topic.
 */
import type { SourceOffset, SourcePartition } from '../../api/index.ts';
import { canonicalPartition } from '../offsets/offsetJson.ts';

export interface SourcePosition {
  readonly partition: SourcePartition;
  readonly offset: SourceOffset;
}

export class SendGroup {
  readonly positions: SourcePosition[] = [];
  acked = false;
}

export class OffsetTracker {
  readonly #groups: SendGroup[] = [];
  readonly #keys = new WeakMap<SourcePartition, string>();
  #committable = new Map<string, SourcePosition>();

  /** Opens a group after all earlier ones. */
  open(): SendGroup {
    const group = new SendGroup();
    this.#groups.push(group);
    return group;
  }

  ack(group: SendGroup): void {
    group.acked = true;
    let done = 0;
    while (done < this.#groups.length && this.#groups[done]!.acked) {
      for (const position of this.#groups[done]!.positions) this.#committable.set(this.#key(position), position);
      done++;
    }
    this.#groups.splice(0, done);
  }

  /** Takes what may be committed now, the newest per source partition. */
  take(): SourcePosition[] {
    const positions = [...this.#committable.values()];
    this.#committable = new Map();
    return positions;
  }

  /** Gives back positions whose commit failed; newer ones stay. */
  giveBack(positions: readonly SourcePosition[]): void {
    for (const position of positions) {
      const key = this.#key(position);
      if (!this.#committable.has(key)) this.#committable.set(key, position);
    }
  }

  /** Sources pass the same partition object again and again. */
  #key(position: SourcePosition): string {
    let key = this.#keys.get(position.partition);
    if (key === undefined) this.#keys.set(position.partition, (key = canonicalPartition(position.partition)));
    return key;
  }
}
