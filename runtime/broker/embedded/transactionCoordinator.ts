/**
 * Transactional producers: ids and epochs (kept in the store, so that fencing outlives the process) and the transactions that are open (kept in memory:
 * they end with the process, see `abortUnfinished`).
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { PartitionOffset } from '../port.ts';
import { putOffsets } from './committedOffsets.ts';
import type { LogContext, PartitionLog } from './partitionLog.ts';
import type { ProducerIdentity } from './protocol.ts';
import { controlBatch } from './storedBatch.ts';
import type { TopicCatalog } from './topicCatalog.ts';

const maxEpoch = 32_767;

interface ProducerDocument {
  readonly producerId: number;
  readonly epoch: number;
}

interface OpenTransaction {
  readonly identity: ProducerIdentity;
  readonly expiresAt: number;
  readonly firstOffsets: Map<PartitionLog, number>;
  readonly offsets: { readonly groupId: string; readonly offsets: readonly PartitionOffset[] }[];
}

export class TransactionCoordinator {
  #context: LogContext;
  #timeouts = new Map<string, number>();
  #open = new Map<string, OpenTransaction>();

  constructor(context: LogContext) {
    this.#context = context;
  }

  /** Ends what producers of an earlier process left open. */
  abortUnfinished(catalog: TopicCatalog): void {
    for (const topic of catalog.topics())
      for (const log of topic.partitions)
        for (const { producerId, epoch, firstOffset } of [...log.unfinishedTransactions()])
          log.endTransaction(producerId, firstOffset, controlBatch(producerId, epoch, false, Date.now()));
  }

  /** A new epoch for the id: older producers of it are fenced, their open transaction is aborted. */
  init(transactionalId: string, timeoutMs: number): ProducerIdentity {
    const { undo } = this.#context;
    const open = this.#open.get(transactionalId);
    if (open !== undefined) this.#finish(open, false);
    const identity = this.#nextIdentity(transactionalId);
    const timeoutBefore = this.#timeouts.get(transactionalId);
    this.#timeouts.set(transactionalId, timeoutMs);
    undo.push(() => {
      if (timeoutBefore === undefined) this.#timeouts.delete(transactionalId);
      else this.#timeouts.set(transactionalId, timeoutBefore);
    });
    return identity;
  }

  check(identity: ProducerIdentity): void {
    const current = this.#document(identity.transactionalId);
    if (current?.epoch === identity.epoch && BigInt(current.producerId) === identity.producerId) return;
    throw new ConnectError(
      'BROKER_PRODUCER_FENCED',
      `The producer of transactional.id ${identity.transactionalId} with epoch ${identity.epoch} was fenced: ${
        current === undefined ? 'the id is not known' : `the epoch is ${current.epoch} now`
      } (a newer producer took over, or its transaction timed out).`,
    );
  }

  /** Called before a partition is written to within a transaction. */
  joinPartition(identity: ProducerIdentity, log: PartitionLog): void {
    const transaction = this.#begun(identity);
    if (transaction.firstOffsets.has(log)) return;
    const firstOffset = log.state.next;
    transaction.firstOffsets.set(log, firstOffset);
    log.openTransaction(identity.producerId, firstOffset);
    this.#context.undo.push(() => transaction.firstOffsets.delete(log));
  }

  addOffsets(identity: ProducerIdentity, groupId: string, offsets: readonly PartitionOffset[]): void {
    const transaction = this.#begun(identity);
    transaction.offsets.push({ groupId, offsets });
    this.#context.undo.push(() => transaction.offsets.pop());
  }

  end(identity: ProducerIdentity, commit: boolean): void {
    const transaction = this.#open.get(identity.transactionalId);
    if (transaction !== undefined) this.#finish(transaction, commit);
  }

  hasExpired(now: number): boolean {
    for (const transaction of this.#open.values()) if (transaction.expiresAt <= now) return true;
    return false;
  }

  /** Aborts transactions that took too long; their producers are fenced. */
  abortExpired(now: number): void {
    for (const transaction of [...this.#open.values()])
      if (transaction.expiresAt <= now) {
        this.#finish(transaction, false);
        this.#nextIdentity(transaction.identity.transactionalId);
      }
  }

  #begun(identity: ProducerIdentity): OpenTransaction {
    const { transactionalId } = identity;
    const known = this.#open.get(transactionalId);
    if (known !== undefined) return known;
    const transaction: OpenTransaction = {
      identity,
      expiresAt: Date.now() + (this.#timeouts.get(transactionalId) ?? 60_000),
      firstOffsets: new Map(),
      offsets: [],
    };
    this.#open.set(transactionalId, transaction);
    this.#context.undo.push(() => this.#open.delete(transactionalId));
    return transaction;
  }

  #finish(transaction: OpenTransaction, commit: boolean): void {
    const { identity, firstOffsets, offsets } = transaction;
    const marker = controlBatch(identity.producerId, identity.epoch, commit, Date.now());
    for (const [log, firstOffset] of firstOffsets)
      if (!log.deleted) log.endTransaction(identity.producerId, firstOffset, marker);
    if (commit) for (const { groupId, offsets: list } of offsets) putOffsets(this.#context.store, groupId, list);
    this.#open.delete(identity.transactionalId);
    this.#context.undo.push(() => this.#open.set(identity.transactionalId, transaction));
  }

  #nextIdentity(transactionalId: string): ProducerIdentity {
    const { store } = this.#context;
    const current = this.#document(transactionalId);
    let document: ProducerDocument;
    if (current !== undefined && current.epoch < maxEpoch) document = { ...current, epoch: current.epoch + 1 };
    else {
      const producerId = ((store.meta.get(['sequence', 'producer']) as number | undefined) ?? 0) + 1;
      store.meta.putSync(['sequence', 'producer'], producerId);
      document = { producerId, epoch: 0 };
    }
    store.meta.putSync(['transactional', transactionalId], document);
    return { transactionalId, producerId: BigInt(document.producerId), epoch: document.epoch };
  }

  #document(transactionalId: string): ProducerDocument | undefined {
    return this.#context.store.meta.get(['transactional', transactionalId]) as ProducerDocument | undefined;
  }
}
