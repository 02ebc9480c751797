/**
 * Reads partitions straight from the store of its thread. The log thread is asked only for group membership and commits. Partitions are served in turn, so
 * that one with much to read does not hold up the others.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { Consumer, ConsumerOptions, FetchedPartition, PartitionOffset } from '../port.ts';
import { groupOffset } from './committedOffsets.ts';
import type { Call } from './embeddedAdmin.ts';
import { GroupMember, type MemberLink } from './groupMember.ts';
import { fetchPartition } from './logReader.ts';
import { type PartitionState, readPartitionState, readTopic, type Store } from './store.ts';
import type { Wakeups } from './wakeups.ts';

const defaultMaxBytes = 16 * 1024 * 1024;
const defaultMaxPartitionBytes = 1024 * 1024;

interface AssignedPartition extends TopicPartition {
  /** Where to start while there is no position: the committed offset (then `auto.offset.reset`), or as assigned. */
  from: 'committed' | 'beginning' | 'end';
  position: number | undefined;
  topicId: number | undefined;
  paused: boolean;
}

export interface ConsumerLink extends MemberLink {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly call: Call;
}

export class EmbeddedConsumer implements Consumer {
  #link: ConsumerLink;
  #options: ConsumerOptions;
  #partitions: AssignedPartition[] = [];
  #topics: ReadonlySet<string> = new Set();
  #next = 0;
  #member: GroupMember | null = null;
  #closed = new AbortController();

  constructor(link: ConsumerLink, options: ConsumerOptions) {
    this.#link = link;
    this.#options = options;
  }

  async subscribe(topics: readonly string[] | RegExp): Promise<void> {
    const { groupId } = this.#options;
    if (groupId === null)
      throw new ConnectError(
        'BROKER_CONFIG_INVALID',
        'A consumer without group.id cannot subscribe; assign partitions to it.',
      );
    const subscription = topics instanceof RegExp ? { pattern: topics } : { topics };
    if (this.#member !== null) {
      this.#member.subscribe(subscription);
      return;
    }
    this.#member = new GroupMember(this.#link, groupId, this.#options, subscription, partitions => {
      this.#setPartitions(partitions.map(({ topic, partition }) => newPartition(topic, partition, 'committed')));
    });
  }

  async assign(
    partitions: readonly (TopicPartition & { readonly from: 'beginning' | 'end' | number })[],
  ): Promise<void> {
    this.#link.store.refresh();
    const list = partitions.map(({ topic, partition, from }) => {
      const assigned = newPartition(topic, partition, typeof from === 'number' ? 'committed' : from);
      if (typeof from === 'number') assigned.position = from;
      else this.#locate(assigned);
      return assigned;
    });
    this.#setPartitions(list);
  }

  async poll(timeoutMs: number, signal?: AbortSignal): Promise<readonly FetchedPartition[]> {
    const deadline = performance.now() + timeoutMs;
    if (this.#closed.signal.aborted)
      throw new ConnectError('BROKER_GROUP_MEMBER_LOST', `Consumer ${this.#options.clientId} is closed.`);
    for (;;) {
      if (signal?.aborted) return [];
      const remainingMs = deadline - performance.now();
      if (this.#member !== null && !(await this.#member.ensureJoined(remainingMs, signal))) {
        if (performance.now() >= deadline) return [];
        continue;
      }
      const fetched = this.#fetch();
      if (fetched.length > 0) return fetched;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return [];
      await this.#link.wakeups.wait(this.#topics, leftMs, signal);
      if (this.#closed.signal.aborted) return [];
    }
  }

  seek(partition: TopicPartition, offset: number): void {
    const assigned = this.#find(partition);
    if (assigned === undefined)
      throw new ConnectError(
        'BROKER_REQUEST_FAILED',
        `Partition ${partition.topic}-${partition.partition} is not assigned to this consumer; only assigned ones can be sought in.`,
        { place: { topic: partition.topic, partition: partition.partition } },
      );
    assigned.position = offset;
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const assigned = this.#find(partition);
      if (assigned !== undefined) assigned.paused = true;
    }
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const assigned = this.#find(partition);
      if (assigned !== undefined) assigned.paused = false;
    }
    this.#link.wakeups.wake();
  }

  assignment(): readonly TopicPartition[] {
    return this.#partitions.map(({ topic, partition }) => ({ topic, partition }));
  }

  position(partition: TopicPartition): number | undefined {
    return this.#find(partition)?.position;
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    if (offsets.length === 0) return;
    const groupId = this.#groupId();
    await this.#link.call('commitOffsets', { groupId, member: this.#member?.identity() ?? null, offsets });
  }

  async committed(partitions: readonly TopicPartition[]): Promise<readonly PartitionOffset[]> {
    const groupId = this.#groupId();
    this.#link.store.refresh();
    return partitions.flatMap(partition => groupOffset(this.#link.store, groupId, partition) ?? []);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#link.wakeups.wake();
    await this.#member?.close();
    this.#setPartitions([]);
  }

  #setPartitions(partitions: AssignedPartition[]): void {
    this.#partitions = partitions;
    this.#topics = new Set(partitions.map(({ topic }) => topic));
  }

  #fetch(): FetchedPartition[] {
    const { store } = this.#link;
    const { maxBytes = defaultMaxBytes, maxPartitionBytes = defaultMaxPartitionBytes } = this.#options;
    store.refresh();
    const result: FetchedPartition[] = [];
    let bytes = 0;
    const count = this.#partitions.length;
    const first = this.#next;
    for (let i = 0; i < count && bytes < maxBytes; i++) {
      const assigned = this.#partitions[(first + i) % count];
      if (assigned.paused) continue;
      const state = this.#locate(assigned);
      if (state === undefined || assigned.position === undefined) continue;
      const found = fetchPartition(
        store,
        {
          topic: assigned.topic,
          topicId: assigned.topicId!,
          partition: assigned.partition,
          offset: assigned.position,
          maxBytes: Math.min(maxPartitionBytes, maxBytes - bytes),
          isolation: this.#options.isolation ?? 'read_uncommitted',
        },
        state,
      );
      if (found === null) continue;
      assigned.position = found.nextOffset;
      bytes += found.fetched.bytes.length;
      result.push(found.fetched);
      this.#next = (first + i + 1) % count;
    }
    return result;
  }

  /** The state of the partition, its position set within it; undefined while there is no such partition. */
  #locate(assigned: AssignedPartition): PartitionState | undefined {
    const { store } = this.#link;
    let state: PartitionState | undefined;
    if (assigned.topicId !== undefined) state = readPartitionState(store, assigned.topicId, assigned.partition);
    if (state === undefined) {
      // Not there yet, or deleted and perhaps made again under another id.
      assigned.topicId = readTopic(store, assigned.topic)?.id;
      if (assigned.topicId === undefined) return undefined;
      state = readPartitionState(store, assigned.topicId, assigned.partition);
      if (state === undefined) return undefined;
    }
    if (assigned.position === undefined) assigned.position = this.#initialPosition(assigned, state);
    else if (assigned.position < state.earliest || assigned.position > state.next)
      assigned.position = this.#resetPosition(assigned, state);
    return state;
  }

  #initialPosition(assigned: AssignedPartition, state: PartitionState): number {
    if (assigned.from === 'beginning') return state.earliest;
    if (assigned.from === 'end') return this.#endOf(state);
    const { groupId } = this.#options;
    const committed = groupId === null ? null : groupOffset(this.#link.store, groupId, assigned);
    if (committed !== null && committed.offset >= state.earliest && committed.offset <= state.next)
      return committed.offset;
    return this.#resetPosition(assigned, state);
  }

  #resetPosition({ topic, partition, position }: AssignedPartition, state: PartitionState): number {
    switch (this.#options.autoOffsetReset ?? 'latest') {
      case 'earliest':
        return state.earliest;
      case 'latest':
        return this.#endOf(state);
      case 'none':
        throw new ConnectError(
          'BROKER_OFFSET_OUT_OF_RANGE',
          `Consumer ${this.#options.clientId} has ${position === undefined ? 'no usable committed offset' : `the position ${position}`} on ${topic}-${partition}, which holds ${state.earliest} to ${state.next}, and auto.offset.reset is none. Reset its offsets, or set auto.offset.reset.`,
          { place: { topic, partition } },
        );
    }
  }

  #endOf(state: PartitionState): number {
    return this.#options.isolation === 'read_committed' ? state.lastStable : state.next;
  }

  #find({ topic, partition }: TopicPartition): AssignedPartition | undefined {
    return this.#partitions.find(assigned => assigned.partition === partition && assigned.topic === topic);
  }

  #groupId(): string {
    const { groupId, clientId } = this.#options;
    if (groupId === null)
      throw new ConnectError(
        'BROKER_CONFIG_INVALID',
        `Consumer ${clientId} has no group.id: it has no committed offsets.`,
      );
    return groupId;
  }
}

function newPartition(topic: string, partition: number, from: AssignedPartition['from']): AssignedPartition {
  return { topic, partition, from, position: undefined, topicId: undefined, paused: false };
}
