/** Producer over Kafka: sequence numbers, sealing, transactions; `ProduceSender` does the sending. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import { allowLargerRecords } from '../allowLargerRecords.ts';
import type { PartitionOffset, PendingBatch, Producer, ProducerOptions, SendResult } from '../port.ts';
import { sealBatch, splitBatch } from '../records/index.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import { NodeConnections } from './nodeConnections.ts';
import type { Outgoing, PartitionQueue } from './partitionQueue.ts';
import { type ProducerSettings, producerSettings } from './producerSettings.ts';
import { ProduceSender } from './produceSender.ts';
import { type ProducerIdentity, TransactionClient } from './transactionClient.ts';

/** How long closing waits for what is under way. */
const closeTimeoutMs = 30_000;

type TransactionState = 'uninitialized' | 'ready' | 'open' | 'ending';

const noIdentity: ProducerIdentity = { producerId: -1n, producerEpoch: -1 };

export class KafkaProducer implements Producer {
  readonly #settings: ProducerSettings;
  readonly #connections: NodeConnections;
  readonly #sender: ProduceSender;
  readonly #transactions: TransactionClient;
  readonly #closing = new AbortController();
  readonly #onClose: () => void;
  #identity: Promise<ProducerIdentity> | null = null;
  #state: TransactionState = 'uninitialized';
  #failure: Error | null = null;
  #outstanding = 0;
  #idle: (() => void)[] = [];
  /** Additions of partitions to the transaction, one after the other. */
  #adding: Promise<void> = Promise.resolve();
  #transactionHasContent = false;

  constructor(cluster: KafkaCluster, options: ProducerOptions, onClose: () => void) {
    this.#settings = producerSettings(options);
    this.#onClose = onClose;
    const { transactionalId, transactionTimeoutMs } = this.#settings;
    this.#connections = new NodeConnections({ ...cluster.settings, clientId: options.clientId }, cluster.logger);
    this.#transactions = new TransactionClient(cluster, this.#connections, {
      transactionalId,
      transactionTimeoutMs,
      signal: this.#closing.signal,
    });
    this.#sender = new ProduceSender(
      cluster,
      this.#connections,
      this.#settings,
      batch => this.#seal(batch),
      error => {
        this.#failure ??= error;
      },
    );
  }

  send(batches: readonly PendingBatch[]): Promise<readonly SendResult[]> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    const transactional = this.#settings.transactionalId !== null;
    if (transactional && this.#state !== 'open')
      return Promise.reject(stateError(`send while the transaction is ${this.#state}`));
    let parts: PendingBatch[][];
    try {
      parts = batches.map(batch => this.#cut(batch));
    } catch (error) {
      return Promise.reject(this.#fail(error));
    }
    if (batches.length === 0) return Promise.resolve([]);
    this.#outstanding++;
    const sending = new Promise<readonly SendResult[]>((resolve, reject) => {
      const results: SendResult[] = [];
      let left = batches.length;
      for (const [i, batch] of batches.entries())
        this.#enqueue(
          parts[i]!,
          baseOffset => {
            results[i] = { topic: batch.topic, partition: batch.partition, baseOffset };
            if (--left === 0) resolve(results);
          },
          reject,
        );
    });
    if (transactional) this.#addPartitions(batches);
    return sending.finally(() => this.#settled());
  }

  async initTransactions(): Promise<void> {
    this.#checkTransactional('initTransactions', 'uninitialized');
    this.#identity = this.#guarded(this.#transactions.init());
    await this.#identity;
    this.#state = 'ready';
  }

  beginTransaction(): void {
    this.#checkTransactional('beginTransaction', 'ready');
    for (const queue of this.#sender.allQueues()) queue.added = false;
    this.#transactionHasContent = false;
    this.#state = 'open';
  }

  async sendOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void> {
    this.#checkTransactional('sendOffsets', 'open');
    if (offsets.length === 0) return;
    this.#transactionHasContent = true;
    await this.#guarded(this.#transactions.addOffsets(groupId, offsets));
  }

  async commitTransaction(): Promise<void> {
    this.#checkTransactional('commitTransaction', 'open');
    this.#state = 'ending';
    await this.#whenIdle();
    if (this.#failure !== null) throw this.#failure;
    if (this.#transactionHasContent) await this.#guarded(this.#transactions.end(true));
    this.#state = 'ready';
  }

  async abortTransaction(): Promise<void> {
    if (this.#state !== 'open' && this.#state !== 'ending') this.#checkTransactional('abortTransaction', 'open');
    this.#state = 'ending';
    await this.#whenIdle();
    if (this.#failure instanceof ConnectError && this.#failure.code === 'BROKER_PRODUCER_FENCED') throw this.#failure;
    if (this.#transactionHasContent) await this.#guarded(this.#transactions.end(false));
    this.#state = 'ready';
  }

  async close(timeoutMs = closeTimeoutMs): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const timer = setTimeout(() => this.#sender.fail(closedError()), timeoutMs);
    await this.#whenIdle();
    clearTimeout(timer);
    this.#closing.abort();
    this.#sender.fail(closedError());
    this.#connections.close();
    this.#onClose();
  }

  /** In pieces that fit a request. */
  #cut(batch: PendingBatch): PendingBatch[] {
    const { maxRequestBytes } = this.#settings;
    const parts = splitBatch(batch, maxRequestBytes);
    for (const part of parts)
      if (part.bytes.length > maxRequestBytes)
        throw new ConnectError(
          'BROKER_RECORD_TOO_LARGE',
          `A record of ${part.bytes.length} bytes for topic ${part.topic} is larger than max.request.size (${maxRequestBytes}). ${allowLargerRecords(part.topic, part.bytes.length)}`,
          { place: { topic: part.topic, partition: part.partition } },
        );
    return parts;
  }

  #enqueue(
    parts: readonly PendingBatch[],
    delivered: (baseOffset: bigint) => void,
    failed: (error: Error) => void,
  ): void {
    const queue = this.#sender.queue(parts[0]!.topic, parts[0]!.partition);
    const since = Date.now();
    let left = parts.length;
    let firstOffset = -1n;
    for (const [i, pending] of parts.entries()) {
      const baseSequence = this.#settings.idempotent ? queue.takeSequence(pending.recordCount) : -1;
      this.#sender.enqueue(queue, {
        pending,
        baseSequence,
        sealed: null,
        since,
        tooLarge: false,
        failed,
        delivered: baseOffset => {
          if (i === 0) firstOffset = baseOffset;
          if (--left === 0) delivered(firstOffset);
        },
      });
    }
  }

  async #seal({ pending, baseSequence }: Outgoing): Promise<Buffer> {
    const { compression, idempotent, transactionalId } = this.#settings;
    const identity = idempotent ? await this.#ready() : noIdentity;
    return sealBatch(pending, { compression, baseSequence, transactional: transactionalId !== null, ...identity });
  }

  #ready(): Promise<ProducerIdentity> {
    this.#identity ??= this.#transactions.init();
    return this.#identity;
  }

  #addPartitions(batches: readonly PendingBatch[]): void {
    this.#transactionHasContent = true;
    const isNew = ({ topic, partition }: TopicPartition): boolean => !this.#sender.queue(topic, partition).added;
    if (!batches.some(isNew)) return;
    this.#adding = this.#adding
      .then(async () => {
        const queues = new Set<PartitionQueue>();
        for (const batch of batches) if (isNew(batch)) queues.add(this.#sender.queue(batch.topic, batch.partition));
        if (queues.size === 0 || this.#failure !== null) return;
        await this.#transactions.addPartitions([...queues].map(({ topic, partition }) => ({ topic, partition })));
        for (const queue of queues) queue.added = true;
        this.#sender.wake();
      })
      .catch(error => {
        this.#fail(error);
      });
  }

  #checkTransactional(call: string, expected: TransactionState): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#settings.transactionalId === null) throw stateError(`${call} without a transactional.id`);
    if (this.#state !== expected) throw stateError(`${call} while the state is ${this.#state}, not ${expected}`);
  }

  async #guarded<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #fail(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.#failure ??= failure;
    this.#sender.fail(failure);
    return failure;
  }

  #settled(): void {
    this.#outstanding--;
    if (this.#outstanding > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #whenIdle(): Promise<void> {
    return this.#outstanding === 0 ? Promise.resolve() : new Promise(resolve => this.#idle.push(resolve));
  }
}

function closedError(): ConnectError {
  return new ConnectError(
    'BROKER_PRODUCER_CLOSED',
    'The producer is closed; records that were not acknowledged are not known to be written.',
  );
}

function stateError(what: string): ConnectError {
  return new ConnectError('BROKER_TRANSACTION_STATE', `Wrong order of calls: ${what}.`);
}
