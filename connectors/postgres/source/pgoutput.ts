/**
 * pgoutput (protocol version 1) from received bytes into batches: walks the messages in place, keeps where rows lie, makes no object per change.
 *
 * Outside: 'd' int32 length, then 'w' int64 start, int64 end, int64 time, payload, or 'k' int64 end, int64 time, byte reply-now.
 * Payloads: B int64 final lsn, int64 time, int32 xid · C byte, int64 commit, int64 end, int64 time · O int64 lsn, name · R relation · Y type ·
 * I int32 relation, 'N' tuple · U int32 relation, ['K'|'O' tuple], 'N' tuple · D int32 relation, 'K'|'O' tuple ·
 * T int32 count, byte options, relations · M byte flags, int64 lsn, prefix, int32 length, content. Integers are big-endian, times µs since 2000.
 */
import { ConnectError, type ErrorCode, type SourceBatch } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import { OPERATION, processingTime } from './envelope.ts';
import { LogicalMessages } from './logicalMessages.ts';
import { formatLsn } from './lsn.ts';
import type { StreamPosition } from './position.ts';
import { serverError } from './rawStream.ts';
import { type BatchCommon, StreamBatch, type TransactionLongs } from './streamBatch.ts';
import type { RowColumn, TableVersion } from './tableVersion.ts';
import { TransactionEvents } from './transactionEvents.ts';
import { columnsDiffer, fillUnchanged, hasUnchanged, skipTuple } from './tuple.ts';

const MICROS_TO_2000 = 946_684_800_000_000n;
const TAG = { copyData: 0x64, copyBoth: 0x57, error: 0x45, copyDone: 0x63 } as const;
const NEW_ROW = 0x4e;
const OLD_ROW = 0x4f;

/** A Relation message: a table's columns from here on. */
export interface Relation {
  readonly oid: number;
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly (RowColumn & { readonly isKey: boolean })[];
}

/** What the walk stopped for. */
export type Stop = 'end' | 'full' | 'relation';

export class PgOutputDecoder {
  private readonly settings: SourceSettings;
  private readonly common: BatchCommon;
  /** Versions by relation; null = the table is not captured. */
  private readonly versions = new Map<number, TableVersion | null>();
  private readonly open = new Map<number, StreamBatch>();
  private batches: StreamBatch[] = [];
  private readonly transactions: TransactionEvents | null;
  private readonly messages: LogicalMessages;
  private readonly skipInsert: boolean;
  private readonly skipUpdate: boolean;
  private readonly skipDelete: boolean;
  private readonly skipTruncate: boolean;
  private isTransactionVisible: ((xid: number) => boolean) | null;

  /** Tuples that are in no message, laid behind the received bytes. */
  private extra: Buffer[] = [];
  private extraBytes = 0;

  private longs: TransactionLongs | null = null;
  private isSkipped = false;
  private origin: string | null = null;
  private originLsn: bigint | null = null;
  private lastCommit: bigint | null;
  /** End of the last transaction with events: what `sequence` speaks of. */
  private lastEventCommit: bigint | null;
  private hasEvents = false;
  private txId: bigint;
  private tsUs: bigint;
  private lsnHigh: number;
  private lsnLow: number;
  private changesAtLsn: number;
  /** Changes of the first transaction that were published before: up to this LSN and number. */
  private resume: { high: number; low: number; changes: number } | null;
  private resumeCount = 0;

  /** The relation that the walk stopped for; its version has to be set before it goes on. */
  relation: Relation | null = null;
  /** Highest WAL position the server spoke of. */
  walEnd = 0n;
  isReplyRequested = false;
  eventCount = 0;

  constructor(
    settings: SourceSettings,
    common: BatchCommon,
    position: StreamPosition,
    isTransactionVisible: ((xid: number) => boolean) | null,
  ) {
    this.settings = settings;
    this.common = common;
    this.transactions = settings.transactionMetadata ? new TransactionEvents(settings, common.sourcePartition) : null;
    this.messages = new LogicalMessages(settings, common.sourcePartition);
    this.skipInsert = settings.skippedOperations.has('c');
    this.skipUpdate = settings.skippedOperations.has('u');
    this.skipDelete = settings.skippedOperations.has('d');
    this.skipTruncate = settings.skippedOperations.has('t');
    this.isTransactionVisible = isTransactionVisible;
    this.lastCommit = position.lastCommit;
    this.lastEventCommit = position.lastCommit;
    this.txId = position.txId;
    this.tsUs = position.tsUs;
    this.lsnHigh = Number(BigInt.asIntN(32, position.lsn >> 32n));
    this.lsnLow = Number(BigInt.asIntN(32, position.lsn));
    this.changesAtLsn = position.changesAtLsn;
    this.resume =
      position.changesAtLsn > 0 ? { high: this.lsnHigh, low: this.lsnLow, changes: position.changesAtLsn } : null;
  }

  get position(): StreamPosition {
    return {
      lastCommit: this.lastCommit,
      lsn: (BigInt(this.lsnHigh >>> 0) << 32n) | BigInt(this.lsnLow >>> 0),
      changesAtLsn: this.changesAtLsn,
      txId: this.txId,
      tsUs: this.tsUs,
    };
  }

  get isInTransaction(): boolean {
    return this.longs !== null;
  }

  setVersion(oid: number, version: TableVersion | null): void {
    if (this.versions.get(oid) !== version) this.open.delete(oid);
    this.versions.set(oid, version);
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
      switch (bytes[p]) {
        case TAG.copyData:
          if (bytes[p + 5] === 0x77) {
            if (this.eventCount >= maxEvents) return { next: p, stop: 'full' };
            this.message(bytes, view, p + 30, next, view.getInt32(p + 6), view.getInt32(p + 10));
            if (this.relation !== null) return { next, stop: 'relation' };
          } else {
            this.keepalive(view, p + 6);
          }
          break;
        case TAG.error:
          throw streamError(serverError(bytes, p + 5, next));
        case TAG.copyDone:
          throw new ConnectError('PG_UNREACHABLE', 'the server ended the replication stream', { retriable: true });
        default:
          // CopyBothResponse, notices and parameter changes say nothing of the stream.
          break;
      }
      p = next;
    }
    return { next: p, stop: 'end' };
  }

  /** The batches of what was walked through; `bytes` must be what `walk` was given. */
  takeBatches(bytes: Buffer): SourceBatch[] {
    const all = this.extra.length === 0 ? bytes : Buffer.concat([bytes, ...this.extra]);
    const now = processingTime();
    const batches: SourceBatch[] = this.batches
      .filter(batch => batch.count > 0)
      .map(batch => batch.finish(all, now, this.common));
    batches.push(...this.messages.take());
    if (this.transactions !== null) batches.push(...this.transactions.take());
    this.batches = [];
    this.open.clear();
    this.extra = [];
    this.extraBytes = 0;
    this.eventCount = 0;
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
        if (!this.isNew(lsnHigh, lsnLow) || this.skipInsert) return;
        this.insert(bytes, view, p, end);
        return;
      case 0x55: // U
        if (!this.isNew(lsnHigh, lsnLow) || this.skipUpdate) return;
        this.update(bytes, view, p, end);
        return;
      case 0x44: // D
        if (!this.isNew(lsnHigh, lsnLow) || this.skipDelete) return;
        this.delete(view, p, end);
        return;
      case 0x42: // B
        this.begin(view, p, lsnHigh, lsnLow);
        return;
      case 0x43: // C
        this.commit(view, p);
        return;
      case 0x52: // R
        this.relation = readRelation(bytes, view, p);
        return;
      case 0x54: // T
        if (!this.isNew(lsnHigh, lsnLow)) return;
        this.hasEvents = true;
        if (!this.skipTruncate) this.truncate(view, p);
        return;
      case 0x4f: // O
        this.originLsn = view.getBigInt64(p + 1);
        this.setOrigin(bytes.toString('utf8', p + 9, bytes.indexOf(0, p + 9)));
        return;
      case 0x4d: // M
        this.logicalMessage(bytes, view, p, lsnHigh, lsnLow);
        return;
      case 0x59: // Y
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
    const tsUs = view.getBigInt64(p + 9) + MICROS_TO_2000;
    const xid = view.getUint32(p + 17);
    const tsMs = tsUs / 1000n;
    this.longs = { tsMs, tsUs, tsNs: tsUs * 1000n, txId: BigInt(xid), lastCommit: this.lastEventCommit };
    this.isSkipped = this.isTransactionVisible?.(xid) ?? false;
    // Commit order is fixed, so that the transaction published in part comes first; another one means that it has no more to publish.
    if (this.longs.txId !== this.txId) this.resume = null;
    this.tsUs = tsUs;
    this.txId = this.longs.txId;
    this.changesAtLsn = 0;
    this.setOrigin(null);
    if (!this.isSkipped) this.transactions?.begin(this.longs, lsnHigh, lsnLow);
  }

  private commit(view: DataView, p: number): void {
    const endLsn = view.getBigUint64(p + 10);
    if (!this.isSkipped) this.transactions?.end(view.getUint32(p + 2), view.getUint32(p + 6));
    this.lastCommit = endLsn;
    if (this.hasEvents) this.lastEventCommit = endLsn;
    this.hasEvents = false;
    this.lsnHigh = view.getInt32(p + 10);
    this.lsnLow = view.getInt32(p + 14);
    this.changesAtLsn = 0;
    this.resume = null;
    this.longs = null;
    if (endLsn > this.walEnd) this.walEnd = endLsn;
  }

  /** The origin is a constant of a batch, so that batches end where it changes. */
  private setOrigin(origin: string | null): void {
    if (origin === null && this.origin === null) return;
    this.open.clear();
    this.origin = origin;
    if (origin === null) this.originLsn = null;
  }

  /** Counts a change; false for one that was published before, or that the snapshot has. */
  private isNew(lsnHigh: number, lsnLow: number): boolean {
    if (this.isSkipped) return false;
    const resume = this.resume;
    if (resume !== null) {
      const order = (lsnHigh >>> 0) - (resume.high >>> 0) || (lsnLow >>> 0) - (resume.low >>> 0);
      if (order < 0) return false;
      if (order === 0 && this.resumeCount < resume.changes) {
        this.resumeCount++;
        this.changesAtLsn = this.resumeCount;
        this.lsnHigh = lsnHigh;
        this.lsnLow = lsnLow;
        return false;
      }
      if (order > 0) this.resume = null;
    }
    if (lsnHigh === this.lsnHigh && lsnLow === this.lsnLow) {
      this.changesAtLsn++;
    } else {
      this.lsnHigh = lsnHigh;
      this.lsnLow = lsnLow;
      this.changesAtLsn = 1;
    }
    return true;
  }

  private batchOf(oid: number): StreamBatch | null {
    const known = this.open.get(oid);
    if (known !== undefined) return known;
    const version = this.versions.get(oid);
    if (version === undefined) {
      throw new ConnectError(
        'PG_PROTOCOL_INVALID',
        `pgoutput sent a change of relation ${oid} before its description.`,
      );
    }
    if (version === null) return null;
    const batch = this.newBatch(version, true);
    this.open.set(oid, batch);
    return batch;
  }

  private newBatch(version: TableVersion, isKeyed: boolean): StreamBatch {
    const batch = new StreamBatch(version, isKeyed, this.transactions !== null, this.origin, this.originLsn);
    this.batches.push(batch);
    return batch;
  }

  private insert(bytes: Buffer, view: DataView, p: number, end: number): void {
    const batch = this.batchOf(view.getUint32(p + 1));
    if (batch === null) return;
    if (bytes[p + 5] !== NEW_ROW) throw malformed('I');
    const row = p + 6;
    this.record(batch, OPERATION.c, -1, row, row, end - p);
  }

  private update(bytes: Buffer, view: DataView, p: number, end: number): void {
    const batch = this.batchOf(view.getUint32(p + 1));
    if (batch === null) return;
    const kind = bytes[p + 5]!;
    if (kind === NEW_ROW) {
      const row = p + 6;
      this.record(batch, OPERATION.u, -1, row, row, end - p);
      return;
    }
    const before = p + 6;
    const mark = skipTuple(bytes, view, before);
    if (bytes[mark] !== NEW_ROW) throw malformed('U');
    let after = mark + 1;
    const { version } = batch;
    const isKeyChange = version.keyIndexes.length > 0 && columnsDiffer(bytes, view, before, after, version.keyIndexes);
    if (kind === OLD_ROW && hasUnchanged(bytes, view, after)) {
      const filled = fillUnchanged(bytes, view, before, after);
      after = bytes.length + this.extraBytes;
      this.extra.push(filled);
      this.extraBytes += filled.length;
    }
    if (!isKeyChange) {
      this.record(batch, OPERATION.u, before, after, after, end - p);
      return;
    }
    const removed = this.record(batch, OPERATION.d, before, -1, before, end - p);
    const tombstone = this.settings.tombstones ? this.tombstone(batch, before) : -1;
    const created = this.record(batch, OPERATION.c, -1, after, after, 0);
    batch.setOtherKey(removed, '__debezium.newkey', created);
    if (tombstone >= 0) batch.setOtherKey(tombstone, '__debezium.newkey', created);
    batch.setOtherKey(created, '__debezium.oldkey', removed);
  }

  private delete(view: DataView, p: number, end: number): void {
    const batch = this.batchOf(view.getUint32(p + 1));
    if (batch === null) return;
    const before = p + 6;
    this.record(batch, OPERATION.d, before, -1, before, end - p);
    if (this.settings.tombstones) this.tombstone(batch, before);
  }

  private truncate(view: DataView, p: number): void {
    const count = view.getInt32(p + 1);
    for (let i = 0; i < count; i++) {
      const oid = view.getUint32(p + 6 + 4 * i);
      const version = this.versions.get(oid);
      if (version === undefined || version === null) continue;
      // Truncates have no key: a batch of their own, after which the table's changes go on in another.
      const batch = this.newBatch(version, false);
      this.open.delete(oid);
      this.record(batch, OPERATION.t, -1, -1, -1, 64);
    }
  }

  /** One outside a transaction is there at once, whatever else is not committed yet, and comes between transactions. */
  private logicalMessage(bytes: Buffer, view: DataView, p: number, lsnHigh: number, lsnLow: number): void {
    const isTransactional = (bytes[p + 1]! & 1) === 1;
    if (isTransactional && !this.isNew(lsnHigh, lsnLow)) return;
    const prefixEnd = bytes.indexOf(0, p + 10);
    const prefix = bytes.toString('utf8', p + 10, prefixEnd);
    if (!this.messages.isWanted(prefix)) return;
    const lsn = view.getBigUint64(p + 2);
    if (isTransactional) this.hasEvents = true;
    else this.lastEventCommit = lsn;
    const start = prefixEnd + 5;
    const content = Buffer.from(bytes.subarray(start, start + view.getInt32(prefixEnd + 1)));
    const { txId = null, tsUs = processingTime()[1] } = isTransactional ? this.longs! : {};
    this.messages.add({ prefix, content, lsn, txId, tsUs, lastCommit: this.lastEventCommit });
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
    const longs = this.longs;
    if (longs === null) throw new ConnectError('PG_PROTOCOL_INVALID', 'pgoutput sent a change outside a transaction.');
    const index = batch.add(op, before, after, key, this.lsnHigh, this.lsnLow, longs, false);
    batch.byteLength += byteLength;
    batch.newestMs = longs.tsMs;
    this.eventCount++;
    this.hasEvents = true;
    this.transactions?.count(batch, index);
    return index;
  }

  private tombstone(batch: StreamBatch, key: number): number {
    this.eventCount++;
    return batch.add(OPERATION.d, -1, -1, key, this.lsnHigh, this.lsnLow, this.longs!, true);
  }
}

function readRelation(bytes: Buffer, view: DataView, p: number): Relation {
  let at = p + 5;
  const text = (): string => {
    const end = bytes.indexOf(0, at);
    const value = bytes.toString('utf8', at, end);
    at = end + 1;
    return value;
  };
  const oid = view.getUint32(p + 1);
  const schema = text();
  const table = text();
  const count = view.getInt16(at + 1);
  at += 3;
  const columns = Array.from({ length: count }, () => {
    const isKey = (bytes[at++]! & 1) === 1;
    const name = text();
    const column = { name, isKey, typeOid: view.getUint32(at), typmod: view.getInt32(at + 4) };
    at += 8;
    return column;
  });
  return { oid, schema: schema === '' ? 'pg_catalog' : schema, table, columns };
}

const malformed = (kind: string): ConnectError =>
  new ConnectError('PG_PROTOCOL_INVALID', `pgoutput sent a message of kind ${kind} without a new row.`);

function streamError(error: Error): Error {
  const code = (error as { code?: string }).code ?? '';
  // The server goes down, or the slot is still in use: connecting again may help.
  if (/^(57P0|08|55006)/.test(code)) return error;
  const say = (of: ErrorCode, what: string): ConnectError =>
    new ConnectError(of, `${what}: ${error.message}.`, { cause: error });
  if (code === '42704' && /publication/.test(error.message))
    return say('PG_PUBLICATION_MISSING', 'The stream cannot go on');
  if (code === '42704') return say('PG_SLOT_MISSING', 'The replication slot is gone');
  if (code === '55000' || /requested WAL segment|can no longer|invalidated/.test(error.message)) {
    return say('PG_SLOT_LOST', 'The replication slot cannot be read any more');
  }
  return say('PG_STREAM_FAILED', 'PostgreSQL ended the replication stream');
}
