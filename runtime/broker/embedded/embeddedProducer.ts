/**
 * Sends batches to the log thread. A send is one message within the process, which can neither be lost nor come twice: what Kafka needs idempotence for
 * cannot happen, so that only transactional producers have an id.
 */
import { asConnectError, ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import type { PartitionOffset, PendingBatch, Producer, ProducerOptions, SendResult } from '../port.ts';
import { type SealOptions, sealBatch } from '../records/sealBatch.ts';
import { splitBatch } from '../records/splitBatch.ts';
import type { LogClient } from './logClient.ts';
import type { AppendEntry, ProducerIdentity } from './protocol.ts';

const defaultMaxRequestBytes = 64 * 1024 * 1024;
const defaultTransactionTimeoutMs = 60_000;

export class EmbeddedProducer implements Producer {
  #client: LogClient;
  #options: ProducerOptions;
  #identity: ProducerIdentity | null = null;
  #sequences = new Map<string, number>();
  #inTransaction = false;
  #failure: ConnectError | null = null;
  /** Sends go out in the order of their calls. */
  #lastPosted: Promise<void> = Promise.resolve();
  #underWay = new Set<Promise<unknown>>();

  constructor(client: LogClient, options: ProducerOptions, logger: Logger) {
    this.#client = client;
    this.#options = options;
    const unused = Object.keys(options.settings ?? {});
    if (unused.length > 0)
      logger.debug(
        { settings: unused, clientId: options.clientId },
        'producer settings mean nothing to the embedded broker',
      );
  }

  send(batches: readonly PendingBatch[]): Promise<readonly SendResult[]> {
    const sent = this.#send(batches);
    this.#track(sent);
    return sent;
  }

  async initTransactions(): Promise<void> {
    const { transactionalId, transactionTimeoutMs } = this.#options;
    if (transactionalId === undefined) throw stateError('initTransactions needs a transactional.id');
    this.#identity = await this.#client.call('initTransactions', {
      transactionalId,
      timeoutMs: transactionTimeoutMs ?? defaultTransactionTimeoutMs,
    });
  }

  beginTransaction(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#identity === null) throw stateError('beginTransaction was called before initTransactions');
    if (this.#inTransaction) throw stateError('beginTransaction was called within a transaction');
    this.#inTransaction = true;
  }

  async sendOffsets(groupId: string, offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#inOrder(producer => this.#client.call('sendOffsets', { producer, groupId, offsets }));
  }

  async commitTransaction(): Promise<void> {
    await this.#endTransaction(true);
  }

  async abortTransaction(): Promise<void> {
    await this.#endTransaction(false);
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
    this.#failure ??= new ConnectError('BROKER_PRODUCER_CLOSED', `Producer ${this.#options.clientId} is closed.`);
  }

  async #send(batches: readonly PendingBatch[]): Promise<readonly SendResult[]> {
    try {
      if (this.#failure !== null) throw this.#failure;
      if (this.#options.transactionalId !== undefined && !this.#inTransaction)
        throw stateError('a transactional producer sends within a transaction only');
      const parts = batches.map(batch => this.#split(batch));
      const sealed = Promise.all(parts.flat().map(part => sealBatch(part, this.#sealOptions(part))));
      const offsets = await this.#post(parts.flat(), sealed);
      let index = 0;
      return batches.map(({ topic, partition }, i) => {
        const baseOffset = BigInt(offsets[index]);
        index += parts[i].length;
        return { topic, partition, baseOffset };
      });
    } catch (error) {
      this.#failure ??= asConnectError(error, 'BROKER_STORE_FAILED');
      throw this.#failure;
    }
  }

  /** Copies the sealed batches into shared memory and posts them, after all earlier sends. */
  async #post(parts: readonly PendingBatch[], sealing: Promise<Buffer[]>): Promise<readonly number[]> {
    const before = this.#lastPosted;
    let posted!: () => void;
    this.#lastPosted = new Promise(resolve => {
      posted = resolve;
    });
    let answer: Promise<readonly number[]>;
    let bytes: SharedArrayBuffer;
    try {
      const [sealed] = await Promise.all([sealing, before]);
      if (this.#failure !== null) throw this.#failure;
      let length = 0;
      for (const batch of sealed) length += batch.length;
      bytes = await this.#client.sharedBytes.take(length);
      const target = new Uint8Array(bytes);
      const entries: AppendEntry[] = [];
      let start = 0;
      for (const [i, batch] of sealed.entries()) {
        target.set(batch, start);
        const { topic, partition } = parts[i];
        entries.push({ topic, partition, start, end: start + batch.length });
        start += batch.length;
      }
      answer = this.#client.call('append', { producer: this.#identity, bytes, entries });
    } finally {
      posted();
    }
    try {
      return await answer;
    } finally {
      this.#client.sharedBytes.give(bytes);
    }
  }

  #split(batch: PendingBatch): PendingBatch[] {
    const maxBytes = this.#options.maxRequestBytes ?? defaultMaxRequestBytes;
    const parts = splitBatch(batch, maxBytes);
    for (const part of parts)
      if (part.bytes.length > maxBytes)
        throw new ConnectError(
          'BROKER_RECORD_TOO_LARGE',
          `A record for ${batch.topic}-${batch.partition} takes ${part.bytes.length} bytes; max.request.size is ${maxBytes}. Raise max.request.size of the producer.`,
          { place: { topic: batch.topic, partition: batch.partition } },
        );
    return parts;
  }

  #sealOptions({ topic, partition, recordCount }: PendingBatch): SealOptions {
    const compression = this.#options.compression ?? 'none';
    if (this.#identity === null)
      return { compression, producerId: -1n, producerEpoch: -1, baseSequence: -1, transactional: false };
    const key = `${topic}/${partition}`;
    const baseSequence = this.#sequences.get(key) ?? 0;
    this.#sequences.set(key, (baseSequence + recordCount) % 2 ** 31);
    const { producerId, epoch: producerEpoch } = this.#identity;
    return { compression, producerId, producerEpoch, baseSequence, transactional: true };
  }

  /** After all earlier sends were answered. */
  async #inOrder(call: (producer: ProducerIdentity) => Promise<undefined>): Promise<void> {
    if (!this.#inTransaction || this.#identity === null) throw stateError('there is no transaction');
    const earlier = await Promise.allSettled([...this.#underWay]);
    if (earlier.some(outcome => outcome.status === 'rejected') && this.#failure !== null) throw this.#failure;
    const called = call(this.#identity);
    this.#track(called);
    try {
      await called;
    } catch (error) {
      this.#failure ??= asConnectError(error, 'BROKER_STORE_FAILED');
      throw this.#failure;
    }
  }

  async #endTransaction(commit: boolean): Promise<void> {
    if (commit && this.#failure !== null) throw this.#failure;
    if (!commit) await Promise.allSettled([...this.#underWay]);
    if (!this.#inTransaction || this.#identity === null) throw stateError('there is no transaction');
    const producer = this.#identity;
    if (commit) await this.#inOrder(() => this.#client.call('endTransaction', { producer, commit }));
    else await this.#client.call('endTransaction', { producer, commit });
    this.#inTransaction = false;
  }

  #track(promise: Promise<unknown>): void {
    this.#underWay.add(promise);
    const settled = () => {
      this.#underWay.delete(promise);
    };
    promise.then(settled, settled);
  }
}

function stateError(why: string): ConnectError {
  return new ConnectError('BROKER_TRANSACTION_STATE', `The transactional producer was used wrongly: ${why}.`);
}
