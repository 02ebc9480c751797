/**
 * Transactions that the server sends while they are open (pgoutput from protocol version 2 on): kept until they are committed, then read again as
 * protocol version 1 would have sent them, so that events and positions are the same. Only in commit order is anything given out.
 *
 * S int32 xid, byte first-segment · E · c int32 xid, byte flags, int64 commit lsn, int64 end lsn, int64 time · A int32 top xid, int32 sub xid, …
 * Between S and E all messages but O have the int32 xid of their (sub)transaction after the tag.
 *
 * And prepared transactions, where the slot sends them when they are prepared (from version 3 on): kept until COMMIT PREPARED.
 * b int64 prepare lsn, int64 end lsn, int64 time, int32 xid, gid · its changes, without xids · P byte flags, then as b
 * p as P, for a transaction that was sent while it was open · K byte flags, int64 commit lsn, int64 end lsn, int64 time, int32 xid, gid
 * r byte flags, int64 prepare end lsn, int64 rollback end lsn, int64 prepare time, int64 rollback time, int32 xid, gid
 * One that changed nothing comes as P alone, without b, from PostgreSQL 18 on; and with any, what was rolled back before the server read it.
 */
import { ConnectError } from '../../../runtime/api/index.ts';
import { BlockPool, HeldBytes } from './heldBytes.ts';
import { ReplayBuffers, TransactionReplay } from './transactionReplay.ts';

const COPY_DATA = 0x64;
const XLOG_DATA = 0x77;
const MESSAGE = 0x4d;
const STREAM_START = 0x53;
const STREAM_STOP = 0x45;
const STREAM_COMMIT = 0x63;
const STREAM_ABORT = 0x41;
const BEGIN_PREPARE = 0x62;
const PREPARE = 0x50;
const STREAM_PREPARE = 0x70;
const COMMIT_PREPARED = 0x4b;
const ROLLBACK_PREPARED = 0x72;
const RELATION = 0x52;
/** Of a WAL message's tag, in the message. */
const TAG = 30;

/** What is held of one transaction: its messages as they came, and which of its subtransactions were rolled back. */
export interface HeldTransaction {
  readonly bytes: HeldBytes;
  readonly aborted: Set<number>;
  /** Whether a logical message is among them that is published. */
  hasMessages: boolean;
  /** Whether its messages have the xids of subtransactions: not where it was sent when it was prepared. */
  readonly hasXids: boolean;
  /** Where it was prepared; null = it is not. The server sends it again only to those who start before. */
  preparedAt: bigint | null;
}

/** Thrown where only what the server sends after the commit can be relied on. */
export class NeedsCommitted extends Error {}

/** Handles a message that is not of the stream of changes, such as a keepalive. */
export type Control = (bytes: Buffer, view: DataView, p: number, next: number) => void;

export class HeldTransactions {
  private readonly pool: BlockPool;
  private readonly held = new Map<number, HeldTransaction>();
  private readonly buffers = new ReplayBuffers();
  private segment: HeldTransaction | null = null;
  /** Transactions that were committed before it are published: the server sends them again for the sake of prepared ones. */
  publishedBefore = 0n;
  /**
   * Descriptions of relations in prepared transactions, to be read when they come: the server does not send them again with the next transaction,
   * which may well be committed first.
   */
  readonly described: Buffer[] = [];

  private readonly isWanted: (prefix: string) => boolean;

  /** `isWanted` tells by its prefix whether a logical message is published. */
  constructor(maxBytes: number, isWanted: (prefix: string) => boolean) {
    this.pool = new BlockPool(maxBytes);
    this.isWanted = isWanted;
  }

  /** Whether the bytes before ended inside a segment: then the next ones are for `take` first. */
  get isInSegment(): boolean {
    return this.segment !== null;
  }

  /** Start of the oldest prepared transaction that is held; null = there is none. */
  get oldestPrepared(): bigint | null {
    let oldest: bigint | null = null;
    for (const { preparedAt } of this.held.values()) {
      if (preparedAt !== null && (oldest === null || preparedAt < oldest)) oldest = preparedAt;
    }
    return oldest;
  }

  /**
   * Takes messages from `start` on as long as they are of open transactions. Stops behind a commit, whose transaction it gives, before a message of another kind, or
   * at the end of the bytes.
   */
  async take(
    bytes: Buffer,
    start: number,
    control: Control,
  ): Promise<{ next: number; replay: TransactionReplay | null }> {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = bytes.length;
    let replay: TransactionReplay | null = null;
    /** Where the messages begin that were passed and are not kept yet. */
    let run = start;
    let p = start;
    const keep = (): void => {
      if (run < p) this.segment?.bytes.append(bytes, run, p);
    };
    while (replay === null && p + 5 <= end) {
      const next = p + 1 + view.getInt32(p + 1);
      if (next > end) break;
      const isChange = bytes[p] === COPY_DATA && bytes[p + 5] === XLOG_DATA;
      const tag = isChange ? bytes[p + 30] : -1;
      if (this.segment !== null && isChange && tag !== (this.segment.hasXids ? STREAM_STOP : PREPARE)) {
        if (tag === MESSAGE && this.segment.hasXids && !this.segment.hasMessages) {
          this.segment.hasMessages = this.isWanted(bytes.toString('utf8', p + 44, bytes.indexOf(0, p + 44)));
        }
        if (tag === RELATION && !this.segment.hasXids) this.described.push(Buffer.from(bytes.subarray(p + TAG, next)));
        p = next;
        continue;
      }
      keep();
      if (!isChange) control(bytes, view, p, next);
      else if (tag === STREAM_STOP) this.segment = null;
      else if (tag === STREAM_START) this.segment = this.open(view.getUint32(p + 31), true);
      else if (tag === STREAM_ABORT) await this.abort(view.getUint32(p + 31), view.getUint32(p + 35));
      else if (tag === STREAM_COMMIT) replay = await this.commit(view.getUint32(p + 31), bytes.subarray(p, next));
      else if (tag === BEGIN_PREPARE) this.segment = this.open(view.getUint32(p + 55), false);
      else if (tag === PREPARE || tag === STREAM_PREPARE) {
        this.prepare(view.getUint32(p + 56), view.getBigUint64(p + 32));
      } else if (tag === COMMIT_PREPARED) {
        replay = await this.commit(view.getUint32(p + 56), streamCommit(bytes.subarray(p, p + 60)));
      } else if (tag === ROLLBACK_PREPARED) {
        const xid = view.getUint32(p + 64);
        await this.abort(xid, xid);
      } else break;
      p = next;
      run = p;
    }
    keep();
    while (this.pool.isOver && (await this.spillLargest()));
    return { next: p, replay };
  }

  private open(xid: number, hasXids: boolean): HeldTransaction {
    let transaction = this.held.get(xid);
    if (transaction === undefined) {
      const bytes = new HeldBytes(this.pool);
      transaction = { bytes, aborted: new Set(), hasMessages: false, hasXids, preparedAt: null };
      this.held.set(xid, transaction);
    }
    return transaction;
  }

  private prepare(xid: number, lsn: bigint): void {
    this.segment = null;
    // One that changed nothing, or nothing that is published, has no segment.
    this.open(xid, true).preparedAt = lsn;
  }

  /** Of a transaction that was rolled back, or in part. */
  private async abort(top: number, sub: number): Promise<void> {
    const transaction = this.held.get(top);
    if (transaction === undefined) return;
    if (top !== sub) {
      transaction.aborted.add(sub);
      return;
    }
    this.held.delete(top);
    await transaction.bytes.close();
  }

  /** `message` is the message c. Null for a transaction that is published. */
  private async commit(xid: number, message: Buffer): Promise<TransactionReplay | null> {
    const transaction = this.held.get(xid);
    if (message.readBigUInt64BE(TAG + 6) < this.publishedBefore) {
      await this.abort(xid, xid);
      return null;
    }
    if (transaction === undefined) {
      throw new ConnectError(
        'PG_PROTOCOL_INVALID',
        `pgoutput sent the commit of transaction ${xid} without its changes.`,
      );
    }
    if (transaction.hasMessages && transaction.aborted.size > 0) {
      // The server names the top transaction in all messages: those of a part that was rolled back look like the others.
      throw new NeedsCommitted(`transaction ${xid} has logical messages, and parts of it were rolled back`);
    }
    this.held.delete(xid);
    return new TransactionReplay(transaction, message, this.buffers);
  }

  /** False where none is in memory: what is replayed stays there. */
  private async spillLargest(): Promise<boolean> {
    let largest: HeldBytes | null = null;
    for (const { bytes } of this.held.values()) {
      if (largest === null || bytes.memoryBytes > largest.memoryBytes) largest = bytes;
    }
    if (largest === null || largest.memoryBytes === 0) return false;
    await largest.spill();
    return true;
  }

  /** Forgets all: a new connection sends all of what is not committed again. */
  async clear(): Promise<void> {
    const transactions = [...this.held.values()];
    this.held.clear();
    this.segment = null;
    this.described.length = 0;
    for (const { bytes } of transactions) await bytes.close();
  }
}

/** K as c: what was prepared is given out like any other transaction. */
function streamCommit(message: Buffer): Buffer {
  const commit = Buffer.from(message);
  commit[TAG] = STREAM_COMMIT;
  message.copy(commit, TAG + 1, TAG + 26, TAG + 30);
  message.copy(commit, TAG + 5, TAG + 1, TAG + 26);
  return commit;
}
