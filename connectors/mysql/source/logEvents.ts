/** Tells the events of a binary log apart, and hands on what each is about: rows, transactions, statements, the place in the log. */
import type { Logger } from '../../../runtime/api/index.ts';
import type { TransactionEvents, TransactionMark } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { ByteReader } from '../protocol/byteReader.ts';
import { EVENT_HEADER_BYTES, EventType } from '../protocol/eventTypes.ts';
import { readGtid, readMariaGtid, readTaggedGtid, type TransactionStart } from '../protocol/gtidEvents.ts';
import { inflatePart } from '../protocol/mariaCompression.ts';
import type { BatchMark, EventBatches } from './eventBatches.ts';
import type { LogCursor } from './logCursor.ts';
import { type RowEvents, RowKind } from './rowEvents.ts';
import type { LoggedStatement } from './schemaChanges.ts';
import { isDefinition, readStatement, type Statement } from './statements.ts';
import { unsupportedEvent } from './streamError.ts';
import type { TransactionScope } from './transactionScope.ts';

/** Id of the file, where its name begins and ends in the text, what becomes of duplicates. */
const LOAD_FILE_BYTES = 13;

/** What events are handed on to. */
export interface LogParts {
  readonly settings: SourceSettings;
  readonly isCaptured: (database: string, table: string) => boolean;
  /** Whether statements that define tables are of interest. */
  readonly readsDefinitions: boolean;
  readonly cursor: LogCursor;
  readonly scope: TransactionScope;
  readonly batches: EventBatches;
  /** Null = transaction metadata is not published. */
  readonly transactions: TransactionEvents | null;
  readonly rows: RowEvents;
  readonly logger: Logger;
}

/** What there was at some point of a transaction. */
interface Mark {
  readonly batches: BatchMark;
  readonly transaction: TransactionMark | null;
}

export class LogEvents {
  /** A statement that defines tables, whose effect has to be looked up before the walk goes on. */
  definition: LoggedStatement | null = null;
  private readonly parts: LogParts;
  /** At the transaction's beginning, and at its savepoints by name. */
  private start: Mark | null = null;
  private readonly savepoints = new Map<string, Mark>();

  constructor(parts: LogParts) {
    this.parts = parts;
  }

  /** The event bytes[p, end), without its checksum; `base` is where `bytes` begin in those of the batch. */
  dispatch(bytes: Buffer, p: number, end: number, base: number): void {
    const { cursor, scope, rows, batches } = this.parts;
    const type = bytes[p + 4]!;
    const body = p + EVENT_HEADER_BYTES;
    switch (type) {
      case EventType.heartbeat:
      case EventType.heartbeatV2:
        return;
      case EventType.tableMap:
        rows.tableMap(bytes, body, end);
        break;
      case EventType.writeRows:
      case EventType.writeRowsV1:
        scope.setEvent(bytes, p);
        rows.rows(bytes, body, end, base, RowKind.write, type === EventType.writeRows);
        break;
      case EventType.updateRows:
      case EventType.updateRowsV1:
        scope.setEvent(bytes, p);
        rows.rows(bytes, body, end, base, RowKind.update, type === EventType.updateRows);
        break;
      case EventType.deleteRows:
      case EventType.deleteRowsV1:
        scope.setEvent(bytes, p);
        rows.rows(bytes, body, end, base, RowKind.delete, type === EventType.deleteRows);
        break;
      case EventType.mariaWriteRowsCompressedV1:
      case EventType.mariaUpdateRowsCompressedV1:
      case EventType.mariaDeleteRowsCompressedV1:
        scope.setEvent(bytes, p);
        rows.compressedRows(bytes, body, end, (type - EventType.mariaWriteRowsCompressedV1) as RowKind);
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
        this.statement(bytes, body, end);
        break;
      case EventType.mariaQueryCompressed:
        scope.setEvent(bytes, p);
        this.statement(bytes, body, end, { expand: inflatePart });
        break;
      case EventType.executeLoadQuery:
        scope.setEvent(bytes, p);
        this.statement(bytes, body, end, { fileBytes: LOAD_FILE_BYTES });
        break;
      case EventType.xid:
      case EventType.xaPrepare:
        scope.setEvent(bytes, p);
        this.end();
        return;
      case EventType.rotate: {
        const file = bytes.toString('utf8', body + 8, end);
        rows.forgetTables();
        cursor.rotate(file, Number(bytes.readBigUInt64LE(body)));
        batches.setPlace(cursor.file, scope.query);
        return;
      }
      case EventType.rowsQuery:
        this.setQuery(bytes.toString('utf8', body + 1, end));
        break;
      case EventType.mariaAnnotateRows:
        this.setQuery(bytes.toString('utf8', body, end));
        break;
      case EventType.stop:
      case EventType.previousGtids:
      case EventType.ignorable:
      case EventType.intvar:
      case EventType.rand:
      case EventType.userVar:
      case EventType.beginLoadQuery:
      case EventType.appendBlock:
      case EventType.deleteFile:
      case EventType.transactionContext:
      case EventType.viewChange:
      case EventType.mariaBinlogCheckpoint:
      case EventType.mariaGtidList:
        break;
      case EventType.partialUpdateRows:
        scope.setEvent(bytes, p);
        rows.partialRows(bytes, body, end);
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
    if (!this.parts.settings.includeQuery) return;
    const { scope, batches, cursor } = this.parts;
    scope.query = text;
    batches.setPlace(cursor.file, text);
  }

  private begin(start: TransactionStart): void {
    const { scope, batches, cursor, transactions } = this.parts;
    scope.begin(start);
    batches.setPlace(cursor.file, null);
    transactions?.begin(scope.id);
    this.start = this.mark();
    this.savepoints.clear();
  }

  private mark(): Mark {
    const { batches, transactions } = this.parts;
    return { batches: batches.mark(), transaction: transactions?.mark() ?? null };
  }

  /**
   * Where a transaction has made or dropped temporary tables, or changed tables without transactions, servers log it although it is rolled back, with the
   * statement that does so behind its changes.
   */
  private rollBack(mark: Mark | null | undefined): void {
    if (mark === null || mark === undefined) return;
    const { batches, transactions, cursor, logger } = this.parts;
    if (batches.rollBack(mark.batches)) {
      if (mark.transaction !== null) transactions!.rollBack(mark.transaction);
      return;
    }
    logger.warn(
      { position: `${cursor.file}:${cursor.eventStart}`, ...(cursor.gtid !== null && { gtid: cursor.gtidText }) },
      'a transaction was rolled back of which the log has the changes; a part of them was published before its end was read',
    );
  }

  private end(): void {
    this.parts.transactions?.end();
    this.parts.scope.end();
  }

  /** Thread, seconds, length of the database's name, error, length of status variables; what a LOAD DATA says of its file; the variables; name and a zero byte; text. */
  private statement(
    bytes: Buffer,
    body: number,
    end: number,
    { expand = null, fileBytes = 0 }: { expand?: ((text: Buffer) => Buffer) | null; fileBytes?: number } = {},
  ): void {
    const { scope, rows, readsDefinitions } = this.parts;
    const reader = new ByteReader(bytes, body, end);
    const thread = reader.uint(4);
    reader.skip(4);
    const nameLength = reader.uint(1);
    reader.skip(2);
    const variableBytes = reader.uint(2);
    reader.skip(fileBytes + variableBytes);
    const database = reader.text(nameLength);
    reader.skip(1);
    const rest = reader.rest();
    const text = (expand === null ? rest : expand(rest)).toString('utf8');
    const statement = readStatement(text, database);
    switch (statement.kind) {
      case 'begin':
      case 'xa':
        scope.hasBegun = true;
        scope.thread = BigInt(thread);
        return;
      case 'savepoint':
        this.savepoints.set(statement.name, this.mark());
        return;
      case 'release':
        return;
      case 'rollback-to':
        this.rollBack(this.savepoints.get(statement.name));
        return;
      case 'rollback':
        this.rollBack(this.start);
        this.end();
        return;
      case 'commit':
        this.end();
        return;
      case 'truncate':
        rows.forgetTables();
        rows.truncate(statement.table);
        break;
      case 'change':
        this.refuse(statement);
        break;
      case 'other':
        rows.forgetTables();
        if (readsDefinitions && isDefinition(text)) this.define(text, database);
        break;
    }
    // One without BEGIN is a transaction of its own.
    if (!scope.hasBegun) this.end();
  }

  private define(text: string, database: string): void {
    const { cursor, scope } = this.parts;
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
    if (table !== null && !this.parts.isCaptured(table.database, table.table)) return;
    const where = table === null ? 'a table' : `${table.database}.${table.table}`;
    throw unsupportedEvent(
      `a change of ${where} that was logged as a statement`,
      'set binlog_format=ROW, in the sessions that write too',
    );
  }
}
