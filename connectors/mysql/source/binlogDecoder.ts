/**
 * Turns the packets of a binary log stream into batches of change events whose rows stay in the received bytes. Stops at a table that it has no version
 * of, for the stream to look it up; stops for good at what cannot be read.
 */
import { inflateSync } from 'node:zlib';
import { crc32 } from '@node-rs/crc32';
import { ConnectError, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { ByteReader } from '../protocol/byteReader.ts';
import { ARTIFICIAL_FLAG, CHECKSUM_BYTES, EVENT_HEADER_BYTES, EventType } from '../protocol/eventTypes.ts';
import { readGtid, readMariaGtid, readTaggedGtid, type TransactionStart } from '../protocol/gtidEvents.ts';
import { PacketReader } from '../protocol/packetReader.ts';
import { readTableMap, type TableMap, tableIdOf } from '../protocol/tableMap.ts';
import { PayloadReader } from '../protocol/transactionPayload.ts';
import type { TableName } from './catalog.ts';
import { OPERATION, type TransactionForm } from './envelope.ts';
import { EventBatches } from './eventBatches.ts';
import { LogCursor } from './logCursor.ts';
import type { LogPosition } from './position.ts';
import { readStatement, type Statement, type StatementTable } from './statements.ts';
import type { EventLongs, StreamBatch } from './streamBatch.ts';
import { streamError } from './streamError.ts';
import type { TableVersion } from './tableVersion.ts';

/** Where a walk stopped: all whole packets read, enough events for a batch, or a table to be looked up. */
export type Stop = 'end' | 'full' | 'table';

interface KnownTable {
  /** The event without the table's id. */
  readonly body: Buffer;
  /** null = not captured. */
  version: TableVersion | null;
}

const EMPTY = Buffer.alloc(0);
/** A table id that stands for none. */
const DUMMY_TABLE = 0xffffff;

const RowKind = { write: 0, update: 1, delete: 2 } as const;
type RowKind = (typeof RowKind)[keyof typeof RowKind];

export interface DecoderOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly isCaptured: (database: string, table: string) => boolean;
  /** Whether events carry a CRC-32. */
  readonly hasChecksum: boolean;
}

export class BinlogDecoder {
  /** Set after a stop at a table. */
  pendingTable: TableMap | null = null;
  /** After a stop at the end: bytes without which there is no further packet. */
  missing = 1;
  private readonly options: DecoderOptions;
  private readonly isMariaDb: boolean;
  private readonly cursor: LogCursor;
  private readonly batches: EventBatches;
  private readonly transactions: TransactionEvents | null;
  private readonly packet = new PacketReader();
  private readonly tables = new Map<number, KnownTable>();
  private pendingKnown: KnownTable | null = null;
  private hasChecksum: boolean;
  private eventCount = 0;
  private received = 0;
  /** The events of a compressed transaction that is being read, where in them the walk stands, and where they will lie in the batch's bytes. */
  private payload: { reader: PayloadReader; bytes: Buffer; at: number; base: number } | null = null;
  private form: TransactionForm;
  private commitUs: bigint | null = null;
  private hasBegun = false;
  private thread = 0n;
  private query: string | null = null;
  private longs: EventLongs | null = null;
  private transactionStart = 0n;
  /** Set after a stop at a table that was emptied: the log does not describe it. */
  truncated: TableName | null = null;
  private truncateForm: TransactionForm;
  private readonly isSkipped: readonly boolean[];
  private readonly skipsTruncate: boolean;

  constructor(options: DecoderOptions, position: LogPosition) {
    const { settings, common } = options;
    this.options = options;
    this.isMariaDb = settings.connector === 'mariadb';
    this.hasChecksum = options.hasChecksum;
    this.cursor = new LogCursor(position, this.isMariaDb);
    this.batches = new EventBatches(common, settings.transactionMetadata);
    this.transactions = settings.transactionMetadata
      ? new TransactionEvents(settings.transactionTopic, common.sourcePartition)
      : null;
    this.isSkipped = ['c', 'u', 'd'].map(op => settings.skippedOperations.has(op));
    this.skipsTruncate = settings.skippedOperations.has('t');
    this.form = { gtidPrefix: null, hasThread: true, idFile: null, hasTransactions: settings.transactionMetadata };
    this.truncateForm = this.form;
  }

  get position(): LogPosition {
    return this.cursor.position;
  }

  /** Gives the version of the table at which the walk stopped. */
  setVersion(version: TableVersion): void {
    this.pendingKnown!.version = version;
    this.pendingKnown = null;
    this.pendingTable = null;
  }

  walk(bytes: Buffer, from: number): { readonly next: number; readonly stop: Stop } {
    this.received = bytes.length;
    const { packet } = this;
    let p = from;
    try {
      for (;;) {
        if (this.payload !== null && !this.walkPayload()) return { next: p, stop: this.stop };
        if (this.eventCount >= this.options.settings.maxBatchSize) return { next: p, stop: 'full' };
        if (!packet.read(bytes, p)) {
          this.missing = packet.missing;
          return { next: p, stop: 'end' };
        }
        p = packet.next;
        const { start, end } = packet;
        if (bytes[start] !== 0) throw streamError(bytes, start, end);
        this.event(bytes, start + 1, end, 0);
        if (this.isPending) return { next: p, stop: 'table' };
      }
    } catch (error) {
      throw this.located(error);
    }
  }

  private get stop(): Stop {
    return this.isPending ? 'table' : 'full';
  }

  private get isPending(): boolean {
    return this.pendingTable !== null || this.truncated !== null;
  }

  private located(error: unknown): unknown {
    const { file, eventStart } = this.cursor;
    const position = `${file}:${eventStart}${this.cursor.gtid === null ? '' : ` in ${this.cursor.gtidText}`}`;
    if (error instanceof ConnectError) return error.at({ position });
    if (!(error instanceof RangeError)) return error;
    return new ConnectError('MYSQL_EVENT_DAMAGED', `An event of the log is malformed: ${error.message}.`, {
      cause: error,
      place: { position },
    });
  }

  /** True when all events of the compressed transaction are done. */
  private walkPayload(): boolean {
    const payload = this.payload!;
    for (;;) {
      const { bytes } = payload;
      while (payload.at + EVENT_HEADER_BYTES <= bytes.length) {
        if (this.eventCount >= this.options.settings.maxBatchSize) return false;
        const end = payload.at + bytes.readUInt32LE(payload.at + 9);
        if (end > bytes.length) break;
        if (payload.base < 0) payload.base = this.batches.addBytes(bytes, this.received);
        const start = payload.at;
        payload.at = end;
        this.dispatch(bytes, start, end, payload.base);
        if (this.isPending) return false;
      }
      const next = payload.reader.next(bytes.subarray(payload.at));
      if (next === null) {
        this.payload = null;
        return true;
      }
      payload.bytes = next;
      payload.at = 0;
      payload.base = -1;
    }
  }

  /** The batches of what was walked through; `bytes` must be what `walk` was given. */
  takeBatches(bytes: Buffer): SourceBatch[] {
    this.eventCount = 0;
    const batches = this.batches.take(bytes);
    if (this.payload !== null) this.payload.base = -1;
    if (this.transactions !== null) batches.push(...this.transactions.take());
    return batches;
  }

  /** Header: seconds, type, server id, length, position of the next event, flags. */
  private event(bytes: Buffer, p: number, end: number, base: number): void {
    if (p + EVENT_HEADER_BYTES > end || bytes.readUInt32LE(p + 9) !== end - p) {
      throw new RangeError(`its length is not that of its packet`);
    }
    const { cursor } = this;
    const next = bytes.readUInt32LE(p + 13);
    const isArtificial = (bytes.readUInt16LE(p + 17) & ARTIFICIAL_FLAG) !== 0;
    if (next !== 0 && !isArtificial) {
      cursor.eventEnd = next;
      cursor.eventStart = next - (end - p);
    }
    const type = bytes[p + 4]!;
    if (type === EventType.formatDescription) {
      // The last byte before the checksum, which this event always has, tells whether the others have one.
      this.hasChecksum = bytes[end - CHECKSUM_BYTES - 1] === 1;
      this.tables.clear();
      return;
    }
    if (this.hasChecksum) {
      const expected = bytes.readUInt32LE(end - CHECKSUM_BYTES);
      if (crc32(bytes.subarray(p, end - CHECKSUM_BYTES)) !== expected) {
        throw new ConnectError('MYSQL_EVENT_DAMAGED', 'An event of the log does not have its checksum.');
      }
    }
    this.dispatch(bytes, p, this.hasChecksum ? end - CHECKSUM_BYTES : end, base);
  }

  /** Events inside of a compressed transaction have neither checksum nor position of their own. */
  private dispatch(bytes: Buffer, p: number, end: number, base: number): void {
    const { cursor } = this;
    const type = bytes[p + 4]!;
    const body = p + EVENT_HEADER_BYTES;
    switch (type) {
      case EventType.heartbeat:
      case EventType.heartbeatV2:
        return;
      case EventType.tableMap:
        this.tableMap(bytes, body, end);
        break;
      case EventType.writeRows:
      case EventType.writeRowsV1:
        this.header(bytes, p);
        this.rows(bytes, body, end, base, RowKind.write, type === EventType.writeRows);
        break;
      case EventType.updateRows:
      case EventType.updateRowsV1:
        this.header(bytes, p);
        this.rows(bytes, body, end, base, RowKind.update, type === EventType.updateRows);
        break;
      case EventType.deleteRows:
      case EventType.deleteRowsV1:
        this.header(bytes, p);
        this.rows(bytes, body, end, base, RowKind.delete, type === EventType.deleteRows);
        break;
      case EventType.mariaWriteRowsCompressedV1:
      case EventType.mariaUpdateRowsCompressedV1:
      case EventType.mariaDeleteRowsCompressedV1:
        this.header(bytes, p);
        this.compressedRows(bytes, body, end, (type - EventType.mariaWriteRowsCompressedV1) as RowKind);
        break;
      case EventType.gtid:
      case EventType.anonymousGtid:
        this.begin(readGtid(bytes, body, end, type === EventType.anonymousGtid));
        return;
      case EventType.gtidTagged:
        this.begin(readTaggedGtid(bytes, body, end));
        return;
      case EventType.mariaGtid: {
        const start = readMariaGtid(bytes, body, bytes.readUInt32LE(p + 5));
        this.begin(start);
        if (start.isStandalone) return;
        this.hasBegun = true;
        break;
      }
      case EventType.query:
        this.header(bytes, p);
        this.statement(bytes, body, end, null);
        break;
      case EventType.mariaQueryCompressed:
        this.header(bytes, p);
        this.statement(bytes, body, end, inflate);
        break;
      case EventType.xid:
      case EventType.xaPrepare:
        this.header(bytes, p);
        this.end();
        return;
      case EventType.rotate: {
        const file = bytes.toString('utf8', body + 8, end);
        this.tables.clear();
        cursor.rotate(file, Number(bytes.readBigUInt64LE(body)));
        this.batches.setPlace(cursor.file, this.query);
        return;
      }
      case EventType.rowsQuery:
        this.setQuery(bytes.toString('utf8', body + 1, end));
        break;
      case EventType.mariaAnnotateRows:
        this.setQuery(bytes.toString('utf8', body, end));
        break;
      case EventType.transactionPayload:
        this.payload = { reader: new PayloadReader(bytes, body, end), bytes: EMPTY, at: 0, base: -1 };
        return;
      case EventType.stop:
      case EventType.previousGtids:
      case EventType.ignorable:
      case EventType.intvar:
      case EventType.rand:
      case EventType.userVar:
      case EventType.transactionContext:
      case EventType.viewChange:
      case EventType.mariaBinlogCheckpoint:
      case EventType.mariaGtidList:
        break;
      case EventType.partialUpdateRows:
        this.partialRows(bytes, body);
        break;
      case EventType.incident:
        throw unsupported(
          'the server lost changes before they were in its log (an INCIDENT event)',
          'take a new snapshot',
        );
      case EventType.mariaStartEncryption:
        break;
      default:
        // An event that a reader may ignore says so by a flag.
        if ((bytes.readUInt16LE(p + 17) & 0x80) !== 0) break;
        throw unsupported(`an event of the unknown type ${type}`, 'report it with the version of the server');
    }
    cursor.completeEvent();
  }

  private setQuery(text: string): void {
    if (!this.options.settings.includeQuery) return;
    this.query = text;
    this.batches.setPlace(this.cursor.file, text);
  }

  /** Time and server of the event that has the changes that follow. */
  private header(bytes: Buffer, p: number): void {
    const { cursor } = this;
    const seconds = bytes.readUInt32LE(p);
    cursor.seconds = seconds;
    cursor.serverId = bytes.readUInt32LE(p + 5);
    const us = this.commitUs ?? BigInt(seconds) * 1_000_000n;
    this.longs = {
      tsMs: us / 1000n,
      tsUs: us,
      tsNs: us * 1000n,
      serverId: BigInt(cursor.serverId),
      gtidNumber: cursor.gtid?.number ?? this.transactionStart,
      thread: this.thread,
      position: BigInt(cursor.eventStart),
    };
  }

  private begin({ gtid, originalCommitUs }: TransactionStart): void {
    const { cursor, form } = this;
    cursor.begin(gtid);
    this.commitUs = originalCommitUs;
    this.hasBegun = false;
    this.thread = 0n;
    this.query = null;
    this.transactionStart = BigInt(cursor.eventStart);
    const gtidPrefix = gtid?.prefix ?? null;
    const idFile = gtid === null && form.hasTransactions ? cursor.file : null;
    // MariaDB does not tell the thread of transactions without statements.
    const hasThread = !this.isMariaDb;
    if (form.gtidPrefix !== gtidPrefix || form.idFile !== idFile || form.hasThread !== hasThread) {
      this.form = { ...form, gtidPrefix, idFile, hasThread };
    }
    this.batches.setPlace(cursor.file, null);
    this.transactions?.begin(cursor.gtidText ?? `file=${cursor.file},pos=${this.transactionStart}`);
  }

  private end(): void {
    this.transactions?.end();
    this.cursor.end();
    this.query = null;
    this.hasBegun = false;
  }

  /** Thread, seconds, length of the database's name, error, length of status variables; those; name and a zero byte; text. */
  private statement(bytes: Buffer, body: number, end: number, expand: ((text: Buffer) => Buffer) | null): void {
    const reader = new ByteReader(bytes, body, end);
    const thread = reader.uint(4);
    reader.skip(4);
    const nameLength = reader.uint(1);
    reader.skip(2);
    reader.skip(reader.uint(2));
    const database = reader.text(nameLength);
    reader.skip(1);
    const rest = reader.rest();
    const statement = readStatement((expand === null ? rest : expand(rest)).toString('utf8'), database);
    switch (statement.kind) {
      case 'begin':
      case 'xa':
        this.hasBegun = true;
        this.thread = BigInt(thread);
        return;
      case 'savepoint':
        return;
      case 'commit':
        this.end();
        return;
      case 'truncate':
        this.tables.clear();
        this.truncate(statement.table);
        break;
      case 'change':
        this.refuse(statement);
        break;
      case 'other':
        this.tables.clear();
        break;
    }
    // One without BEGIN is a transaction of its own.
    if (!this.hasBegun) this.end();
  }

  private refuse({ table }: Extract<Statement, { kind: 'change' }>): void {
    if (table !== null && !this.options.isCaptured(table.database, table.table)) return;
    const where = table === null ? 'a table' : `${table.database}.${table.table}`;
    throw unsupported(
      `a change of ${where} that was logged as a statement`,
      'set binlog_format=ROW, in the sessions that write too',
    );
  }

  private truncate({ database, table }: StatementTable): void {
    if (this.skipsTruncate || !this.options.isCaptured(database, table) || this.cursor.publishedRows > 0) return;
    this.truncated = { database, name: table };
    this.truncateForm = { ...this.form, hasThread: false };
  }

  /** Gives the version of the table whose emptying the walk stopped at; null = it is gone. */
  addTruncate(version: TableVersion | null): void {
    const longs = this.longs!;
    this.truncated = null;
    if (version === null) return;
    const batch = this.batches.withoutKey(version, this.truncateForm);
    this.count(batch, batch.add(OPERATION.t, -1, -1, -1, 0, longs, false), 64, longs);
  }

  private tableMap(bytes: Buffer, body: number, end: number): void {
    const id = tableIdOf(bytes, body);
    const known = this.tables.get(id);
    if (known?.body.compare(bytes, body + 6, end) === 0) return;
    const map = readTableMap(bytes, body, end);
    const entry: KnownTable = { body: Buffer.from(bytes.subarray(body + 6, end)), version: null };
    this.tables.set(id, entry);
    if (!this.options.isCaptured(map.database, map.table)) return;
    this.pendingTable = map;
    this.pendingKnown = entry;
  }

  private tableOf(bytes: Buffer, body: number): TableVersion | null {
    const id = tableIdOf(bytes, body);
    const known = this.tables.get(id);
    if (known !== undefined) return known.version;
    if (id === DUMMY_TABLE) return null;
    throw new RangeError(`it speaks of table ${id}, which no event before it describes`);
  }

  /** Table id, flags, since version 2 a length and further data; number of columns, their bitmaps; rows. */
  private rows(bytes: Buffer, body: number, end: number, base: number, kind: RowKind, isVersion2: boolean): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    const first = this.firstRow(version, bytes, body, kind, isVersion2);
    if (this.isSkipped[kind]) return;
    this.records(version, bytes, first, end, base, kind);
  }

  private compressedRows(bytes: Buffer, body: number, end: number, kind: RowKind): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    const first = this.firstRow(version, bytes, body, kind, false);
    if (this.isSkipped[kind]) return;
    const rows = inflate(bytes.subarray(first, end));
    this.records(version, rows, 0, rows.length, this.batches.addBytes(rows, this.received), kind);
  }

  private firstRow(version: TableVersion, bytes: Buffer, body: number, kind: RowKind, isVersion2: boolean): number {
    const { shape } = version;
    let p = body + 8;
    if (isVersion2) p += bytes.readUInt16LE(p);
    const reader = new ByteReader(bytes, p, bytes.length);
    const width = reader.packed();
    if (width !== shape.columnCount) {
      throw new RangeError(`a row of ${version.fullName} has ${width} columns, the table ${shape.columnCount}`);
    }
    const bitmap = reader.position;
    const bitmaps = kind === RowKind.update ? 2 : 1;
    for (let i = 0; i < bitmaps; i++) {
      if (shape.isFull(bytes, bitmap + i * shape.bitmapBytes)) continue;
      throw new ConnectError(
        'MYSQL_ROW_IMAGE',
        `A change of ${version.fullName} was logged without all of its columns. Set binlog_row_image=FULL, in the sessions that write too.`,
        { place: { table: version.fullName } },
      );
    }
    return bitmap + bitmaps * shape.bitmapBytes;
  }

  private records(version: TableVersion, bytes: Buffer, first: number, end: number, base: number, kind: RowKind): void {
    const { cursor, form } = this;
    const { settings } = this.options;
    const { shape, keyIndexes } = version;
    const longs = this.longs!;
    const skipped = cursor.publishedRows;
    let row = 0;
    for (let p = first; p < end; row++) {
      const before = p;
      p = shape.end(bytes, p);
      const after = p;
      if (kind === RowKind.update) p = shape.end(bytes, p);
      if (p > end) throw new RangeError(`a row of ${version.fullName} ends behind it`);
      if (row < skipped) continue;
      const length = p - before;
      switch (kind) {
        case RowKind.write: {
          const batch = this.batches.of(version, form);
          const at = base + before;
          this.count(batch, batch.add(OPERATION.c, -1, at, at, row, longs, false), length, longs);
          break;
        }
        case RowKind.delete: {
          const batch = this.batches.of(version, form);
          const at = base + before;
          this.count(batch, batch.add(OPERATION.d, at, -1, at, row, longs, false), length, longs);
          if (settings.tombstones) this.tombstone(batch, at, row, longs);
          break;
        }
        case RowKind.update:
          if (keyIndexes.length > 0 && shape.differ(bytes, before, after, keyIndexes)) {
            this.keyChange(version, base + before, base + after, row, length, longs);
          } else {
            const batch = this.batches.of(version, form);
            const at = base + after;
            this.count(batch, batch.add(OPERATION.u, base + before, at, at, row, longs, false), length, longs);
          }
          break;
      }
    }
  }

  /** A row under another key: the old key's end and the new one's beginning. */
  private keyChange(
    version: TableVersion,
    before: number,
    after: number,
    row: number,
    length: number,
    longs: EventLongs,
  ): void {
    const batch = this.batches.forKeyChange(version, this.form);
    const removed = batch.add(OPERATION.d, before, -1, before, row, longs, false);
    this.count(batch, removed, length, longs);
    const tombstone = this.options.settings.tombstones ? this.tombstone(batch, before, row, longs) : -1;
    const created = batch.add(OPERATION.c, -1, after, after, row, longs, false);
    this.count(batch, created, 0, longs);
    batch.setOtherKey(removed, '__debezium.newkey', created);
    if (tombstone >= 0) batch.setOtherKey(tombstone, '__debezium.newkey', created);
    batch.setOtherKey(created, '__debezium.oldkey', removed);
  }

  private count(batch: StreamBatch, index: number, byteLength: number, longs: EventLongs): void {
    batch.byteLength += byteLength;
    batch.newestMs = longs.tsMs;
    this.eventCount++;
    this.transactions?.count(batch, index, longs.tsMs);
  }

  private tombstone(batch: StreamBatch, key: number, row: number, longs: EventLongs): number {
    this.eventCount++;
    return batch.add(OPERATION.d, -1, -1, key, row, longs, true);
  }

  private partialRows(bytes: Buffer, body: number): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    throw unsupported(
      `a partial update of a JSON document in ${version.fullName}`,
      "set binlog_row_value_options='' on the server and in the sessions that write",
    );
  }
}

const unsupported = (what: string, change: string): ConnectError =>
  new ConnectError('MYSQL_EVENT_UNSUPPORTED', `The log has ${what}, which cannot be read: ${change}.`);

/** MariaDB's compressed part: 0x80 | bytes of the length that follows, the length, big end first, zlib data. */
function inflate(part: Buffer): Buffer {
  const head = part[0]!;
  const size = head & 7;
  if ((head & 0x80) === 0 || size < 1 || size > 4) throw new RangeError('a compressed part is not as MariaDB makes it');
  const length = part.readUIntBE(1, size);
  const out = inflateSync(part.subarray(1 + size), { maxOutputLength: Math.max(length, 1) });
  if (out.length !== length) throw new RangeError('a compressed part has another length than it says');
  return out;
}
