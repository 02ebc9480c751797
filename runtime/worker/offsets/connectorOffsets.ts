/** The offsets of one connector: in its own topic (`offsets.storage.topic`) where it has one, with the worker's as a copy and for what came before. */
import type { OffsetReader, SourceOffset, SourcePartition } from '../../api/index.ts';
import type { SourcePosition } from '../source/offsetTracker.ts';
import { canonicalPartition } from './offsetJson.ts';
import type { OffsetChange, OffsetStore, StagedOffsets } from './offsetStore.ts';

export class ConnectorOffsets implements OffsetReader {
  readonly #connector: string;
  /** The first one decides; the others are read where it knows nothing. */
  readonly #stores: readonly OffsetStore[];

  constructor(connector: string, stores: readonly OffsetStore[]) {
    this.#connector = connector;
    this.#stores = stores;
  }

  async offset(partition: SourcePartition): Promise<SourceOffset | null> {
    for (const store of this.#stores) {
      const offset = await store.offset(this.#connector, partition);
      if (offset !== null) return offset;
    }
    return null;
  }

  async list(): Promise<SourcePosition[]> {
    const found = new Map<string, SourcePosition>();
    for (const store of [...this.#stores].reverse()) {
      for (const position of await store.list(this.#connector)) {
        found.set(canonicalPartition(position.partition), position);
      }
    }
    return [...found.values()];
  }

  async write(changes: readonly OffsetChange[]): Promise<void> {
    // What is reset must not come back from the copy.
    const resets = changes.some(({ offset }) => offset === null);
    for (const store of resets ? [...this.#stores].reverse() : this.#stores)
      await store.write(this.#connector, changes);
  }

  /** For a transaction: into the topic that decides. */
  stage(changes: readonly OffsetChange[]): StagedOffsets {
    return this.#stores[0]!.stage(this.#connector, changes);
  }

  /** Whether there is a copy, which `stage` does not write. */
  get hasCopy(): boolean {
    return this.#stores.length > 1;
  }

  async writeCopy(changes: readonly OffsetChange[]): Promise<void> {
    for (const store of this.#stores.slice(1)) await store.write(this.#connector, changes);
  }
}
