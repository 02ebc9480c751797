/** Committed group offsets: one document per group and partition. */
import type { TopicPartition } from '../../api/connector.ts';
import type { PartitionOffset } from '../port.ts';
import { type OffsetDocument, readMeta, type Store } from './store.ts';

export function putOffsets(store: Store, groupId: string, offsets: readonly PartitionOffset[]): void {
  for (const { topic, partition, offset, metadata } of offsets) {
    const document: OffsetDocument = { offset, metadata: metadata ?? '' };
    store.meta.putSync(['offset', groupId, topic, partition], document);
  }
}

export function groupOffsets(store: Store, groupId: string): PartitionOffset[] {
  return [...readMeta<OffsetDocument>(store, 'offset', groupId)].map(({ key, value }) => ({
    topic: key[2] as string,
    partition: key[3] as number,
    offset: value.offset,
    metadata: value.metadata,
  }));
}

export function groupOffset(
  store: Store,
  groupId: string,
  { topic, partition }: TopicPartition,
): PartitionOffset | null {
  const document = store.meta.get(['offset', groupId, topic, partition]) as OffsetDocument | undefined;
  return document === undefined ? null : { topic, partition, offset: document.offset, metadata: document.metadata };
}

export function removeOffsets(store: Store, groupId: string, partitions: readonly TopicPartition[] | 'all'): void {
  const list = partitions === 'all' ? groupOffsets(store, groupId) : partitions;
  for (const { topic, partition } of list) store.meta.removeSync(['offset', groupId, topic, partition]);
}
