/** Topics, their settings, and the offsets of groups. Every call is repeated while its broker moves or is away, for a minute at most. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { Admin, PartitionOffset, TopicDescription, TopicSpec } from '../port.ts';
import { pause } from './backoff.ts';
import { commitGroupOffsets, fetchGroupOffsets } from './groupOffsets.ts';
import { apis, byTopic, type TopicError } from './kafkaApis.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import { kafkaCode, requestFailed } from './kafkaErrors.ts';
import { listOffsets } from './listOffsets.ts';
import { RawDecoder } from './rawDecoder.ts';
import { RawEncoder } from './rawEncoder.ts';

const topicResource = 2;
/** How long brokers may take to make a new topic known, or to forget an old one. */
const visibleTimeoutMs = 30_000;

/** A topic that one broker does not know may have been created a moment ago. */
const unknownTopicMs = 1000;

export class KafkaAdmin implements Admin {
  readonly #cluster: KafkaCluster;
  readonly #closing = new AbortController();

  constructor(cluster: KafkaCluster) {
    this.#cluster = cluster;
  }

  async listTopics(): Promise<readonly string[]> {
    const topics = await this.#retrying(() => this.#cluster.allTopics());
    return [...topics].filter(([, topic]) => !topic.isInternal).map(([name]) => name);
  }

  async describeTopics(names: readonly string[]): Promise<readonly TopicDescription[]> {
    if (names.length === 0) return [];
    return this.#retrying(async () => {
      await this.#cluster.refresh(names);
      return names.flatMap(name => {
        const topic = this.#cluster.topic(name);
        if (topic === undefined || topic.errorCode === kafkaCode.unknownTopicOrPartition) return [];
        if (topic.errorCode !== kafkaCode.none)
          throw requestFailed(`Describing topic ${name}`, topic.errorCode, { place: { topic: name } });
        return [{ name, partitions: topic.leaders.length }];
      });
    });
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<readonly string[]> {
    if (specs.length === 0) return [];
    const created = await this.#retrying(async () => {
      const connection = await this.#cluster.controller();
      const answer = await connection.call(apis.createTopics, {
        topics: specs.map(spec => ({
          topic: spec.name,
          numPartitions: spec.partitions,
          replicationFactor: spec.replicationFactor,
          configEntries: Object.entries(spec.configs ?? {}).map(([name, value]) => ({ name, value })),
        })),
        validateOnly: false,
        timeout: this.#cluster.settings.requestTimeoutMs,
      });
      const impossible = answer.topicErrors.find(e => e.errorCode === kafkaCode.invalidReplicationFactor);
      if (impossible !== undefined)
        throw tooFewBrokers(specs.find(spec => spec.name === impossible.topic)!, impossible);
      return this.#changed('Creating', answer.topicErrors, kafkaCode.topicAlreadyExists);
    });
    // Those too that another client has just created: whoever asks for a topic goes on to use it.
    await this.#untilVisible(
      specs.map(spec => spec.name),
      true,
    );
    return created;
  }

  async deleteTopics(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    let mayBeDone = false;
    await this.#retrying(async () => {
      const connection = await this.#cluster.controller();
      const timeout = this.#cluster.settings.requestTimeoutMs;
      const wasMaybeDone = mayBeDone;
      mayBeDone = true;
      const answer = await connection.call(apis.deleteTopics, { topics: names, timeout });
      // An attempt without an answer may have deleted them.
      mayBeDone = wasMaybeDone;
      this.#changed('Deleting', answer.topicErrors, mayBeDone ? kafkaCode.unknownTopicOrPartition : null);
    });
    await this.#untilVisible(names, false);
  }

  async topicConfig(name: string): Promise<ReadonlyMap<string, string>> {
    return this.#retrying(async () => {
      const connection = await this.#cluster.anyConnection();
      const answer = await connection.call(apis.describeConfigs, {
        resources: [{ type: topicResource, name }],
        includeSynonyms: false,
      });
      const resource = answer.resources[0]!;
      if (resource.errorCode !== kafkaCode.none)
        throw requestFailed(`Reading the settings of topic ${name}`, resource.errorCode, {
          text: resource.errorMessage,
          place: { topic: name },
        });
      return new Map(
        resource.configEntries.flatMap(({ configName, configValue }) =>
          configValue === null ? [] : [[configName, configValue]],
        ),
      );
    });
  }

  async offsets(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & { readonly earliest: number; readonly latest: number })[]> {
    if (partitions.length === 0) return [];
    const { connections } = this.#cluster;
    const [earliest, latest] = await this.#retrying(() =>
      Promise.all([
        listOffsets(this.#cluster, connections, partitions, 'earliest', false),
        listOffsets(this.#cluster, connections, partitions, 'latest', false),
      ]),
    );
    const key = ({ topic, partition }: TopicPartition): string => `${topic}-${partition}`;
    const first = new Map(earliest.map(o => [key(o), o.offset]));
    const next = new Map(latest.map(o => [key(o), o.offset]));
    return partitions.map(p => ({ ...p, earliest: first.get(key(p))!, latest: next.get(key(p))! }));
  }

  groupOffsets(groupId: string): Promise<readonly PartitionOffset[]> {
    return this.#atCoordinator(groupId, connection => fetchGroupOffsets(connection, groupId, null));
  }

  async alterGroupOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void> {
    try {
      await this.#atCoordinator(groupId, connection => commitGroupOffsets(connection, groupId, null, offsets));
    } catch (error) {
      // A group with members takes commits only from them.
      if (error instanceof ConnectError && error.code === 'BROKER_GROUP_MEMBER_LOST') throw notEmpty(groupId, error);
      throw error;
    }
  }

  async deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    await this.#atCoordinator(groupId, async connection => {
      const payload = await connection.exchange(offsetDeleteRequest(groupId, partitions));
      const decoder = new RawDecoder(payload);
      const errorCode = decoder.int16();
      if (errorCode === kafkaCode.groupIdNotFound) return;
      if (errorCode === kafkaCode.nonEmptyGroup) throw notEmpty(groupId);
      if (errorCode !== kafkaCode.none) throw requestFailed(`Deleting offsets of group ${groupId}`, errorCode);
      decoder.int32(); // throttle time
      decoder.array(() => {
        const topic = decoder.string();
        decoder.array(() => {
          const partition = decoder.int32();
          const code = decoder.int16();
          if (code === kafkaCode.groupSubscribedToTopic) throw notEmpty(groupId);
          if (code !== kafkaCode.none && code !== kafkaCode.unknownTopicOrPartition)
            throw requestFailed(`Deleting the offset of group ${groupId} for ${topic}-${partition}`, code);
        });
      });
    });
  }

  async deleteGroup(groupId: string): Promise<void> {
    await this.#atCoordinator(groupId, async connection => {
      const answer = await connection.call(apis.deleteGroups, [groupId]);
      const code = answer.results[0]?.errorCode ?? kafkaCode.none;
      if (code === kafkaCode.nonEmptyGroup) throw notEmpty(groupId);
      if (code !== kafkaCode.none && code !== kafkaCode.groupIdNotFound)
        throw requestFailed(`Deleting group ${groupId}`, code);
    });
  }

  async clusterId(): Promise<string> {
    await this.#retrying(() => this.#cluster.allTopics());
    return this.#cluster.clusterId ?? '';
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /** Names without an error; the accepted code counts as done before. */
  #changed(what: string, errors: readonly TopicError[], accepted: number | null): string[] {
    return errors.flatMap(({ topic, errorCode, errorMessage }) => {
      if (errorCode === accepted) return [];
      if (errorCode !== kafkaCode.none)
        throw requestFailed(`${what} topic ${topic}`, errorCode, { text: errorMessage, place: { topic } });
      return [topic];
    });
  }

  /** Brokers learn of topics a moment after the controller. */
  async #untilVisible(names: readonly string[], visible: boolean): Promise<void> {
    const until = Date.now() + visibleTimeoutMs;
    while (names.length > 0 && Date.now() < until && !this.#closing.signal.aborted) {
      await this.#retrying(() => this.#cluster.refresh(names));
      const done = names.every(name => {
        const topic = this.#cluster.topic(name);
        const isThere = topic !== undefined && topic.errorCode === kafkaCode.none;
        return visible ? isThere && topic.leaders.every(leader => leader >= 0) : !isThere;
      });
      if (done) return;
      await pause(50, this.#closing.signal);
    }
  }

  #atCoordinator<T>(groupId: string, work: (connection: KafkaConnection) => Promise<T>): Promise<T> {
    return this.#retrying(async () => {
      const address = await this.#cluster.coordinator(groupId, 'group');
      return work(await this.#cluster.connections.to(address));
    });
  }

  #retrying<T>(attempt: () => Promise<T>): Promise<T> {
    return this.#cluster.retrying(attempt, {
      signal: this.#closing.signal,
      givesUp: (error, elapsedMs) =>
        error instanceof ConnectError && error.code === 'BROKER_TOPIC_UNKNOWN' && elapsedMs > unknownTopicMs,
    });
  }
}

/** OffsetDelete, version 0, which kafkajs lacks. */
function offsetDeleteRequest(groupId: string, partitions: readonly TopicPartition[]) {
  const topics = byTopic(partitions, p => p.partition);
  const size =
    RawEncoder.stringBytes(groupId) +
    4 +
    topics.reduce((sum, t) => sum + RawEncoder.stringBytes(t.topic) + 4 + 4 * t.partitions.length, 0);
  const encoder = new RawEncoder(size).string(groupId).int32(topics.length);
  for (const topic of topics) {
    encoder.string(topic.topic).int32(topic.partitions.length);
    for (const partition of topic.partitions) encoder.int32(partition);
  }
  return { apiKey: 47, apiName: 'OffsetDelete', apiVersion: 0, body: [encoder.finish()] };
}

function tooFewBrokers({ name, replicationFactor, replicationFactorKey }: TopicSpec, answer: TopicError): ConnectError {
  const { message } = requestFailed(`Creating topic ${name}`, answer.errorCode, { text: answer.errorMessage });
  const what = replicationFactorKey ?? 'its replication factor';
  return new ConnectError(
    'BROKER_REQUEST_FAILED',
    `${message} Set ${what}, ${replicationFactor} at present, to the number of brokers at most (1 for a single broker).`,
    { place: { topic: name } },
  );
}

function notEmpty(groupId: string, cause?: unknown): ConnectError {
  return new ConnectError(
    'BROKER_GROUP_NOT_EMPTY',
    `Group ${groupId} has members, so that its offsets cannot be changed from outside. Stop the connector (or the other consumers of the group) first.`,
    { cause },
  );
}
