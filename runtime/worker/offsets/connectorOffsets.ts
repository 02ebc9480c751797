/** The offsets of one connector: in its own topic (`offsets.storage.topic`) where it has one, with the worker's as a copy and for what came before. */
import type { OffsetReader, SourceOffset, SourcePartition } from '../../api/index.ts';
import type { SourcePosition } from '../source/offsetTracker.ts';
import { canonicalPartition } from './offsetJson.ts';
import type { OffsetChange, OffsetStore } from './offsetStore.ts';

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
    for (const store of this.#stores) await store.write(this.#connector, changes);
  }
}
