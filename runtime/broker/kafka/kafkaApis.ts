/** The requests that kafkajs encodes and decodes for us, with the types it lacks. Answers carry error codes: nothing is thrown for them. */

import type { GroupMember } from '../port.ts';

export interface KafkaApi<Args, Answer> {
  readonly key: number;
  /** In kafkajs' table. */
  readonly name: string;
  /** Carries the types only. */
  readonly types?: (args: Args) => Answer;
}

interface TopicPartitions<P> {
  readonly topic: string;
  readonly partitions: readonly P[];
}
interface PartitionError {
  readonly partition: number;
  readonly errorCode: number;
}
export interface TopicError {
  readonly topic: string;
  readonly errorCode: number;
  readonly errorMessage?: string | null;
}
export interface MetadataAnswer {
  readonly brokers: readonly { nodeId: number; host: string; port: number }[];
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly topicMetadata: readonly {
    topicErrorCode: number;
    topic: string;
    isInternal: boolean;
    partitionMetadata: readonly { partitionErrorCode: number; partitionId: number; leader: number }[];
  }[];
}
export interface JoinAnswer {
  readonly errorCode: number;
  readonly generationId: number;
  readonly groupProtocol: string;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly GroupMember[];
}
interface Transactional {
  readonly transactionalId: string;
  readonly producerId: string;
  readonly producerEpoch: number;
}

const api = <Args, Answer>(key: number, name: string): KafkaApi<Args, Answer> => ({ key, name });

export const apis = {
  listOffsets: api<
    {
      replicaId: -1;
      isolationLevel: 0 | 1;
      topics: readonly TopicPartitions<{ partition: number; timestamp: number }>[];
    },
    { responses: readonly TopicPartitions<PartitionError & { offset: string }>[] }
  >(2, 'ListOffsets'),
  /** No topics = all topics. */
  metadata: api<{ topics: readonly string[]; allowAutoTopicCreation: boolean }, MetadataAnswer>(3, 'Metadata'),
  offsetCommit: api<
    {
      groupId: string;
      groupGenerationId: number;
      memberId: string;
      topics: readonly TopicPartitions<{ partition: number; offset: string; metadata: string }>[];
    },
    { responses: readonly TopicPartitions<PartitionError>[] }
  >(8, 'OffsetCommit'),
  /** No topics = all that the group has offsets for. */
  offsetFetch: api<
    { groupId: string; topics: readonly TopicPartitions<{ partition: number }>[] },
    {
      errorCode: number;
      responses: readonly TopicPartitions<PartitionError & { offset: string; metadata: string | null }>[];
    }
  >(9, 'OffsetFetch'),
  findCoordinator: api<
    { groupId: string; coordinatorType: 0 | 1 },
    { errorCode: number; errorMessage: string | null; coordinator: { nodeId: number; host: string; port: number } }
  >(10, 'GroupCoordinator'),
  joinGroup: api<
    {
      groupId: string;
      sessionTimeout: number;
      rebalanceTimeout: number;
      memberId: string;
      groupInstanceId: string | null;
      protocolType: string;
      groupProtocols: readonly { name: string; metadata: Buffer }[];
    },
    JoinAnswer
  >(11, 'JoinGroup'),
  heartbeat: api<
    { groupId: string; groupGenerationId: number; memberId: string; groupInstanceId: string | null },
    { errorCode: number }
  >(12, 'Heartbeat'),
  leaveGroup: api<{ groupId: string; memberId: string }, { errorCode: number }>(13, 'LeaveGroup'),
  describeGroups: api<
    { groupIds: readonly string[] },
    {
      groups: readonly {
        errorCode: number;
        /** Empty, PreparingRebalance, CompletingRebalance, Stable or Dead. */
        state: string;
        protocol: string;
        members: readonly (GroupMember & { clientId: string; clientHost: string })[];
      }[];
    }
  >(15, 'DescribeGroups'),
  syncGroup: api<
    {
      groupId: string;
      generationId: number;
      memberId: string;
      groupInstanceId: string | null;
      groupAssignment: readonly { memberId: string; memberAssignment: Buffer }[];
    },
    { errorCode: number; memberAssignment: Buffer }
  >(14, 'SyncGroup'),
  createTopics: api<
    {
      topics: readonly {
        topic: string;
        numPartitions: number;
        replicationFactor: number;
        configEntries: readonly { name: string; value: string }[];
      }[];
      validateOnly: boolean;
      timeout: number;
    },
    { topicErrors: readonly TopicError[] }
  >(19, 'CreateTopics'),
  deleteTopics: api<{ topics: readonly string[]; timeout: number }, { topicErrors: readonly TopicError[] }>(
    20,
    'DeleteTopics',
  ),
  initProducerId: api<
    { transactionalId: string | null; transactionTimeout: number },
    { errorCode: number; producerId: string; producerEpoch: number }
  >(22, 'InitProducerId'),
  addPartitionsToTxn: api<
    Transactional & { topics: readonly TopicPartitions<number>[] },
    { errors: readonly { topic: string; partitionErrors: readonly PartitionError[] }[] }
  >(24, 'AddPartitionsToTxn'),
  addOffsetsToTxn: api<Transactional & { groupId: string }, { errorCode: number }>(25, 'AddOffsetsToTxn'),
  endTxn: api<Transactional & { transactionResult: boolean }, { errorCode: number }>(26, 'EndTxn'),
  txnOffsetCommit: api<
    Transactional & {
      groupId: string;
      topics: readonly TopicPartitions<{ partition: number; offset: string; metadata: string }>[];
    },
    { topics: readonly TopicPartitions<PartitionError>[] }
  >(28, 'TxnOffsetCommit'),
  describeConfigs: api<
    { resources: readonly { type: number; name: string }[]; includeSynonyms: boolean },
    {
      resources: readonly {
        errorCode: number;
        errorMessage: string | null;
        resourceName: string;
        configEntries: readonly { configName: string; configValue: string | null }[];
      }[];
    }
  >(32, 'DescribeConfigs'),
  deleteGroups: api<readonly string[], { results: readonly { groupId: string; errorCode: number }[] }>(
    42,
    'DeleteGroups',
  ),
} as const;

/** Groups a flat list by topic, as requests want it. */
export function byTopic<T extends { readonly topic: string }, P>(
  list: readonly T[],
  map: (entry: T) => P,
): TopicPartitions<P>[] {
  const topics = new Map<string, P[]>();
  for (const entry of list) {
    const partitions = topics.get(entry.topic);
    if (partitions === undefined) topics.set(entry.topic, [map(entry)]);
    else partitions.push(map(entry));
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
