/** Reads come from the store, in any process; changes go through the log thread. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { Admin, PartitionOffset, TopicDescription, TopicSpec } from '../port.ts';
import { groupOffsets } from './committedOffsets.ts';
import type { OperationName, RequestOf, ResultOf } from './protocol.ts';
import { readMeta, readPartitionState, readTopic, type Store } from './store.ts';
import { effectiveConfigs } from './topicConfigs.ts';

export type Call = <N extends OperationName>(name: N, request: RequestOf<N>) => Promise<ResultOf<N>>;

export class EmbeddedAdmin implements Admin {
  #store: Store;
  #call: Call;

  constructor(store: Store, call: Call) {
    this.#store = store;
    this.#call = call;
  }

  async listTopics(): Promise<readonly string[]> {
    this.#store.refresh();
    return [...readMeta(this.#store, 'topic')].map(({ key }) => key[1] as string);
  }

  async describeTopics(names: readonly string[]): Promise<readonly TopicDescription[]> {
    this.#store.refresh();
    return names.flatMap(name => {
      const topic = readTopic(this.#store, name);
      return topic === undefined ? [] : [{ name, partitions: topic.partitions }];
    });
  }

  createTopics(specs: readonly TopicSpec[]): Promise<readonly string[]> {
    return this.#call('createTopics', { specs });
  }

  async deleteTopics(names: readonly string[]): Promise<void> {
    await this.#call('deleteTopics', { names });
  }

  async topicConfig(name: string): Promise<ReadonlyMap<string, string>> {
    this.#store.refresh();
    const topic = readTopic(this.#store, name);
    if (topic === undefined) throw unknownTopic(name);
    return effectiveConfigs(topic.configs);
  }

  async offsets(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & { readonly earliest: number; readonly latest: number })[]> {
    this.#store.refresh();
    return partitions.map(({ topic, partition }) => {
      const document = readTopic(this.#store, topic);
      const state = document && readPartitionState(this.#store, document.id, partition);
      if (state === undefined) throw unknownTopic(topic, partition);
      return { topic, partition, earliest: state.earliest, latest: state.next };
    });
  }

  async groupOffsets(groupId: string): Promise<readonly PartitionOffset[]> {
    this.#store.refresh();
    return groupOffsets(this.#store, groupId);
  }

  async alterGroupOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#call('commitOffsets', { groupId, member: null, offsets });
  }

  async deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    await this.#call('deleteGroupOffsets', { groupId, partitions });
  }

  async deleteGroup(groupId: string): Promise<void> {
    await this.#call('deleteGroupOffsets', { groupId, partitions: 'all' });
  }

  async clusterId(): Promise<string> {
    this.#store.refresh();
    return this.#store.meta.get(['cluster']) as string;
  }

  async close(): Promise<void> {}
}

function unknownTopic(topic: string, partition?: number): ConnectError {
  return new ConnectError(
    'BROKER_TOPIC_UNKNOWN',
    partition === undefined ? `There is no topic ${topic}.` : `There is no partition ${topic}-${partition}.`,
    { place: { topic, partition } },
  );
}
