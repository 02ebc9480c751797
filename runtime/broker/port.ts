/**
 * The broker port, in Kafka's own terms. Two adapters implement it and pass one contract suite: kafka/ and embedded/.
 * Records cross it as record batches (format v2, `runtime/broker/records`), never one by one.
 */
import type { TopicPartition } from '../api/connector.ts';

/** Record batch under construction that is ready to be sent: see `RecordBatchBuilder`. Header, compression and checksum are the adapter's work. */
export interface PendingBatch {
  readonly topic: string;
  readonly partition: number;
  /** `batchHeaderBytes` (61) bytes of room, then the uncompressed v2 records with deltas against `baseTimestamp` and offset deltas from 0. Owned by the producer from `send` on until it settles. */
  readonly bytes: Buffer;
  readonly recordCount: number;
  readonly baseTimestamp: number;
  readonly maxTimestamp: number;
}

export interface SendResult {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the first record of the batch. */
  readonly baseOffset: bigint;
}

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface ProducerOptions {
  readonly clientId: string;
  readonly compression?: Compression;
  /** Default true: retries never repeat or reorder. */
  readonly idempotent?: boolean;
  readonly transactionalId?: string;
  readonly transactionTimeoutMs?: number;
  readonly acks?: -1 | 0 | 1;
  /** Largest request body, bytes (`max.request.size`). A batch above it is split where it has several records; a single larger record rejects with BROKER_RECORD_TOO_LARGE. */
  readonly maxRequestBytes?: number;
  /** Bound for one batch's delivery, retries included; default: no bound. */
  readonly deliveryTimeoutMs?: number;
  /** Other settings of the Kafka producer, by Kafka's names, as given by `producer.override.*`; unknown ones are warned of once. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Producer {
  /**
   * Sends batches; order of each partition is the order of calls. Resolves when all are acknowledged (written durably).
   * Several sends may be under way. Retriable trouble (leader moved, connection lost) is retried inside. After a rejection the producer is failed for good:
   * later sends reject with the same error; make a new producer and send again from the last acknowledged point.
   */
  send(batches: readonly PendingBatch[]): Promise<readonly SendResult[]>;
  /** Transactional producers: must be called once, before all else; fences older producers of the id. */
  initTransactions(): Promise<void>;
  beginTransaction(): void;
  sendOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void>;
  commitTransaction(): Promise<void>;
  abortTransaction(): Promise<void>;
  /** Waits for what is under way, for this long at most (default 30 s); what is then left rejects. */
  close(timeoutMs?: number): Promise<void>;
}

export interface PartitionOffset extends TopicPartition {
  /** The next offset to read. */
  readonly offset: number;
  readonly metadata?: string;
}

/** A stretch of one partition's log as stored: whole record batches, decompressed on reading by `readRecordBatches`. */
export interface FetchedPartition extends TopicPartition {
  readonly bytes: Buffer;
  /** Records below this offset are to be skipped (a fetch starts at a batch's beginning). */
  readonly fetchOffset: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly abortedTransactions: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[];
}

export interface ConsumerOptions {
  readonly clientId: string;
  /** null = no group: `assign` only. */
  readonly groupId: string | null;
  readonly isolation?: 'read_uncommitted' | 'read_committed';
  readonly autoOffsetReset?: 'earliest' | 'latest' | 'none';
  readonly maxBytes?: number;
  readonly maxPartitionBytes?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Called, and awaited, when partitions leave; positions of them may still be committed inside. */
  readonly onRevoked?: (partitions: readonly TopicPartition[]) => Promise<void>;
  /** Called, and awaited, before the first poll result with new partitions. */
  readonly onAssigned?: (partitions: readonly TopicPartition[]) => Promise<void>;
}

export interface Consumer {
  /** Group subscription: topic names, or a pattern matched against full names (new topics join by metadata refresh). */
  subscribe(topics: readonly string[] | RegExp): Promise<void>;
  /** Manual assignment, from the given offsets ('beginning', 'end' or a number). Replaces the earlier one. */
  assign(partitions: readonly (TopicPartition & { readonly from: 'beginning' | 'end' | number })[]): Promise<void>;
  /**
   * Waits up to `timeoutMs` for records. An empty list: none came. Positions move past what is returned. Heartbeats go on between polls, until
   * `max.poll.interval.ms`. Ends early when the signal aborts.
   */
  poll(timeoutMs: number, signal?: AbortSignal): Promise<readonly FetchedPartition[]>;
  seek(partition: TopicPartition, offset: number): void;
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  assignment(): readonly TopicPartition[];
  position(partition: TopicPartition): number | undefined;
  commit(offsets: readonly PartitionOffset[]): Promise<void>;
  committed(partitions: readonly TopicPartition[]): Promise<readonly PartitionOffset[]>;
  /** Leaves the group. */
  close(): Promise<void>;
}

export interface TopicSpec {
  readonly name: string;
  /** -1 = broker default. */
  readonly partitions: number;
  readonly replicationFactor: number;
  /** The configuration key it came from, for the error of a cluster that has fewer brokers. */
  readonly replicationFactorKey?: string;
  readonly configs?: Readonly<Record<string, string>>;
}

export interface TopicDescription {
  readonly name: string;
  readonly partitions: number;
}

export interface Admin {
  listTopics(): Promise<readonly string[]>;
  /** Missing topics are left out. */
  describeTopics(names: readonly string[]): Promise<readonly TopicDescription[]>;
  /** Existing ones are left as they are. Returns the names that were created. */
  createTopics(specs: readonly TopicSpec[]): Promise<readonly string[]>;
  deleteTopics(names: readonly string[]): Promise<void>;
  topicConfig(name: string): Promise<ReadonlyMap<string, string>>;
  /** First and next offset of each partition. */
  offsets(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & { readonly earliest: number; readonly latest: number })[]>;
  groupOffsets(groupId: string): Promise<readonly PartitionOffset[]>;
  /** Rejects with BROKER_GROUP_NOT_EMPTY while the group has members. */
  alterGroupOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void>;
  deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void>;
  deleteGroup(groupId: string): Promise<void>;
  clusterId(): Promise<string>;
  close(): Promise<void>;
}

/** A process that wants to be the only one of its group. */
export interface GroupHold {
  readonly groupId: string;
  readonly clientId: string;
  /** Address of this process, told to others that come. */
  readonly holder: string;
  /** Another one turned out to hold the group as well, and goes first: this process must stop. */
  readonly onTaken: (error: unknown) => void;
}

export interface GroupMember {
  readonly memberId: string;
  readonly memberMetadata: Buffer;
}

/** What a member of a group by Kafka's classic protocol brings. What members tell each other is the caller's: metadata and assignments are bytes here. */
export interface MembershipOptions {
  readonly groupId: string;
  readonly groupInstanceId?: string | null;
  /** `consumer`, `connect`, … All members of a group have the same. */
  readonly protocolType: string;
  readonly clientId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /** How long after a join heartbeats come quickly, since another is likely to follow; default 0. */
  readonly settlingMs?: number;
  /** Protocols with the member's metadata, preferred first; asked for at every join. */
  readonly protocols: () => readonly { readonly name: string; readonly metadata: Buffer }[];
  /** Called in the member that leads: everybody's assignment. */
  readonly assign: (
    protocol: string,
    members: readonly GroupMember[],
    leaderId: string,
    generationId: number,
  ) => Promise<ReadonlyMap<string, Buffer>>;
  /** The group rebalances, or this member was put out: join again. Called from the heartbeat, once until the next join. */
  readonly onRejoinNeeded: (reason: 'rebalance' | 'lost') => void;
  /**
   * The coordinator has not been heard of for as long as it keeps a silent member: others may have this one's work by now. Called whatever is under way, a
   * join too; a join must follow.
   */
  readonly onUnreachable?: () => void;
}

export interface JoinedGroup {
  readonly memberId: string;
  readonly leaderId: string;
  readonly generationId: number;
  readonly protocol: string;
  readonly assignment: Buffer;
}

export interface Membership {
  /** Empty until the first join. */
  readonly memberId: string;
  /** Of the last join that worked; -1 = not a member. */
  readonly generationId: number;
  /** Joins, or joins again, and waits for the assignment; repeated until it works, the signal aborts, or an error that does not pass. */
  join(signal: AbortSignal): Promise<JoinedGroup>;
  /** Leaves the group, for good. */
  close(): Promise<void>;
}

/** A connection to one cluster, shared by the tasks of a thread. */
export interface Broker {
  admin(): Admin;
  producer(options: ProducerOptions): Producer;
  consumer(options: ConsumerOptions): Consumer;
  /** Holds the group until the broker is closed. Rejects with WORKER_GROUP_IN_USE while another process does, after the time that a dead one is kept. */
  holdGroup(hold: GroupHold): Promise<void>;
  /** Throws CONFIG_INVALID where the broker has one process only. */
  membership(options: MembershipOptions): Membership;
  /** Ends all clients that are not closed yet, within a second or so. After it every call throws BROKER_CLOSED, and no client goes on retrying. */
  close(): Promise<void>;
}

/** How to reach a cluster; plain data, so that it can be given to a thread. */
export type BrokerSettings =
  /** `flush`: when a send counts as durable; `os` (default) = it survives the end of the process, `fsync` = a power cut as well. */
  | { readonly kind: 'embedded'; readonly dataDir: string; readonly flush?: 'os' | 'fsync' }
  /** Client settings by Kafka's names (`bootstrap.servers`, `security.protocol`, `sasl.jaas.config`, `ssl.*` …). */
  | { readonly kind: 'kafka'; readonly settings: Readonly<Record<string, string>> };
