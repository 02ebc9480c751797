/** What the changes of the transaction at hand share: its GTID, time, thread and statement, in the form that events have them. */
import type { TransactionStart } from '../protocol/gtidEvents.ts';
import type { TransactionForm } from './envelope.ts';
import type { LogCursor } from './logCursor.ts';
import type { EventLongs } from './streamBatch.ts';

export class TransactionScope {
  form: TransactionForm;
  /** Made when they are asked for: many events carry no changes. */
  private made: EventLongs | null = null;
  query: string | null = null;
  /** Whether a BEGIN was read: a statement without one is a transaction of its own. */
  hasBegun = false;
  thread = 0n;
  private readonly cursor: LogCursor;
  private readonly isMariaDb: boolean;
  private commitUs: bigint | null = null;
  private start = 0n;

  constructor(cursor: LogCursor, isMariaDb: boolean, hasTransactions: boolean) {
    this.cursor = cursor;
    this.isMariaDb = isMariaDb;
    this.form = { gtidPrefix: null, hasThread: true, idFile: null, hasTransactions };
  }

  /** The id in transaction metadata. */
  get id(): string {
    const { gtidText, file } = this.cursor;
    return gtidText ?? `file=${file},pos=${this.start}`;
  }

  begin({ gtid, originalCommitUs }: TransactionStart): void {
    const { cursor, form } = this;
    cursor.begin(gtid);
    this.commitUs = originalCommitUs;
    this.hasBegun = false;
    this.thread = 0n;
    this.query = null;
    this.start = BigInt(cursor.eventStart);
    const gtidPrefix = gtid?.prefix ?? null;
    const idFile = gtid === null && form.hasTransactions ? cursor.file : null;
    // MariaDB does not tell the thread of transactions without statements.
    const hasThread = !this.isMariaDb;
    if (form.gtidPrefix !== gtidPrefix || form.idFile !== idFile || form.hasThread !== hasThread) {
      this.form = { ...form, gtidPrefix, idFile, hasThread };
    }
  }

  end(): void {
    this.cursor.end();
    this.query = null;
    this.hasBegun = false;
  }

  /** Time and server of the event that has the changes that follow. */
  setEvent(bytes: Buffer, p: number): void {
    const { cursor } = this;
    cursor.seconds = bytes.readUInt32LE(p);
    cursor.serverId = bytes.readUInt32LE(p + 5);
    this.made = null;
  }

  /** Of the event at hand: the same object for all of its changes. */
  get longs(): EventLongs {
    this.made ??= this.makeLongs();
    return this.made;
  }

  private makeLongs(): EventLongs {
    const { cursor } = this;
    const us = this.commitUs ?? BigInt(cursor.seconds) * 1_000_000n;
    return {
      tsMs: us / 1000n,
      tsUs: us,
      tsNs: us * 1000n,
      serverId: BigInt(cursor.serverId),
      gtidNumber: cursor.gtid?.number ?? this.start,
      thread: this.thread,
      position: BigInt(cursor.eventStart),
    };
  }
}
