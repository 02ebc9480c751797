/**
 * Transactions that the server sends while they are open (pgoutput from protocol version 2 on): kept until they are committed, then read again as
 * protocol version 1 would have sent them, so that events and positions are the same. Only in commit order is anything given out.
 *
 * S int32 xid, byte first-segment · E · c int32 xid, byte flags, int64 commit lsn, int64 end lsn, int64 time · A int32 top xid, int32 sub xid, …
 * Between S and E all messages but O have the int32 xid of their (sub)transaction after the tag.
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

/** What is held of one transaction: its messages as they came, and which of its subtransactions were rolled back. */
export interface HeldTransaction {
  readonly bytes: HeldBytes;
  readonly aborted: Set<number>;
  /** Whether a logical message is among them that is published. */
  hasMessages: boolean;
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
      if (this.segment !== null && isChange && tag !== STREAM_STOP) {
        if (tag === MESSAGE && !this.segment.hasMessages) {
          this.segment.hasMessages = this.isWanted(bytes.toString('utf8', p + 44, bytes.indexOf(0, p + 44)));
        }
        p = next;
        continue;
      }
      keep();
      if (!isChange) control(bytes, view, p, next);
      else if (tag === STREAM_STOP) this.segment = null;
      else if (tag === STREAM_START) this.segment = this.open(view.getUint32(p + 31));
      else if (tag === STREAM_ABORT) await this.abort(view.getUint32(p + 31), view.getUint32(p + 35));
      else if (tag === STREAM_COMMIT) replay = this.commit(view.getUint32(p + 31), bytes.subarray(p, next));
      else break;
      p = next;
      run = p;
    }
    keep();
    while (this.pool.isOver && (await this.spillLargest()));
    return { next: p, replay };
  }

  private open(xid: number): HeldTransaction {
    let transaction = this.held.get(xid);
    if (transaction === undefined) {
      transaction = { bytes: new HeldBytes(this.pool), aborted: new Set(), hasMessages: false };
      this.held.set(xid, transaction);
    }
    return transaction;
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

  private commit(xid: number, message: Buffer): TransactionReplay {
    const transaction = this.held.get(xid);
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
    for (const { bytes } of transactions) await bytes.close();
  }
}
