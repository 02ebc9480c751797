/**
 * The producer's side of transactions, and of idempotence: its id and epoch, and the requests to the transaction coordinator, each repeated while the coordinator
 * moves or is busy. Whether a call is allowed now is the producer's to know.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { PartitionOffset } from '../port.ts';
import { pause } from './backoff.ts';
import type { Address } from './clientSettings.ts';
import { apis, byTopic } from './kafkaApis.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import { isFencedCode, kafkaCode, requestFailed } from './kafkaErrors.ts';
import type { NodeConnections } from './nodeConnections.ts';

export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export class TransactionClient {
  readonly #cluster: KafkaCluster;
  readonly #connections: NodeConnections;
  readonly #transactionalId: string | null;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  #coordinator: Address | null = null;
  #identity: ProducerIdentity | null = null;

  constructor(
    cluster: KafkaCluster,
    connections: NodeConnections,
    options: { transactionalId: string | null; transactionTimeoutMs: number; signal: AbortSignal },
  ) {
    this.#cluster = cluster;
    this.#connections = connections;
    this.#transactionalId = options.transactionalId;
    this.#timeoutMs = options.transactionTimeoutMs;
    this.#signal = options.signal;
  }

  /** Asks for id and epoch. With a transactional id this fences older producers and ends what they left open. */
  async init(): Promise<ProducerIdentity> {
    const id = this.#transactionalId;
    const answer = await this.#retrying(async () => {
      const connection = id === null ? await this.#cluster.anyConnection() : await this.#toCoordinator();
      const result = await connection.call(apis.initProducerId, {
        transactionalId: id,
        transactionTimeout: this.#timeoutMs,
      });
      this.#check('Getting a producer id', result.errorCode);
      return result;
    });
    this.#identity = { producerId: BigInt(answer.producerId), producerEpoch: answer.producerEpoch };
    return this.#identity;
  }

  async addPartitions(partitions: readonly TopicPartition[]): Promise<void> {
    await this.#behindMarkers(async () => {
      const connection = await this.#toCoordinator();
      const topics = byTopic(partitions, p => p.partition);
      const answer = await connection.call(apis.addPartitionsToTxn, { ...this.#transactional(), topics });
      // A partition that is refused keeps the others from being added, which say so with a code of their own.
      const errors = answer.errors.flatMap(t => t.partitionErrors.map(p => ({ topic: t.topic, ...p })));
      const cause = errors.find(e => e.errorCode !== kafkaCode.none && e.errorCode !== operationNotAttempted);
      const failed = cause ?? errors.find(e => e.errorCode !== kafkaCode.none);
      if (failed?.errorCode === kafkaCode.concurrentTransactions) return false;
      if (failed) this.#check(`Adding ${failed.topic}-${failed.partition} to the transaction`, failed.errorCode);
      return true;
    });
  }

  async addOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#retrying(async () => {
      const connection = await this.#toCoordinator();
      const answer = await connection.call(apis.addOffsetsToTxn, { ...this.#transactional(), groupId });
      this.#check(`Adding offsets of group ${groupId} to the transaction`, answer.errorCode);
    });
    await this.#retrying(async () => {
      const connection = await this.#connections.to(await this.#cluster.coordinator(groupId, 'group'));
      const answer = await connection.call(apis.txnOffsetCommit, {
        ...this.#transactional(),
        groupId,
        topics: byTopic(offsets, o => ({
          partition: o.partition,
          offset: String(o.offset),
          metadata: o.metadata ?? '',
        })),
      });
      const failed = answer.topics.flatMap(t => t.partitions).find(p => p.errorCode !== kafkaCode.none);
      if (failed) this.#check(`Writing offsets of group ${groupId} in the transaction`, failed.errorCode);
    });
  }

  async end(commit: boolean): Promise<void> {
    await this.#retrying(async () => {
      const connection = await this.#toCoordinator();
      const answer = await connection.call(apis.endTxn, { ...this.#transactional(), transactionResult: commit });
      this.#check(commit ? 'Committing the transaction' : 'Aborting the transaction', answer.errorCode);
    });
  }

  #transactional(): { transactionalId: string; producerId: string; producerEpoch: number } {
    const identity = this.#identity!;
    return {
      transactionalId: this.#transactionalId!,
      producerId: String(identity.producerId),
      producerEpoch: identity.producerEpoch,
    };
  }

  async #toCoordinator(): Promise<KafkaConnection> {
    this.#coordinator ??= await this.#cluster.coordinator(this.#transactionalId!, 'transaction');
    try {
      return await this.#connections.to(this.#coordinator);
    } catch (error) {
      this.#coordinator = null;
      throw error;
    }
  }

  #check(what: string, code: number): void {
    if (code === kafkaCode.none) return;
    if (code === kafkaCode.notCoordinator || code === kafkaCode.coordinatorNotAvailable) this.#coordinator = null;
    const id = this.#transactionalId === null ? '' : ` of transactional.id ${this.#transactionalId}`;
    if (isFencedCode(code)) throw fencedError(what, this.#transactionalId);
    throw requestFailed(`${what}${id}`, code);
  }

  /**
   * The end of a transaction is answered before its markers are written everywhere, and until then the next one may not begin: a matter of milliseconds, so
   * that it is asked again sooner than after other trouble. `attempt` says false for it.
   */
  async #behindMarkers(attempt: () => Promise<boolean>): Promise<void> {
    let waitMs = firstMarkerWaitMs;
    while (!(await this.#retrying(attempt))) {
      this.#signal.throwIfAborted();
      await pause(waitMs, this.#signal);
      waitMs = Math.min(2 * waitMs, maxMarkerWaitMs);
    }
  }

  async #retrying<T>(attempt: () => Promise<T>): Promise<T> {
    // Without bound: the transaction is decided by its own timeout on the broker, which shows as an error here.
    return this.#cluster.retrying(attempt, { deadlineMs: Number.POSITIVE_INFINITY, signal: this.#signal });
  }
}

const operationNotAttempted = 55;
const firstMarkerWaitMs = 1;
const maxMarkerWaitMs = 50;

export function fencedError(what: string, transactionalId: string | null): ConnectError {
  return new ConnectError(
    'BROKER_PRODUCER_FENCED',
    `${what}: a newer producer of transactional.id ${transactionalId} took over, or the broker has ended the transaction since it ran longer than transaction.timeout.ms. This producer can write no more.`,
  );
}
