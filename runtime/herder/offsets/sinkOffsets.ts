/** Offsets of a sink connector over REST: those of its consumer group. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Admin } from '../../broker/port.ts';
import type { OffsetEntry } from '../herder.ts';

export interface SinkOffsetChange {
  readonly topic: string;
  readonly partition: number;
  /** null = reset. */
  readonly offset: number | null;
}

export async function sinkOffsets(admin: Admin, groupId: string): Promise<OffsetEntry[]> {
  return (await admin.groupOffsets(groupId)).map(({ topic, partition, offset }) => ({
    partition: { kafka_partition: partition, kafka_topic: topic },
    offset: { kafka_offset: offset },
  }));
}

/** Throws REQUEST_INVALID, in Kafka Connect's words. Of one partition named twice the last wins. */
export function parseSinkOffsets(entries: readonly OffsetEntry[]): SinkOffsetChange[] {
  const changes = new Map<string, SinkOffsetChange>();
  for (const { partition, offset } of entries) {
    if (partition === null) throw invalid('The partition for a sink connector offset cannot be null or missing');
    if (!('kafka_topic' in partition) || !('kafka_partition' in partition)) {
      throw invalid(
        "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
      );
    }
    const topic = partition.kafka_topic;
    if (typeof topic !== 'string') throw invalid('Kafka topic names must be valid strings and may not be null');
    const number = integer(partition.kafka_partition, 'partition', 'Partition');
    changes.set(`${number}:${topic}`, { topic, partition: number, offset: parseOffset(offset) });
  }
  return [...changes.values()];
}

function parseOffset(offset: OffsetEntry['offset']): number | null {
  if (offset === null) return null;
  if (!('kafka_offset' in offset)) {
    throw invalid("The offset for a sink connector should either be null or contain the key 'kafka_offset'");
  }
  const number = integer(offset.kafka_offset, 'offset', 'Offset');
  if (number < 0) throw invalid(`The Kafka offset ${number} is negative; the first offset of a partition is 0`);
  return number;
}

function integer(value: unknown, what: string, capitalized: string): number {
  const text = String(value);
  if (!/^[+-]?\d+$/.test(text)) {
    throw invalid(
      `Failed to parse the following Kafka ${what} value in the provided offsets: '${text}'. ${capitalized} values for sink connectors need to be integers.`,
    );
  }
  return Number(text);
}

/** Null changes = the whole group. Rejects with REQUEST_INVALID for topics or partitions that do not exist. */
export async function alterSinkOffsets(
  admin: Admin,
  groupId: string,
  changes: readonly SinkOffsetChange[] | null,
): Promise<void> {
  if (changes === null) {
    const all = await admin.groupOffsets(groupId);
    if (all.length > 0) await admin.deleteGroupOffsets(groupId, all);
    return;
  }
  const set = changes.filter((change): change is SinkOffsetChange & { offset: number } => change.offset !== null);
  const reset = changes.filter(change => change.offset === null);
  const partitions = new Map(
    (await admin.describeTopics([...new Set(changes.map(change => change.topic))])).map(t => [t.name, t.partitions]),
  );
  for (const { topic, partition } of set) {
    const count = partitions.get(topic);
    if (count === undefined) throw invalid(`Topic ${topic} does not exist`);
    if (partition < 0 || partition >= count) {
      throw invalid(`Topic ${topic} has no partition ${partition}; it has ${count} partitions, from 0`);
    }
  }
  if (set.length > 0) await admin.alterGroupOffsets(groupId, set);
  if (reset.length > 0) await admin.deleteGroupOffsets(groupId, reset);
}

function invalid(message: string): ConnectError {
  return new ConnectError('REQUEST_INVALID', message);
}
