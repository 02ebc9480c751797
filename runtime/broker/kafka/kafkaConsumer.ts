/** Consumer over Kafka: manual assignment, or a share of a group's partitions. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { Consumer, ConsumerOptions, FetchedPartition, PartitionOffset } from '../port.ts';
import { ConsumerGroup } from './consumerGroup.ts';
import { type ConsumerSettings, consumerSettings } from './consumerSettings.ts';
import { commitGroupOffsets, fetchGroupOffsets } from './groupOffsets.ts';
import { asReported, type KafkaCluster } from './kafkaCluster.ts';
import { NodeConnections } from './nodeConnections.ts';
import { PartitionFetcher } from './partitionFetcher.ts';
import { Wakeup } from './wakeup.ts';

/** How long commits and look-ups of offsets are repeated (`default.api.timeout.ms`). */
const apiTimeoutMs = 60_000;
/** While closing, the coordinator may be gone for good. */
const closingTimeoutMs = 5000;

export class KafkaConsumer implements Consumer {
  readonly #settings: ConsumerSettings;
  readonly #connections: NodeConnections;
  readonly #fetcher: PartitionFetcher;
  readonly #group: ConsumerGroup | null;
  readonly #groupId: string | null;
  readonly #wakeup = new Wakeup();
  readonly #onClose: () => void;
  #closing: Promise<void> | null = null;

  constructor(cluster: KafkaCluster, options: ConsumerOptions, onClose: () => void) {
    this.#settings = consumerSettings(options);
    this.#onClose = onClose;
    this.#groupId = options.groupId;
    const wake = (): void => this.#wakeup.wake();
    this.#connections = new NodeConnections({ ...cluster.settings, clientId: options.clientId }, cluster.logger);
    this.#fetcher = new PartitionFetcher(
      cluster,
      this.#connections,
      this.#settings,
      partitions =>
        partitions.length === 0 || this.#groupId === null ? Promise.resolve([]) : this.#committedOnce(partitions),
      wake,
    );
    this.#group =
      options.groupId === null
        ? null
        : new ConsumerGroup(cluster, options.groupId, options, this.#settings, this.#fetcher, wake);
  }

  async subscribe(topics: readonly string[] | RegExp): Promise<void> {
    await this.#needGroup('subscribe').subscribe(topics);
  }

  async assign(
    partitions: readonly (TopicPartition & { readonly from: 'beginning' | 'end' | number })[],
  ): Promise<void> {
    this.#fetcher.remove(this.#fetcher.all());
    this.#fetcher.add(partitions, i => partitions[i]!.from);
    // So that 'end' means the end at this moment.
    await this.#fetcher.positioned(undefined);
  }

  async poll(timeoutMs: number, signal?: AbortSignal): Promise<readonly FetchedPartition[]> {
    const until = Date.now() + timeoutMs;
    const group = this.#group?.isSubscribed ? this.#group : null;
    group?.watchPolls(false);
    try {
      for (;;) {
        if (this.#closing !== null) throw closedError();
        if (signal?.aborted) return [];
        await group?.tend(signal);
        const taken = this.#fetcher.take();
        // The next fetch is under way while the caller works.
        this.#fetcher.fetch();
        if (taken.length > 0) return taken;
        const leftMs = until - Date.now();
        if (leftMs <= 0) return [];
        await this.#wakeup.wait(leftMs, signal);
      }
    } catch (error) {
      throw asReported(error);
    } finally {
      if (this.#closing === null) group?.watchPolls(true);
    }
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    if (this.#fetcher.seek(topic, partition, offset)) return;
    throw new ConnectError(
      'BROKER_REQUEST_FAILED',
      `Partition ${topic}-${partition} is not assigned to this consumer; only assigned ones can be sought in.`,
      { place: { topic, partition } },
    );
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#fetcher.setPaused(partitions, true);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#fetcher.setPaused(partitions, false);
  }

  assignment(): readonly TopicPartition[] {
    return this.#fetcher.all();
  }

  position({ topic, partition }: TopicPartition): number | undefined {
    return this.#fetcher.find(topic, partition)?.position;
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    const group = this.#needGroup('commit');
    const { membership } = group;
    if (offsets.length === 0) return;
    if (group.isSubscribed && !membership.isMember)
      throw new ConnectError(
        'BROKER_GROUP_MEMBER_LOST',
        `The consumer is not a member of group ${this.#groupId} now: its partitions may belong to others, and the offsets were not committed.`,
      );
    const member = group.isSubscribed ? { memberId: membership.memberId, generationId: membership.generationId } : null;
    await membership.atCoordinator(
      connection => commitGroupOffsets(connection, this.#groupId!, member, offsets),
      this.#closing === null ? apiTimeoutMs : closingTimeoutMs,
    );
  }

  async committed(partitions: readonly TopicPartition[]): Promise<readonly PartitionOffset[]> {
    const { membership } = this.#needGroup('committed');
    return membership.atCoordinator(
      connection => fetchGroupOffsets(connection, this.#groupId!, partitions),
      apiTimeoutMs,
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.#group?.close();
    } finally {
      this.#fetcher.close();
      this.#connections.close();
      this.#wakeup.wake();
      this.#onClose();
    }
  }

  /** One attempt: the fetcher repeats. */
  async #committedOnce(partitions: readonly TopicPartition[]): Promise<readonly PartitionOffset[]> {
    const { membership } = this.#needGroup('committed');
    return membership.atCoordinator(connection => fetchGroupOffsets(connection, this.#groupId!, partitions), 0);
  }

  #needGroup(call: string): ConsumerGroup {
    if (this.#group !== null) return this.#group;
    throw new ConnectError(
      'BROKER_CONFIG_INVALID',
      `A consumer without group.id cannot ${call}; give it one, or assign partitions to it.`,
    );
  }
}

function closedError(): ConnectError {
  return new ConnectError('BROKER_GROUP_MEMBER_LOST', 'The consumer is closed.');
}
