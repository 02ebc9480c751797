/**
 * The log thread's work: takes the requests of all threads of the process, writes many of them in one transaction of the store (group commit), and
 * answers when the commit is durable. If the transaction fails, all requests in it fail and memory goes back to the last commit.
 */
import { randomBytes } from 'node:crypto';
import { ConnectError } from '../../../schemas/errors.ts';
import { at } from '../records/batchHeader.ts';
import { putOffsets, removeOffsets } from './committedOffsets.ts';
import { GroupCoordinator } from './groupCoordinator.ts';
import { renewOwnership } from './ownership.ts';
import type { LogContext } from './partitionLog.ts';
import {
  type ClientMessage,
  clientIdPrefix,
  type OperationName,
  type RequestMessage,
  type RequestOf,
  type ResultOf,
} from './protocol.ts';
import type { FlushMode, Store } from './store.ts';
import { storeError } from './storeError.ts';
import { TopicCatalog } from './topicCatalog.ts';
import { TransactionCoordinator } from './transactionCoordinator.ts';
import { UndoLog } from './undoLog.ts';

/** Requests are taken into a commit until their batches reach this. */
const maxCommitBytes = 16 * 1024 * 1024;
/** Clients ping every second. */
const forgetClientMs = 120_000;

export interface LogServerHost {
  readonly dataDir: string;
  readonly flush: FlushMode;
  reply(clientId: string, message: ClientMessage): void;
  /** A commit became visible that changed these topics. */
  committed(topics: readonly string[]): void;
  /** The client was not heard of for long: its thread has ended. */
  forget(clientId: string): void;
}

type GroupOperation = 'joinGroup' | 'leaveGroup' | 'hello';
type WriteOperation = Exclude<OperationName, GroupOperation>;
type Handlers = { readonly [N in WriteOperation]: (request: RequestOf<N>) => ResultOf<N> };

export class LogServer {
  readonly catalog: TopicCatalog;
  readonly context: LogContext;
  #host: LogServerHost;
  #store: Store;
  #transactions: TransactionCoordinator;
  #groups: GroupCoordinator;
  #queue: RequestMessage[] = [];
  #scheduled: NodeJS.Immediate | null = null;
  #seenVersion = 0;
  #lastHeard = new Map<string, number>();

  constructor(store: Store, host: LogServerHost) {
    this.#store = store;
    this.#host = host;
    this.context = { store, undo: new UndoLog(), changed: new Set() };
    this.catalog = new TopicCatalog(this.context);
    this.#transactions = new TransactionCoordinator(this.context);
    this.#groups = new GroupCoordinator({
      topics: () => new Map([...this.catalog.topics()].map(topic => [topic.name, topic.partitions.length])),
      tellRebalance: (clientId, memberId) => host.reply(clientId, { kind: 'rebalance', memberId }),
    });
    this.write(() => {
      if (store.meta.get(['cluster']) === undefined)
        store.meta.putSync(['cluster'], randomBytes(16).toString('base64url'));
      this.#transactions.abortUnfinished(this.catalog);
    });
  }

  handle(message: RequestMessage): void {
    const { clientId, id, name } = message;
    this.#lastHeard.set(clientId, Date.now());
    switch (name) {
      case 'ping':
        return;
      case 'bye':
        this.#forget(clientId);
        return;
      case 'threadEnded':
        for (const id of [...this.#lastHeard.keys()])
          if (id.startsWith(clientIdPrefix(message.request as number))) this.#forget(id);
        return;
      case 'hello':
        this.#host.reply(clientId, { kind: 'reply', id, result: undefined });
        return;
      case 'leaveGroup': {
        const { groupId, memberId } = message.request as RequestOf<'leaveGroup'>;
        this.#groups.leave(groupId, memberId);
        this.#host.reply(clientId, { kind: 'reply', id, result: undefined });
        return;
      }
      case 'joinGroup':
        this.#groups.join(clientId, message.request as RequestOf<'joinGroup'>, result => {
          if (result instanceof ConnectError) this.#replyError(clientId, id, result);
          else this.#host.reply(clientId, { kind: 'reply', id, result });
        });
        return;
      default:
        this.#queue.push(message);
        this.#scheduled ??= setImmediate(() => this.#commitQueued());
    }
  }

  /** Runs `body` in a write transaction of its own: all of it happens, or nothing. */
  write<T>(body: () => T): T {
    const { undo, changed } = this.context;
    changed.clear();
    let result: T;
    try {
      result = this.#store.write(() => {
        const value = body();
        for (const log of changed) log.writeState();
        return value;
      }, this.#host.flush);
    } catch (error) {
      undo.rollback();
      throw storeError(error, this.#host.dataDir);
    }
    undo.commit();
    if (changed.size > 0) this.#host.committed([...new Set([...changed].map(log => log.topic))]);
    return result;
  }

  /** To be called every second or so; `lateMs` = how much later than planned, since a thread that was held up must not blame its clients. */
  tick(now: number, lateMs: number): void {
    if (lateMs < 1000) this.#groups.expire(now, clientId => this.#lastHeard.get(clientId) ?? 0);
    if (this.#transactions.hasExpired(now)) this.write(() => this.#transactions.abortExpired(now));
    for (const [clientId, lastHeard] of this.#lastHeard) if (now - lastHeard > forgetClientMs) this.#forget(clientId);
  }

  #forget(clientId: string): void {
    this.#groups.leaveAll(clientId);
    this.#lastHeard.delete(clientId);
    this.#host.forget(clientId);
  }

  renewOwnership(): void {
    this.write(() => renewOwnership(this.#store));
  }

  /** Commits what is queued. */
  close(): void {
    while (this.#queue.length > 0) this.#commitQueued();
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    this.#groups.close();
  }

  #commitQueued(): void {
    this.#scheduled = null;
    const messages = this.#takeQueued();
    if (this.#queue.length > 0) this.#scheduled = setImmediate(() => this.#commitQueued());
    const outcomes: unknown[] = [];
    try {
      this.write(() => {
        for (const message of messages) outcomes.push(this.#run(message));
      });
    } catch (error) {
      for (const { clientId, id } of messages) this.#replyError(clientId, id, error as ConnectError);
      return;
    }
    for (const [i, { clientId, id }] of messages.entries()) {
      const outcome = outcomes[i];
      if (outcome instanceof ConnectError) this.#replyError(clientId, id, outcome);
      else this.#host.reply(clientId, { kind: 'reply', id, result: outcome });
    }
    if (this.#seenVersion !== this.catalog.version) {
      this.#seenVersion = this.catalog.version;
      this.#groups.topicsChanged();
    }
  }

  #takeQueued(): RequestMessage[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && bytes < maxCommitBytes) {
      const { name, request } = this.#queue[count++];
      if (name === 'append') bytes += (request as RequestOf<'append'>).bytes.byteLength;
    }
    return this.#queue.splice(0, count);
  }

  /** Handlers check before they write, so that a refusal leaves nothing behind in the transaction. */
  #run({ name, request }: RequestMessage): unknown {
    try {
      return (this.#handlers[name as WriteOperation] as (request: unknown) => unknown)(request);
    } catch (error) {
      if (error instanceof ConnectError) return error;
      throw error;
    }
  }

  readonly #handlers: Handlers = {
    append: ({ producer, bytes, entries }) => {
      if (producer !== null) this.#transactions.check(producer);
      // LMDB cannot write from shared memory.
      const own = Buffer.from(Buffer.from(bytes, 0, entries.at(-1)?.end ?? 0));
      const batches = entries.map(({ topic, partition, start, end }) => {
        const batch = own.subarray(start, end);
        this.#checkSize(topic, batch);
        return { log: this.catalog.partition(topic, partition), batch };
      });
      return batches.map(({ log, batch }) => {
        if (producer !== null) this.#transactions.joinPartition(producer, log);
        return log.append(batch);
      });
    },
    initTransactions: ({ transactionalId, timeoutMs }) => this.#transactions.init(transactionalId, timeoutMs),
    sendOffsets: ({ producer, groupId, offsets }) => {
      this.#transactions.check(producer);
      this.#transactions.addOffsets(producer, groupId, offsets);
    },
    endTransaction: ({ producer, commit }) => {
      this.#transactions.check(producer);
      this.#transactions.end(producer, commit);
    },
    createTopics: ({ specs }) => specs.filter(spec => this.catalog.create(spec) !== null).map(spec => spec.name),
    deleteTopics: ({ names }) => {
      for (const name of names) this.catalog.delete(name);
    },
    commitOffsets: ({ groupId, member, offsets }) => {
      if (member !== null) this.#groups.check(groupId, member);
      else this.#checkEmpty(groupId);
      putOffsets(this.#store, groupId, offsets);
    },
    deleteGroupOffsets: ({ groupId, partitions }) => {
      this.#checkEmpty(groupId);
      removeOffsets(this.#store, groupId, partitions);
    },
    changeDocuments: ({ changes }) => {
      for (const { key, expected } of changes) {
        if (expected === undefined) continue;
        const current = this.#store.meta.get(key);
        if ((current === undefined ? null : JSON.stringify(current)) !== expected) return false;
      }
      for (const { key, value } of changes) if (value !== undefined) this.#store.meta.putSync(key, value);
      return true;
    },
  };

  #checkSize(topic: string, batch: Buffer): void {
    const maxBytes = this.catalog.maxMessageBytes(topic);
    if (batch.length <= maxBytes || batch.readInt32BE(at.recordCount) > 1) return;
    throw new ConnectError(
      'BROKER_RECORD_TOO_LARGE',
      `A record for topic ${topic} takes ${batch.length} bytes; its max.message.bytes is ${maxBytes}. Raise max.message.bytes of the topic.`,
      { place: { topic } },
    );
  }

  #checkEmpty(groupId: string): void {
    if (this.#groups.hasMembers(groupId))
      throw new ConnectError(
        'BROKER_GROUP_NOT_EMPTY',
        `Offsets of group ${groupId} cannot be changed from outside while it has members. Stop its connector first.`,
      );
  }

  #replyError(clientId: string, id: number, { code, message, retriable, place }: ConnectError): void {
    this.#host.reply(clientId, { kind: 'error', id, error: { code, message, retriable, place } });
  }
}
