/** The metadata and assignments that members of protocol type `consumer` exchange through the coordinator. */
import type { TopicPartition } from '../../api/connector.ts';
import { byTopic } from './kafkaApis.ts';
import { RawDecoder } from './rawDecoder.ts';
import { RawEncoder } from './rawEncoder.ts';

export interface Subscription {
  readonly topics: readonly string[];
  /** What the member holds from the generation before; only cooperative assignors use it. */
  readonly owned: readonly TopicPartition[];
  readonly generationId: number;
}

/** Version 2. */
export function encodeSubscription({ topics, owned, generationId }: Subscription): Buffer {
  const topicBytes = topics.reduce((sum, topic) => sum + RawEncoder.stringBytes(topic), 0);
  const encoder = new RawEncoder(18 + topicBytes + partitionListBytes(owned)).int16(2).int32(topics.length);
  for (const topic of topics) encoder.string(topic);
  encoder.bytes(null);
  writePartitionList(encoder, owned);
  return encoder.int32(generationId).finish();
}

/** Reads what every version has in common, and what newer ones add as far as it is there. */
export function decodeSubscription(bytes: Buffer): Subscription {
  const decoder = new RawDecoder(bytes);
  const version = decoder.int16();
  const topics = decoder.array(() => decoder.string() ?? '');
  const userData = decoder.bytes();
  const owned = version >= 1 ? readPartitionList(decoder) : [];
  // Before version 2 the sticky assignor of Java kept the generation in the user data.
  const generationId = version >= 2 ? decoder.int32() : userData?.length === 4 ? userData.readInt32BE(0) : -1;
  return { topics, owned, generationId };
}

export function encodeAssignment(partitions: readonly TopicPartition[]): Buffer {
  const encoder = new RawEncoder(6 + partitionListBytes(partitions) + 4).int16(1);
  writePartitionList(encoder, partitions);
  return encoder.bytes(null).finish();
}

export function decodeAssignment(bytes: Buffer): TopicPartition[] {
  if (bytes.length === 0) return [];
  const decoder = new RawDecoder(bytes);
  decoder.int16();
  return readPartitionList(decoder);
}

function partitionListBytes(partitions: readonly TopicPartition[]): number {
  return byTopic(partitions, p => p).reduce(
    (sum, t) => sum + RawEncoder.stringBytes(t.topic) + 4 + 4 * t.partitions.length,
    4,
  );
}

function writePartitionList(encoder: RawEncoder, partitions: readonly TopicPartition[]): void {
  const topics = byTopic(partitions, p => p.partition);
  encoder.int32(topics.length);
  for (const { topic, partitions: list } of topics) {
    encoder.string(topic).int32(list.length);
    for (const partition of list) encoder.int32(partition);
  }
}

function readPartitionList(decoder: RawDecoder): TopicPartition[] {
  return decoder
    .array(() => {
      const topic = decoder.string() ?? '';
      return decoder.array(() => ({ topic, partition: decoder.int32() }));
    })
    .flat();
}
