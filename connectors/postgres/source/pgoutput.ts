/**
 * pgoutput (as protocol version 1 has it; what later ones add is for HeldTransactions) from received bytes into batches: walks the messages in place, keeps where rows lie, makes no object per change.
 *
 * Outside: 'd' int32 length, then 'w' int64 start, int64 end, int64 time, payload, or 'k' int64 end, int64 time, byte reply-now.
 * Payloads: B int64 final lsn, int64 time, int32 xid · C byte, int64 commit, int64 end, int64 time · O int64 lsn, name · R relation · Y type ·
 * I int32 relation, 'N' tuple · U int32 relation, ['K'|'O' tuple], 'N' tuple · D int32 relation, 'K'|'O' tuple ·
 * T int32 count, byte options, relations · M byte flags, int64 lsn, prefix, int32 length, content. Integers are big-endian, times µs since 2000.
 */
import { ConnectError, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { ChangeCursor } from './changeCursor.ts';
import { OPERATION, processingTime } from './envelope.ts';
import { EventBatches } from './eventBatches.ts';
import type { Control } from './heldTransactions.ts';
import { LogicalMessages } from './logicalMessages.ts';
import { formatLsn } from './lsn.ts';
import { type IncompleteRow, identityColumns, isIncomplete } from './missingValues.ts';
import { isOwnPrefix, MARK_PREFIX } from './ownMessages.ts';
import type { StreamPosition } from './position.ts';
import { serverError } from './rawConnection.ts';
import { type Relation, readRelation } from './relation.ts';
import type { StreamBatch, TransactionLongs } from './streamBatch.ts';
import { streamError, streamWarning } from './streamError.ts';
import type { TableVersion } from './tableVersion.ts';
import { TransactionEvents } from './transactionEvents.ts';
import { columnsDiffer, fillUnchanged, hasUnchanged, skipTuple } from './tuple.ts';

const MICROS_TO_2000 = 946_684_800_000_000n;
const COPY_DATA = 0x64;
const COPY_DONE = 0x63;
const ERROR = 0x45;
const XLOG_DATA = 0x77;
const NOTICE = 0x4e;
const NEW_ROW = 0x4e;
const KEY_ROW = 0x4b;
const OLD_ROW = 0x4f;
/** More than there can be connections that wait for their commit to become visible. */
export const RECENT_TRANSACTIONS = 4096;
/** Values that are read from tables are large, and held in memory together. */
const MOST_INCOMPLETE = 100;

/** What the walk stopped for; `streamed`: a message of an open transaction; `mark`: one of our own. */
export type Stop = 'end' | 'full' | 'relation' | 'streamed' | 'mark';

export class PgOutputDecoder {
  private readonly settings: SourceSettings;
  private readonly batches: EventBatches;
  private readonly transactions: TransactionEvents | null;
  private readonly messages: LogicalMessages;
  private readonly skipInsert: boolean;
  private readonly skipUpdate: boolean;
  private readonly skipDelete: boolean;
  private readonly skipTruncate: boolean;
  private readonly cursor: ChangeCursor;

  /** The transaction at hand. */
  private longs: TransactionLongs | null = null;
  private hasEvents = false;
  private lastCommit: bigint | null;
  /** End of the last transaction with events: what `sequence` speaks of. */
  private lastEventCommit: bigint | null;
  private txId: bigint;
  private tsUs: bigint;

  /** The relation that the walk stopped for; its version has to be set before it goes on. */
  relation: Relation | null = null;
  /** Why the walk has to stop at the message at hand. */
  private stop: 'relation' | 'streamed' | 'mark' | null = null;
  /** Content of the mark that the walk stopped for. */
  mark: string | null = null;
  /** Transactions begun last, 0 = none. */
  private readonly recent: Uint32Array;
  private recentCount = 0;
  /** Transactions that were committed before it are published, and sent again for the sake of prepared ones. */
  publishedBefore = 0n;
  /** Highest WAL position the server spoke of. */
  walEnd = 0n;
  isReplyRequested = false;
  private eventCount = 0;
  private incomplete: (IncompleteRow & { readonly batch: StreamBatch; readonly index: number })[] = [];

  /** `recent` is kept filled with the ids of transactions. */
  constructor(
    settings: SourceSettings,
    common: BatchCommon,
    position: StreamPosition,
    recent = new Uint32Array(RECENT_TRANSACTIONS),
  ) {
    this.recent = recent;
    this.settings = settings;
    this.transactions = settings.transactionMetadata ? new TransactionEvents(settings, common.sourcePartition) : null;
    this.batches = new EventBatches(common, settings.transactionMetadata);
    this.messages = new LogicalMessages(settings, common.sourcePartition);
    this.skipInsert = settings.skippedOperations.has('c');
    this.skipUpdate = settings.skippedOperations.has('u');
    this.skipDelete = settings.skippedOperations.has('d');
    this.skipTruncate = settings.skippedOperations.has('t');
    this.cursor = new ChangeCursor(position);
    this.lastCommit = position.lastCommit;
    this.lastEventCommit = position.lastCommit;
    // Those that are published of the transaction which comes first count for its end.
    this.hasEvents = position.changesAtLsn > 0;
    this.txId = position.txId;
    this.tsUs = position.tsUs;
  }

  /** That of the last event walked. */
  get position(): StreamPosition {
    const { lsn, changesAtLsn } = this.cursor;
    return { lastCommit: this.lastCommit, lsn, changesAtLsn, txId: this.txId, tsUs: this.tsUs };
  }

  get isInTransaction(): boolean {
    return this.longs !== null;
  }

  setVersion(oid: number, version: TableVersion | null): void {
    this.batches.setVersion(oid, version);
    this.relation = null;
  }

  /** Walks messages from `start`; returns where it stopped, which is always at the start of a message. */
  walk(bytes: Buffer, start: number): { next: number; stop: Stop } {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = bytes.length;
    const maxEvents = this.settings.maxBatchSize;
    let p = start;
    while (p + 5 <= end) {
      const next = p + 1 + view.getInt32(p + 1);
      if (next > end) break;
      if (bytes[p] !== COPY_DATA || bytes[p + 5] !== XLOG_DATA) {
        this.control(bytes, view, p, next);
      } else {
        if (this.eventCount >= maxEvents || this.incomplete.length >= MOST_INCOMPLETE) return { next: p, stop: 'full' };
        this.message(bytes, view, p + 30, next, view.getInt32(p + 6), view.getInt32(p + 10));
        if (this.stop !== null) {
          const { stop } = this;
          this.stop = null;
          return { next: stop === 'streamed' ? p : next, stop };
        }
      }
      p = next;
    }
    return { next: p, stop: 'end' };
  }

  /** A message that is not of the stream of changes. */
  readonly control: Control = (bytes, view, p, next) => {
    switch (bytes[p]) {
      case COPY_DATA:
        this.keepalive(view, p + 6);
        return;
      case ERROR:
        throw streamError(serverError(bytes, p + 5, next));
      case NOTICE: {
        const failure = streamWarning(serverError(bytes, p + 5, next));
        if (failure !== null) throw failure;
        return;
      }
      case COPY_DONE:
        throw new ConnectError('PG_UNREACHABLE', 'the server ended the replication stream', { retriable: true });
      default:
        // CopyBothResponse and parameter changes say nothing of the stream.
        return;
    }
  };

  /** Rows that lack values; `setRows` has to be given them complete before the batches are taken. */
  get incompleteRows(): readonly IncompleteRow[] {
    return this.incomplete;
  }

  setRows(tuples: readonly Buffer[], bytes: Buffer): void {
    for (const [i, { batch, index }] of this.incomplete.entries()) {
      const tuple = tuples[i]!;
      batch.setRow(index, this.batches.addTuple(tuple, bytes.length), tuple.length);
    }
    this.incomplete = [];
  }

  /** The batches of what was walked through; `bytes` must be what `walk` was given. */
  takeBatches(bytes: Buffer): SourceBatch[] {
    this.eventCount = 0;
    const batches = this.batches.take(bytes);
    batches.push(...this.messages.take());
    if (this.transactions !== null) batches.push(...this.transactions.take());
    return batches;
  }

  private keepalive(view: DataView, p: number): void {
    const walEnd = view.getBigUint64(p);
    if (walEnd > this.walEnd) this.walEnd = walEnd;
    if (view.getUint8(p + 16) === 1) this.isReplyRequested = true;
  }

  private message(bytes: Buffer, view: DataView, p: number, end: number, lsnHigh: number, lsnLow: number): void {
    switch (bytes[p]) {
      case 0x49: // I
        if (this.cursor.isNew(lsnHigh, lsnLow) && !this.skipInsert) this.insert(bytes, view, p, end);
        return;
      case 0x55: // U
        if (this.cursor.isNew(lsnHigh, lsnLow) && !this.skipUpdate) this.update(bytes, view, p, end);
        return;
      case 0x44: // D
        if (this.cursor.isNew(lsnHigh, lsnLow) && !this.skipDelete) this.delete(view, p, end);
        return;
      case 0x42: // B
        this.begin(view, p, lsnHigh, lsnLow);
        return;
      case 0x43: // C
        this.commit(view, p);
        return;
      case 0x52: // R
        this.relation = readRelation(bytes, view, p);
        this.stop = 'relation';
        return;
      case 0x54: // T
        if (!this.cursor.isNew(lsnHigh, lsnLow)) return;
        this.hasEvents = true;
        if (!this.skipTruncate) this.truncate(view, p);
        return;
      case 0x4f: // O
        this.batches.setOrigin(bytes.toString('utf8', p + 9, bytes.indexOf(0, p + 9)), view.getBigInt64(p + 1));
        return;
      case 0x4d: // M
        this.logicalMessage(bytes, view, p, lsnHigh, lsnLow);
        return;
      case 0x59: // Y
        return;
      case 0x53: // S
      case 0x63: // c
      case 0x41: // A
      case 0x62: // b
      case 0x50: // P
      case 0x70: // p
      case 0x4b: // K
      case 0x72: // r
        this.stop = 'streamed';
        return;
      default:
        throw new ConnectError(
          'PG_PROTOCOL_INVALID',
          `pgoutput sent a message of the unknown kind "${String.fromCharCode(bytes[p]!)}".`,
          { place: { position: formatLsn((BigInt(lsnHigh >>> 0) << 32n) | BigInt(lsnLow >>> 0)) } },
        );
    }
  }

  private begin(view: DataView, p: number, lsnHigh: number, lsnLow: number): void {
    this.cursor.isSkipped = this.publishedBefore > 0n && view.getBigUint64(p + 1) < this.publishedBefore;
    if (this.cursor.isSkipped) return;
    const tsUs = view.getBigInt64(p + 9) + MICROS_TO_2000;
    const xid = view.getUint32(p + 17);
    this.recent[this.recentCount++ % this.recent.length] = xid;
    this.tsUs = tsUs;
    this.txId = BigInt(xid);
    this.longs = {
      tsMs: tsUs / 1000n,
      tsUs,
      tsNs: tsUs * 1000n,
      txId: this.txId,
      lastCommit: this.lastEventCommit,
    };
    this.cursor.begin(this.txId);
    this.batches.setOrigin(null, null);
    this.transactions?.begin(this.longs, lsnHigh, lsnLow);
  }

  private commit(view: DataView, p: number): void {
    if (this.cursor.isSkipped) {
      this.cursor.isSkipped = false;
      return;
    }
    const endLsn = view.getBigUint64(p + 10);
    this.transactions?.end(view.getUint32(p + 2), view.getUint32(p + 6));
    this.cursor.commit(view.getInt32(p + 10), view.getInt32(p + 14));
    this.lastCommit = endLsn;
    if (this.hasEvents) this.lastEventCommit = endLsn;
    this.hasEvents = false;
    this.longs = null;
    if (endLsn > this.walEnd) this.walEnd = endLsn;
  }

  private insert(bytes: Buffer, view: DataView, p: number, end: number): void {
    const batch = this.batches.of(view.getUint32(p + 1));
    if (batch === null) return;
    if (bytes[p + 5] !== NEW_ROW) throw malformed('I');
    const row = p + 6;
    this.record(batch, OPERATION.c, -1, row, row, end - p);
  }

  private update(bytes: Buffer, view: DataView, p: number, end: number): void {
    const oid = view.getUint32(p + 1);
    const kind = bytes[p + 5]!;
    if (kind === NEW_ROW) {
      const batch = this.batches.of(oid);
      const row = p + 6;
      if (batch !== null) this.record(batch, OPERATION.u, -1, row, row, end - p);
      return;
    }
    const version = this.batches.version(oid);
    if (version === null) return;
    const before = p + 6;
    const mark = skipTuple(bytes, view, before);
    if (bytes[mark] !== NEW_ROW) throw malformed('U');
    let after = mark + 1;
    const isKeyChange = version.keyIndexes.length > 0 && columnsDiffer(bytes, view, before, after, version.keyIndexes);
    if (this.settings.skipsUnchanged && kind === OLD_ROW && !isKeyChange) {
      if (!columnsDiffer(bytes, view, before, after, version.publishedIndexes)) return;
    }
    if (hasUnchanged(bytes, view, after)) {
      const tuple = fillUnchanged(bytes, view, before, after);
      if (isKeyChange && kind === KEY_ROW && isIncomplete(version, tuple)) {
        const identity = identityColumns(bytes.subarray(before, mark));
        const batch = this.batches.forKeyChange(oid);
        const index = this.keyChange(batch, before, -1, end - p);
        this.incomplete.push({ version, tuple, identity, txId: this.txId, batch, index });
        return;
      }
      after = this.batches.addTuple(tuple, bytes.length);
    }
    if (isKeyChange) this.keyChange(this.batches.forKeyChange(oid), before, after, end - p);
    else this.record(this.batches.of(oid)!, OPERATION.u, before, after, after, end - p);
  }

  /** A row under another key: the old key's end and the new one's beginning. */
  private keyChange(batch: StreamBatch, before: number, after: number, byteLength: number): number {
    const removed = this.record(batch, OPERATION.d, before, -1, before, byteLength);
    const tombstone = this.settings.tombstones ? this.tombstone(batch, before) : -1;
    const created = this.record(batch, OPERATION.c, -1, after, after, 0);
    batch.setOtherKey(removed, '__debezium.newkey', created);
    if (tombstone >= 0) batch.setOtherKey(tombstone, '__debezium.newkey', created);
    batch.setOtherKey(created, '__debezium.oldkey', removed);
    return created;
  }

  private delete(view: DataView, p: number, end: number): void {
    const batch = this.batches.of(view.getUint32(p + 1));
    if (batch === null) return;
    const before = p + 6;
    this.record(batch, OPERATION.d, before, -1, before, end - p);
    if (this.settings.tombstones) this.tombstone(batch, before);
  }

  private truncate(view: DataView, p: number): void {
    const count = view.getInt32(p + 1);
    for (let i = 0; i < count; i++) {
      const batch = this.batches.withoutKey(view.getUint32(p + 6 + 4 * i));
      if (batch !== null) this.record(batch, OPERATION.t, -1, -1, -1, 64);
    }
  }

  /** One outside a transaction is there at once, whatever else is not committed yet, and comes between transactions. */
  private logicalMessage(bytes: Buffer, view: DataView, p: number, lsnHigh: number, lsnLow: number): void {
    const prefixEnd = bytes.indexOf(0, p + 10);
    const prefix = bytes.toString('utf8', p + 10, prefixEnd);
    if (isOwnPrefix(prefix)) {
      if (prefix !== MARK_PREFIX) return;
      this.mark = bytes.toString('utf8', prefixEnd + 5, prefixEnd + 5 + view.getInt32(prefixEnd + 1));
      this.stop = 'mark';
      return;
    }
    const isTransactional = (bytes[p + 1]! & 1) === 1;
    if (isTransactional && !this.cursor.isNew(lsnHigh, lsnLow)) return;
    if (!this.messages.isWanted(prefix)) return;
    const lsn = view.getBigUint64(p + 2);
    if (!isTransactional && lsn < this.publishedBefore) return;
    if (isTransactional) this.hasEvents = true;
    else this.lastEventCommit = lsn;
    const start = prefixEnd + 5;
    const content = Buffer.from(bytes.subarray(start, start + view.getInt32(prefixEnd + 1)));
    const { txId = null, tsUs = processingTime()[1] } = isTransactional ? this.longs! : {};
    const transaction = isTransactional ? (this.transactions?.message(lsnHigh, lsnLow) ?? null) : null;
    this.messages.add({ prefix, content, lsn, txId, tsUs, lastCommit: this.lastEventCommit, transaction });
    this.eventCount++;
  }

  private record(
    batch: StreamBatch,
    op: number,
    before: number,
    after: number,
    key: number,
    byteLength: number,
  ): number {
    const { longs, cursor } = this;
    if (longs === null) throw new ConnectError('PG_PROTOCOL_INVALID', 'pgoutput sent a change outside a transaction.');
    const index = batch.add(op, before, after, key, cursor.lsnHigh, cursor.lsnLow, longs, false);
    batch.byteLength += byteLength;
    batch.newestMs = longs.tsMs;
    this.eventCount++;
    this.hasEvents = true;
    this.transactions?.count(batch, index);
    return index;
  }

  private tombstone(batch: StreamBatch, key: number): number {
    this.eventCount++;
    return batch.add(OPERATION.d, -1, -1, key, this.cursor.lsnHigh, this.cursor.lsnLow, this.longs!, true);
  }
}

const malformed = (kind: string): ConnectError =>
  new ConnectError('PG_PROTOCOL_INVALID', `pgoutput sent a message of kind ${kind} without a new row.`);
