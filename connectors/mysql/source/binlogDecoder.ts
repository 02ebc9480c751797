/**
 * Turns the packets of a binary log stream into events and tells them apart: checks their framing, unpacks compressed transactions, keeps the place in the log.
 * Stops at a table that there is no version of, for the stream to look it up; stops for good at what cannot be read.
 */
import { ConnectError, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { ByteReader } from '../protocol/byteReader.ts';
import { checksum } from '../protocol/checksum.ts';
import { ARTIFICIAL_FLAG, CHECKSUM_BYTES, EVENT_HEADER_BYTES, EventType } from '../protocol/eventTypes.ts';
import { readGtid, readMariaGtid, readTaggedGtid, type TransactionStart } from '../protocol/gtidEvents.ts';
import { inflatePart } from '../protocol/mariaCompression.ts';
import { PacketReader } from '../protocol/packetReader.ts';
import { PayloadReader } from '../protocol/transactionPayload.ts';
import { EventBatches } from './eventBatches.ts';
import { gtidText, LogCursor } from './logCursor.ts';
import type { LogPosition } from './position.ts';
import { RowEvents, RowKind } from './rowEvents.ts';
import type { LoggedStatement } from './schemaChanges.ts';
import { isDefinition, readStatement, type Statement } from './statements.ts';
import { streamError, unsupportedEvent } from './streamError.ts';
import { TransactionScope } from './transactionScope.ts';

const EMPTY = Buffer.alloc(0);

/** Where a walk stopped: all whole packets read, enough events for a batch, or something to be looked up: a table, or what a statement defines. */
export type Stop = 'end' | 'full' | 'lookup';

export interface SeenLog {
  readonly file: string;
  /** End of the last event. */
  readonly position: number;
  readonly gtid: string | null;
  readonly serverId: number;
}

export interface DecoderOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly isCaptured: (database: string, table: string) => boolean;
  /** Whether events carry a CRC-32. */
  readonly hasChecksum: boolean;
  /** Whether statements that define tables are of interest. */
  readonly readsDefinitions: boolean;
}

export class BinlogDecoder {
  readonly rows: RowEvents;
  /** Set after a stop at a statement that defines tables. */
  definition: LoggedStatement | null = null;
  private definitions: SourceBatch[] = [];
  /** After a stop at the end: bytes without which there is no further packet. */
  missing = 1;
  private readonly options: DecoderOptions;
  private readonly cursor: LogCursor;
  private readonly scope: TransactionScope;
  private readonly batches: EventBatches;
  private readonly transactions: TransactionEvents | null;
  private readonly packet = new PacketReader();
  private hasChecksum: boolean;
  /** The events of a compressed transaction that is being read, where in them the walk stands, and where they will lie in the batch's bytes. */
  private payload: { reader: PayloadReader; bytes: Buffer; at: number; base: number } | null = null;

  constructor(options: DecoderOptions, position: LogPosition) {
    const { settings, common, isCaptured } = options;
    const { transactionMetadata } = settings;
    const isMariaDb = settings.connector === 'mariadb';
    this.options = options;
    this.hasChecksum = options.hasChecksum;
    this.cursor = new LogCursor(position, isMariaDb);
    this.scope = new TransactionScope(this.cursor, isMariaDb, transactionMetadata);
    this.batches = new EventBatches(common, transactionMetadata);
    this.transactions = transactionMetadata
      ? new TransactionEvents(settings.transactionTopic, common.sourcePartition)
      : null;
    const { cursor, scope, batches, transactions } = this;
    this.rows = new RowEvents({ settings, isCaptured, cursor, scope, batches, transactions });
  }

  get position(): LogPosition {
    return this.cursor.position;
  }

  /** How much of the log has been walked through. */
  get seen(): SeenLog {
    const { cursor, payload } = this;
    return {
      file: cursor.file,
      position: payload === null ? cursor.eventEnd : cursor.eventStart,
      gtid: gtidText(cursor.lastGtid),
      serverId: cursor.serverId,
    };
  }

  walk(bytes: Buffer, from: number): { readonly next: number; readonly stop: Stop } {
    this.rows.receivedBytes = bytes.length;
    const { packet } = this;
    let p = from;
    try {
      for (;;) {
        if (this.isStopped) return { next: p, stop: 'end' };
        if (this.payload !== null && !this.walkPayload()) return { next: p, stop: this.stop };
        if (this.rows.count >= this.options.settings.maxBatchSize) return { next: p, stop: 'full' };
        if (!packet.read(bytes, p)) {
          this.missing = packet.missing;
          return { next: p, stop: 'end' };
        }
        p = packet.next;
        const { start, end } = packet;
        if (bytes[start] !== 0) throw streamError(bytes, start, end);
        this.event(bytes, start + 1, end, 0);
        if (this.isPending) return { next: p, stop: 'lookup' };
      }
    } catch (error) {
      throw this.located(error);
    }
  }

  private get stop(): Stop {
    return this.isPending ? 'lookup' : 'full';
  }

  private get isPending(): boolean {
    return this.rows.isPending || this.definition !== null;
  }

  /** Gives what is published of the statement at which the walk stopped. */
  addDefinition(batches: readonly SourceBatch[]): void {
    this.definition = null;
    this.definitions.push(...batches);
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
        if (this.rows.count >= this.options.settings.maxBatchSize) return false;
        const end = payload.at + bytes.readUInt32LE(payload.at + 9);
        if (end > bytes.length) break;
        if (payload.base < 0) payload.base = this.batches.addBytes(bytes, this.rows.receivedBytes);
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
    this.rows.count = 0;
    const batches = this.batches.take(bytes);
    if (this.payload !== null) this.payload.base = -1;
    if (this.transactions !== null) batches.push(...this.transactions.take());
    batches.push(...this.definitions);
    this.definitions = [];
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
      this.rows.forgetTables();
      return;
    }
    if (this.hasChecksum) {
      const expected = bytes.readUInt32LE(end - CHECKSUM_BYTES);
      if (checksum(bytes, p, end - CHECKSUM_BYTES) !== expected) {
        throw new ConnectError('MYSQL_EVENT_DAMAGED', 'An event of the log does not have its checksum.');
      }
    }
    this.dispatch(bytes, p, this.hasChecksum ? end - CHECKSUM_BYTES : end, base);
  }

  /** Events inside of a compressed transaction have neither checksum nor position of their own. */
  private dispatch(bytes: Buffer, p: number, end: number, base: number): void {
    const { cursor, scope } = this;
    const type = bytes[p + 4]!;
    const body = p + EVENT_HEADER_BYTES;
    switch (type) {
      case EventType.heartbeat:
      case EventType.heartbeatV2:
        return;
      case EventType.tableMap:
        this.rows.tableMap(bytes, body, end);
        break;
      case EventType.writeRows:
      case EventType.writeRowsV1:
        scope.setEvent(bytes, p);
        this.rows.rows(bytes, body, end, base, RowKind.write, type === EventType.writeRows);
        break;
      case EventType.updateRows:
      case EventType.updateRowsV1:
        scope.setEvent(bytes, p);
        this.rows.rows(bytes, body, end, base, RowKind.update, type === EventType.updateRows);
        break;
      case EventType.deleteRows:
      case EventType.deleteRowsV1:
        scope.setEvent(bytes, p);
        this.rows.rows(bytes, body, end, base, RowKind.delete, type === EventType.deleteRows);
        break;
      case EventType.mariaWriteRowsCompressedV1:
      case EventType.mariaUpdateRowsCompressedV1:
      case EventType.mariaDeleteRowsCompressedV1:
        scope.setEvent(bytes, p);
        this.rows.compressedRows(bytes, body, end, (type - EventType.mariaWriteRowsCompressedV1) as RowKind);
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
        scope.hasBegun = true;
        break;
      }
      case EventType.query:
        scope.setEvent(bytes, p);
        this.statement(bytes, body, end, null);
        break;
      case EventType.mariaQueryCompressed:
        scope.setEvent(bytes, p);
        this.statement(bytes, body, end, inflatePart);
        break;
      case EventType.xid:
      case EventType.xaPrepare:
        scope.setEvent(bytes, p);
        this.end();
        return;
      case EventType.rotate: {
        const file = bytes.toString('utf8', body + 8, end);
        this.rows.forgetTables();
        cursor.rotate(file, Number(bytes.readBigUInt64LE(body)));
        this.batches.setPlace(cursor.file, this.scope.query);
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
        scope.setEvent(bytes, p);
        this.rows.partialRows(bytes, body, end);
        break;
      case EventType.incident:
        throw unsupportedEvent(
          'the server lost changes before they were in its log (an INCIDENT event)',
          'take a new snapshot',
        );
      case EventType.mariaStartEncryption:
        break;
      default:
        // An event that a reader may ignore says so by a flag.
        if ((bytes.readUInt16LE(p + 17) & 0x80) !== 0) break;
        throw unsupportedEvent(`an event of the unknown type ${type}`, 'report it with the version of the server');
    }
    cursor.completeEvent();
  }

  private setQuery(text: string): void {
    if (!this.options.settings.includeQuery) return;
    this.scope.query = text;
    this.batches.setPlace(this.cursor.file, text);
  }

  /** Whether nothing more is to be published: stop.at is reached. */
  get isStopped(): boolean {
    const { stopAt } = this.options.settings;
    return stopAt !== null && this.cursor.hasReached(stopAt);
  }

  private begin(start: TransactionStart): void {
    this.scope.begin(start);
    this.batches.setPlace(this.cursor.file, null);
    this.transactions?.begin(this.scope.id);
  }

  private end(): void {
    this.transactions?.end();
    this.scope.end();
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
    const text = (expand === null ? rest : expand(rest)).toString('utf8');
    const statement = readStatement(text, database);
    switch (statement.kind) {
      case 'begin':
      case 'xa':
        this.scope.hasBegun = true;
        this.scope.thread = BigInt(thread);
        return;
      case 'savepoint':
        return;
      case 'commit':
        this.end();
        return;
      case 'truncate':
        this.rows.forgetTables();
        this.rows.truncate(statement.table);
        break;
      case 'change':
        this.refuse(statement);
        break;
      case 'other':
        this.rows.forgetTables();
        if (this.options.readsDefinitions && isDefinition(text)) this.define(text, database);
        break;
    }
    // One without BEGIN is a transaction of its own.
    if (!this.scope.hasBegun) this.end();
  }

  private define(text: string, database: string): void {
    const { cursor, scope } = this;
    // Published before a restart.
    if (cursor.publishedRows > 0) return;
    this.definition = {
      text,
      database,
      file: cursor.file,
      position: cursor.eventStart,
      gtid: cursor.gtidText,
      serverId: cursor.serverId,
      tsUs: scope.longs.tsUs,
      thread: scope.hasBegun ? scope.thread : null,
    };
  }

  private refuse({ table }: Extract<Statement, { kind: 'change' }>): void {
    if (table !== null && !this.options.isCaptured(table.database, table.table)) return;
    const where = table === null ? 'a table' : `${table.database}.${table.table}`;
    throw unsupportedEvent(
      `a change of ${where} that was logged as a statement`,
      'set binlog_format=ROW, in the sessions that write too',
    );
  }
}
