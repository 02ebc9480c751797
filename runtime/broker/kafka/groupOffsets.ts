/** Committed offsets of a group, read and written at its coordinator. */
import type { TopicPartition } from '../../api/connector.ts';
import type { PartitionOffset } from '../port.ts';
import { apis, byTopic } from './kafkaApis.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import { kafkaCode, requestFailed } from './kafkaErrors.ts';

/** null = all partitions that the group has offsets for. Partitions without an offset are left out. */
export async function fetchGroupOffsets(
  coordinator: KafkaConnection,
  groupId: string,
  partitions: readonly TopicPartition[] | null,
): Promise<PartitionOffset[]> {
  if (partitions?.length === 0) return [];
  const answer = await coordinator.call(apis.offsetFetch, {
    groupId,
    topics: byTopic(partitions ?? [], ({ partition }) => ({ partition })),
  });
  if (answer.errorCode !== kafkaCode.none)
    throw requestFailed(`Reading the offsets of group ${groupId}`, answer.errorCode);
  return answer.responses.flatMap(({ topic, partitions: list }) =>
    list.flatMap(({ partition, errorCode, offset, metadata }) => {
      if (errorCode !== kafkaCode.none)
        throw requestFailed(`Reading the offset of group ${groupId} for ${topic}-${partition}`, errorCode, {
          place: { topic, partition },
        });
      return offset === '-1' ? [] : [{ topic, partition, offset: Number(offset), metadata: metadata ?? '' }];
    }),
  );
}

/** `member` null = from outside the group, which must be empty. */
export async function commitGroupOffsets(
  coordinator: KafkaConnection,
  groupId: string,
  member: { readonly memberId: string; readonly generationId: number } | null,
  offsets: readonly PartitionOffset[],
): Promise<void> {
  if (offsets.length === 0) return;
  const answer = await coordinator.call(apis.offsetCommit, {
    groupId,
    groupGenerationId: member?.generationId ?? -1,
    memberId: member?.memberId ?? '',
    topics: byTopic(offsets, o => ({ partition: o.partition, offset: String(o.offset), metadata: o.metadata ?? '' })),
  });
  for (const { topic, partitions } of answer.responses)
    for (const { partition, errorCode } of partitions)
      if (errorCode !== kafkaCode.none)
        throw requestFailed(`Committing the offset of group ${groupId} for ${topic}-${partition}`, errorCode, {
          place: { topic, partition },
        });
}
