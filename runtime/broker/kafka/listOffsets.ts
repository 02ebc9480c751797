/** First and next offsets of partitions, asked of their leaders. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { Address } from './clientSettings.ts';
import { apis, byTopic } from './kafkaApis.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import { kafkaCode, requestFailed } from './kafkaErrors.ts';
import type { NodeConnections } from './nodeConnections.ts';

export type OffsetSpec = 'earliest' | 'latest';

export interface ListedOffset extends TopicPartition {
  readonly offset: number;
}

/** For read_committed, latest is the last stable offset. One attempt; transient trouble rejects as such. */
export async function listOffsets(
  cluster: KafkaCluster,
  connections: NodeConnections,
  partitions: readonly TopicPartition[],
  spec: OffsetSpec,
  readCommitted: boolean,
): Promise<ListedOffset[]> {
  const byLeader = await partitionsByLeader(cluster, partitions);
  const lists = await Promise.all(
    [...byLeader].map(async ([address, list]) => {
      const connection = await connections.to(address);
      const answer = await connection.call(apis.listOffsets, {
        replicaId: -1,
        isolationLevel: readCommitted ? 1 : 0,
        topics: byTopic(list, ({ partition }) => ({ partition, timestamp: spec === 'earliest' ? -2 : -1 })),
      });
      return answer.responses.flatMap(({ topic, partitions: listed }) =>
        listed.map(({ partition, errorCode, offset }) => {
          if (errorCode !== kafkaCode.none) {
            throw requestFailed(`Reading the ${spec} offset of ${topic}-${partition}`, errorCode, {
              place: { topic, partition },
            });
          }
          return { topic, partition, offset: Number(offset) };
        }),
      );
    }),
  );
  return lists.flat();
}

async function partitionsByLeader(
  cluster: KafkaCluster,
  partitions: readonly TopicPartition[],
): Promise<Map<Address, TopicPartition[]>> {
  const topics = [...new Set(partitions.map(p => p.topic))];
  await cluster.refresh(topics);
  const byLeader = new Map<Address, TopicPartition[]>();
  for (const { topic, partition } of partitions) {
    const known = cluster.topic(topic);
    const leader = known?.leaders[partition];
    if (known === undefined || known.errorCode !== kafkaCode.none || leader === undefined)
      throw new ConnectError('BROKER_TOPIC_UNKNOWN', `There is no partition ${topic}-${partition}.`, {
        // A topic just created is not known to every broker at once.
        retriable: true,
        place: { topic, partition },
      });
    const address = cluster.address(leader);
    if (address === undefined)
      throw requestFailed(`Looking for the leader of ${topic}-${partition}`, kafkaCode.leaderNotAvailable);
    const list = byLeader.get(address);
    if (list === undefined) byLeader.set(address, [{ topic, partition }]);
    else list.push({ topic, partition });
  }
  return byLeader;
}
