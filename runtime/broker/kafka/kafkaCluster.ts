/**
 * What is known of one cluster: its nodes, the leaders of partitions, the coordinators. Metadata is asked for when it is missing, too old, or when a client
 * found it wrong; answers are shared by all clients of the cluster.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import { backoffMs, pause } from './backoff.ts';
import type { Address, ClientSettings } from './clientSettings.ts';
import { apis, type MetadataAnswer } from './kafkaApis.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import { ConnectionLost, isRetriableCode, isTransient, kafkaCode, requestFailed } from './kafkaErrors.ts';
import { NodeConnections } from './nodeConnections.ts';

export interface TopicMetadata {
  /** A code of `kafkaCode`; not 0 where the topic is missing or not to be seen. */
  readonly errorCode: number;
  /** Node of each partition's leader, by partition; -1 = none now. */
  readonly leaders: readonly number[];
  readonly isInternal: boolean;
  readonly fetchedAt: number;
}

export type CoordinatorKind = 'group' | 'transaction';

export class KafkaCluster {
  readonly settings: ClientSettings;
  readonly logger: Logger;
  readonly connections: NodeConnections;
  readonly #nodes = new Map<number, Address>();
  readonly #topics = new Map<string, TopicMetadata>();
  readonly #refreshing = new Map<string, Promise<void>>();
  #controllerId = -1;
  #clusterId: string | null = null;

  constructor(settings: ClientSettings, logger: Logger) {
    this.settings = settings;
    this.logger = logger;
    this.connections = new NodeConnections(settings, logger);
  }

  get clusterId(): string | null {
    return this.#clusterId;
  }

  /** What is known of a topic, unless it is too old. */
  topic(name: string): TopicMetadata | undefined {
    const topic = this.#topics.get(name);
    return topic !== undefined && Date.now() - topic.fetchedAt < this.settings.metadataMaxAgeMs ? topic : undefined;
  }

  /** Node of the leader; -1 = not known. */
  leader(topic: string, partition: number): number {
    return this.#topics.get(topic)?.leaders[partition] ?? -1;
  }

  address(nodeId: number): Address | undefined {
    return this.#nodes.get(nodeId);
  }

  /** Asks for the topics' metadata again. With `create`, brokers that allow it create missing ones. Calls for the same topics share one request. */
  refresh(topics: readonly string[], create = false): Promise<void> {
    const key = `${create}\n${topics.join('\n')}`;
    const running = this.#refreshing.get(key);
    if (running !== undefined) return running;
    const refreshing = this.#ask(topics, create)
      .then(answer => this.#learn(answer, topics))
      .finally(() => this.#refreshing.delete(key));
    this.#refreshing.set(key, refreshing);
    return refreshing;
  }

  /** All topics of the cluster that the user may see. */
  async allTopics(): Promise<ReadonlyMap<string, TopicMetadata>> {
    const answer = await this.#ask([], false);
    this.#learn(answer, []);
    return new Map(answer.topicMetadata.map(t => [t.topic, this.#topics.get(t.topic)!]));
  }

  async controller(): Promise<KafkaConnection> {
    if (!this.#nodes.has(this.#controllerId)) await this.allTopics();
    const address = this.#nodes.get(this.#controllerId);
    // Brokers of KRaft clusters forward to the controller: any of them will do.
    return address === undefined ? this.anyConnection() : this.connections.to(address);
  }

  /** Where the coordinator of a group or transactional id is now. */
  async coordinator(key: string, kind: CoordinatorKind): Promise<Address> {
    const connection = await this.anyConnection();
    const answer = await connection.call(apis.findCoordinator, {
      groupId: key,
      coordinatorType: kind === 'group' ? 0 : 1,
    });
    if (answer.errorCode !== kafkaCode.none)
      throw requestFailed(`Looking for the coordinator of ${kind} ${key}`, answer.errorCode, {
        text: answer.errorMessage,
      });
    return { host: answer.coordinator.host, port: answer.coordinator.port };
  }

  /** A connection to some node, preferably an open one. Rejects with BROKER_UNREACHABLE when none answers. */
  async anyConnection(): Promise<KafkaConnection> {
    const open = this.connections.any();
    if (open !== null) return open;
    const candidates = [...this.#nodes.values(), ...this.settings.bootstrap];
    const failures = new Map<string, string>();
    for (const address of candidates) {
      const name = `${address.host}:${address.port}`;
      if (failures.has(name)) continue;
      try {
        return await this.connections.to(address);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        failures.set(name, error.message);
      }
    }
    throw new ConnectError(
      'BROKER_UNREACHABLE',
      `No broker answers: ${[...failures.values()].join('; ')}. Check bootstrap.servers (${[...failures.keys()].join(', ')}), security.protocol and the network.`,
      { retriable: true },
    );
  }

  /** Repeats `attempt` while it fails by what passes by itself, until `deadlineMs` from now. */
  async retrying<T>(
    attempt: () => Promise<T>,
    options: {
      deadlineMs?: number;
      signal?: AbortSignal;
      givesUp?: (error: unknown, elapsedMs: number) => boolean;
    } = {},
  ): Promise<T> {
    const { retryBackoffMs, retryBackoffMaxMs } = this.settings;
    const started = Date.now();
    const { deadlineMs = 60_000, signal, givesUp } = options;
    for (let attempts = 0; ; attempts++) {
      try {
        return await attempt();
      } catch (error) {
        const elapsedMs = Date.now() - started;
        if (!isTransient(error) || elapsedMs >= deadlineMs || signal?.aborted || givesUp?.(error, elapsedMs))
          throw asReported(error);
        await pause(backoffMs(attempts, retryBackoffMs, retryBackoffMaxMs), signal);
      }
    }
  }

  close(): void {
    this.connections.close();
  }

  async #ask(topics: readonly string[], create: boolean): Promise<MetadataAnswer> {
    const connection = await this.anyConnection();
    return connection.call(apis.metadata, { topics, allowAutoTopicCreation: create });
  }

  #learn(answer: MetadataAnswer, asked: readonly string[]): void {
    this.#nodes.clear();
    for (const { nodeId, host, port } of answer.brokers) this.#nodes.set(nodeId, { host, port });
    this.#controllerId = answer.controllerId;
    this.#clusterId = answer.clusterId;
    const fetchedAt = Date.now();
    const all = asked.length === 0;
    if (all) this.#topics.clear();
    for (const topic of answer.topicMetadata) {
      const leaders: number[] = [];
      for (const partition of topic.partitionMetadata) leaders[partition.partitionId] = partition.leader;
      for (let i = 0; i < leaders.length; i++) leaders[i] ??= -1;
      // Partitions without a leader come with an error at the topic in old versions: what matters is whether the topic is there.
      const errorCode =
        leaders.length > 0 && isRetriableCode(topic.topicErrorCode) ? kafkaCode.none : topic.topicErrorCode;
      this.#topics.set(topic.topic, { errorCode, leaders, isInternal: topic.isInternal, fetchedAt });
    }
  }
}

/** What callers outside this folder may see of an error. */
export function asReported(error: unknown): unknown {
  if (!(error instanceof ConnectionLost)) return error;
  return new ConnectError('BROKER_UNREACHABLE', `A broker went away: ${error.message}.`, {
    cause: error,
    retriable: true,
  });
}
