/**
 * Brings a subscription and the group together: which partitions this consumer holds, and the calls to its owner when some come or go. Everything happens inside
 * `tend`, which the consumer calls from its polls; only heartbeats go on in between.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { ConsumerOptions, GroupMember, JoinedGroup } from '../port.ts';
import type { Assignor } from './assignors.ts';
import { decodeAssignment, decodeSubscription, encodeAssignment, encodeSubscription } from './consumerProtocol.ts';
import type { ConsumerSettings } from './consumerSettings.ts';
import { GroupMembership } from './groupMembership.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import { isTransient, kafkaCode } from './kafkaErrors.ts';
import type { PartitionFetcher } from './partitionFetcher.ts';

/** Topics that are subscribed to but missing are looked for this often. */
const missingTopicIntervalMs = 1000;
/** How soon topics are found that a pattern matches and that come later: Kafka's clients take metadata.max.age.ms, five minutes. */
const patternIntervalMs = 15_000;

export class ConsumerGroup {
  readonly membership: GroupMembership;
  readonly #cluster: KafkaCluster;
  readonly #settings: ConsumerSettings;
  readonly #options: ConsumerOptions;
  readonly #fetcher: PartitionFetcher;
  readonly #wake: () => void;
  readonly #closing = new AbortController();
  #subscription: readonly string[] | RegExp | null = null;
  #topics: readonly string[] = [];
  #rejoin: 'rebalance' | 'lost' | null = null;
  #joining = false;
  #joined: JoinedGroup | null = null;
  #failure: unknown = null;
  #leading = false;
  /** Partition counts that the last assignment of this leader was made with. */
  #assignedCounts = '';
  #watchTimer: NodeJS.Timeout | null = null;
  #pollTimer: NodeJS.Timeout | null = null;

  constructor(
    cluster: KafkaCluster,
    groupId: string,
    options: ConsumerOptions,
    settings: ConsumerSettings,
    fetcher: PartitionFetcher,
    wake: () => void,
  ) {
    this.#cluster = cluster;
    this.#options = options;
    this.#settings = settings;
    this.#fetcher = fetcher;
    this.#wake = wake;
    this.membership = new GroupMembership(cluster, {
      groupId,
      groupInstanceId: settings.groupInstanceId,
      protocolType: 'consumer',
      clientId: options.clientId,
      sessionTimeoutMs: settings.sessionTimeoutMs,
      rebalanceTimeoutMs: settings.maxPollIntervalMs,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      protocols: () => {
        const owned = this.#isCooperative() ? this.#fetcher.all() : [];
        const metadata = encodeSubscription({
          topics: this.#topics,
          owned,
          generationId: this.membership.generationId,
        });
        return settings.assignors.map(({ name }) => ({ name, metadata }));
      },
      assign: (protocol, members) => this.#assign(protocol, members),
      onRejoinNeeded: reason => {
        this.#rejoin = reason;
        wake();
      },
    });
  }

  get isSubscribed(): boolean {
    return this.#subscription !== null;
  }

  async subscribe(subscription: readonly string[] | RegExp): Promise<void> {
    this.#subscription = subscription;
    this.#topics = await this.#cluster.retrying(() => this.#matchingTopics(), { signal: this.#closing.signal });
    this.#rejoin ??= 'rebalance';
    this.#watchLater();
    this.#wake();
  }

  /** Does what the group asks for. Never waits for other members; a wake-up follows when they are done. */
  async tend(signal: AbortSignal | undefined): Promise<void> {
    this.#throwFailure();
    while (this.#joined !== null || (this.#rejoin !== null && !this.#joining)) {
      if (this.#joined !== null) await this.#apply(signal);
      else await this.#startJoin();
      if (signal?.aborted) return;
    }
    this.#throwFailure();
  }

  /** Starts, or with false stops, the clock that `max.poll.interval.ms` bounds. */
  watchPolls(running: boolean): void {
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    this.#pollTimer = null;
    if (!running || !this.membership.isMember) return;
    this.#pollTimer = setTimeout(() => {
      this.#cluster.logger.warn(
        { group: this.#options.groupId, maxPollIntervalMs: this.#settings.maxPollIntervalMs },
        'no poll within max.poll.interval.ms: the partitions are left to other members',
      );
      this.#rejoin = 'lost';
      this.membership.leave().catch(error => {
        this.#failure = error;
      });
    }, this.#settings.maxPollIntervalMs);
    this.#pollTimer.unref();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.watchPolls(false);
    if (this.#watchTimer !== null) clearTimeout(this.#watchTimer);
    try {
      await this.#revoke(this.#fetcher.all());
    } finally {
      await this.membership.close();
    }
  }

  async #startJoin(): Promise<void> {
    const reason = this.#rejoin;
    this.#rejoin = null;
    if (reason === 'lost' || !this.#isCooperative()) await this.#revoke(this.#fetcher.all());
    this.#joining = true;
    this.membership
      .join(this.#closing.signal)
      .then(
        joined => {
          this.#joined = joined;
        },
        error => {
          if (!this.#closing.signal.aborted) this.#failure = error;
          this.#rejoin ??= 'rebalance';
        },
      )
      .finally(() => {
        this.#joining = false;
        this.#wake();
      });
  }

  async #apply(signal: AbortSignal | undefined): Promise<void> {
    const joined = this.#joined!;
    this.#joined = null;
    this.#leading = joined.leaderId === joined.memberId;
    const target = decodeAssignment(joined.assignment);
    const owned = this.#fetcher.all();
    const revoked = without(owned, target);
    const added = without(target, owned);
    if (revoked.length > 0) {
      await this.#revoke(revoked);
      // They go to their new owners in the next round.
      if (this.#isCooperative()) this.#rejoin ??= 'rebalance';
    }
    this.#fetcher.add(added, () => 'committed');
    if (added.length === 0) return;
    await this.#fetcher.positioned(signal);
    await this.#options.onAssigned?.(added);
  }

  async #revoke(partitions: readonly TopicPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    try {
      await this.#options.onRevoked?.(partitions);
    } catch (error) {
      // Offsets could not be committed, since the partitions are lost already: the records come again at their new owner.
      if (!(error instanceof ConnectError && error.code === 'BROKER_GROUP_MEMBER_LOST')) throw error;
      this.#cluster.logger.warn(
        { group: this.#options.groupId, error: error.describe() },
        'partitions left without a commit',
      );
    } finally {
      this.#fetcher.remove(partitions);
    }
  }

  async #assign(protocol: string, members: readonly GroupMember[]): Promise<ReadonlyMap<string, Buffer>> {
    const assignor = this.#settings.assignors.find(a => a.name === protocol)!;
    const subscriptions = new Map(members.map(m => [m.memberId, decodeSubscription(m.memberMetadata)]));
    const topics = [...new Set([...subscriptions.values()].flatMap(s => s.topics))].sort();
    const counts = await this.#partitionCounts(topics);
    this.#assignedCounts = JSON.stringify([...counts]);
    const assignment = (assignor satisfies Assignor).assign(subscriptions, counts);
    return new Map([...assignment].map(([id, partitions]) => [id, encodeAssignment(partitions)]));
  }

  async #partitionCounts(topics: readonly string[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    if (topics.length === 0) return counts;
    await this.#cluster.refresh(topics);
    for (const topic of topics) {
      const known = this.#cluster.topic(topic);
      if (known?.errorCode === kafkaCode.none) counts.set(topic, known.leaders.length);
    }
    return counts;
  }

  async #matchingTopics(): Promise<readonly string[]> {
    const subscription = this.#subscription!;
    if (!(subscription instanceof RegExp)) return subscription;
    // Of the full name, as Java's Pattern.matches: without state of a global pattern.
    const whole = new RegExp(`^(?:${subscription.source})$`, subscription.flags.replace(/[gy]/g, ''));
    const all = await this.#cluster.allTopics();
    return [...all].filter(([name, topic]) => !topic.isInternal && whole.test(name)).map(([name]) => name);
  }

  #watchLater(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#watchTimer !== null) clearTimeout(this.#watchTimer);
    const { metadataMaxAgeMs } = this.#cluster.settings;
    const interval = Math.min(metadataMaxAgeMs, this.#lookAgainMs);
    this.#watchTimer = setTimeout(() => {
      this.#watch()
        .catch(error => {
          if (!isTransient(error)) this.#failure = error;
        })
        .finally(() => this.#watchLater());
    }, interval);
    this.#watchTimer.unref();
  }

  get #lookAgainMs(): number {
    if (this.#subscription instanceof RegExp) return patternIntervalMs;
    const isMissing = this.#topics.some(topic => this.#cluster.topic(topic)?.errorCode !== kafkaCode.none);
    return isMissing ? missingTopicIntervalMs : Number.POSITIVE_INFINITY;
  }

  /** Asks for a rebalance when a pattern matches other topics than before, or, leading, when partitions were added. */
  async #watch(): Promise<void> {
    const topics = await this.#matchingTopics();
    let changed = JSON.stringify([...topics].sort()) !== JSON.stringify([...this.#topics].sort());
    this.#topics = topics;
    if (this.#leading && !changed) {
      const counted: [string, number][] = this.#assignedCounts === '' ? [] : JSON.parse(this.#assignedCounts);
      const counts = await this.#partitionCounts([...new Set([...topics, ...counted.map(([topic]) => topic)])].sort());
      changed = JSON.stringify([...counts]) !== this.#assignedCounts;
    } else if (!(this.#subscription instanceof RegExp)) {
      await this.#cluster.refresh(topics);
    }
    if (!changed) return;
    this.#rejoin ??= 'rebalance';
    this.#wake();
  }

  #isCooperative(): boolean {
    return this.#settings.assignors.every(assignor => assignor.cooperative);
  }

  #throwFailure(): void {
    if (this.#failure === null) return;
    const failure = this.#failure;
    this.#failure = null;
    throw failure;
  }
}

function without(list: readonly TopicPartition[], other: readonly TopicPartition[]): TopicPartition[] {
  const keys = new Set(other.map(p => `${p.topic}\n${p.partition}`));
  return list.filter(p => !keys.has(`${p.topic}\n${p.partition}`));
}
