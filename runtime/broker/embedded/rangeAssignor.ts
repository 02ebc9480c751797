/** Kafka's range assignor: per topic, members in order of their ids get consecutive partitions, the first ones one more. */
import type { TopicPartition } from '../../api/connector.ts';

export function assignRanges(
  members: readonly { readonly memberId: string; readonly topics: readonly string[] }[],
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, TopicPartition[]> {
  const assignment = new Map<string, TopicPartition[]>(members.map(member => [member.memberId, []]));
  const byTopic = new Map<string, string[]>();
  for (const { memberId, topics } of members)
    for (const topic of topics) {
      const list = byTopic.get(topic);
      if (list === undefined) byTopic.set(topic, [memberId]);
      else list.push(memberId);
    }
  for (const topic of [...byTopic.keys()].sort()) {
    const memberIds = byTopic.get(topic)!.sort();
    const count = partitionCounts.get(topic) ?? 0;
    const share = Math.floor(count / memberIds.length);
    const extra = count % memberIds.length;
    let partition = 0;
    for (const [index, memberId] of memberIds.entries())
      for (let end = partition + share + (index < extra ? 1 : 0); partition < end; partition++)
        assignment.get(memberId)!.push({ topic, partition });
  }
  return assignment;
}
