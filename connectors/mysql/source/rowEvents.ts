/**
 * The events that carry rows: which tables they are of, and each change as an entry of the table's batch. The rows themselves stay in the received bytes.
 * Marks a table that there is no version of, for the stream to look it up.
 */
import { ConnectError } from '../../../runtime/api/index.ts';
import type { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { ByteReader } from '../protocol/byteReader.ts';
import { inflatePart } from '../protocol/mariaCompression.ts';
import { wholeRows } from '../protocol/partialRows.ts';
import { readTableMap, type TableMap, tableIdOf } from '../protocol/tableMap.ts';
import type { TableName } from './catalog.ts';
import { OPERATION, type TransactionForm } from './envelope.ts';
import type { EventBatches } from './eventBatches.ts';
import type { LogCursor } from './logCursor.ts';
import type { StatementTable } from './statements.ts';
import type { EventLongs, StreamBatch } from './streamBatch.ts';
import type { TableVersion } from './tableVersion.ts';
import type { TransactionScope } from './transactionScope.ts';

interface KnownTable {
  /** The event without the table's id. */
  readonly body: Buffer;
  /** null = not captured. */
  version: TableVersion | null;
}

/** A table id that stands for none. */
const DUMMY_TABLE = 0xffffff;

export const RowKind = { write: 0, update: 1, delete: 2 } as const;
export type RowKind = (typeof RowKind)[keyof typeof RowKind];

export interface RowEventsOptions {
  readonly settings: SourceSettings;
  readonly isCaptured: (database: string, table: string) => boolean;
  readonly cursor: LogCursor;
  readonly scope: TransactionScope;
  readonly batches: EventBatches;
  readonly transactions: TransactionEvents | null;
}

export class RowEvents {
  /** Records since it was set to 0. */
  count = 0;
  /** Length of what the packets at hand were received in. */
  receivedBytes = 0;
  /** A table to be looked up: no row can be read before. */
  pendingTable: TableMap | null = null;
  /** A table that was emptied, to be looked up: the log does not describe it. */
  truncated: TableName | null = null;
  private truncateForm!: TransactionForm;
  private pendingKnown: KnownTable | null = null;
  private readonly settings: SourceSettings;
  private readonly isCaptured: RowEventsOptions['isCaptured'];
  private readonly cursor: LogCursor;
  private readonly scope: TransactionScope;
  private readonly batches: EventBatches;
  private readonly transactions: TransactionEvents | null;
  private readonly tables = new Map<number, KnownTable>();

  constructor({ settings, isCaptured, cursor, scope, batches, transactions }: RowEventsOptions) {
    this.settings = settings;
    this.isCaptured = isCaptured;
    this.cursor = cursor;
    this.scope = scope;
    this.batches = batches;
    this.transactions = transactions;
  }

  get isPending(): boolean {
    return this.pendingTable !== null || this.truncated !== null;
  }

  /** Table ids begin anew, or stand for other tables. */
  forgetTables(): void {
    this.tables.clear();
  }

  /** Gives the version of the pending table; null = its rows are not published. */
  setVersion(version: TableVersion | null): void {
    this.pendingKnown!.version = version;
    this.pendingKnown = null;
    this.pendingTable = null;
  }

  truncate({ database, table }: StatementTable): void {
    if (!this.isCaptured(database, table) || this.cursor.publishedRows > 0) return;
    if (this.settings.skippedOperations(`${database}.${table}`).has('t')) return;
    this.truncated = { database, name: table };
    this.truncateForm = { ...this.scope.form, hasThread: false };
  }

  /** Gives the version of the table whose emptying the walk stopped at; null = it is gone. */
  addTruncate(version: TableVersion | null): void {
    const longs = this.scope.longs;
    this.truncated = null;
    if (version === null) return;
    const batch = this.batches.withoutKey(version, this.truncateForm);
    this.added(batch, batch.add(OPERATION.t, -1, -1, -1, 0, longs, false), 64, longs);
  }

  tableMap(bytes: Buffer, body: number, end: number): void {
    const id = tableIdOf(bytes, body);
    const known = this.tables.get(id);
    if (known?.body.compare(bytes, body + 6, end) === 0) return;
    const map = readTableMap(bytes, body, end);
    const entry: KnownTable = { body: Buffer.from(bytes.subarray(body + 6, end)), version: null };
    this.tables.set(id, entry);
    if (!this.isCaptured(map.database, map.table)) return;
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
  rows(bytes: Buffer, body: number, end: number, base: number, kind: RowKind, isVersion2: boolean): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    const first = this.firstRow(version, bytes, body, kind, isVersion2);
    if (version.isSkipped[kind]) return;
    this.records(version, bytes, first, end, base, kind);
  }

  compressedRows(bytes: Buffer, body: number, end: number, kind: RowKind): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    const first = this.firstRow(version, bytes, body, kind, false);
    if (version.isSkipped[kind]) return;
    const rows = inflatePart(bytes.subarray(first, end));
    this.records(version, rows, 0, rows.length, this.batches.addBytes(rows, this.receivedBytes), kind);
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
    switch (kind) {
      case RowKind.write:
        this.inserts(version, bytes, first, end, base);
        return;
      case RowKind.update:
        this.updates(version, bytes, first, end, base);
        return;
      case RowKind.delete:
        this.deletes(version, bytes, first, end, base);
        return;
    }
  }

  private inserts(version: TableVersion, bytes: Buffer, first: number, end: number, base: number): void {
    const { shape } = version;
    const { longs } = this.scope;
    const skipped = this.cursor.publishedRows;
    const batch = this.batches.of(version, this.scope.form);
    let row = 0;
    for (let p = first; p < end; row++) {
      const at = p;
      p = shape.end(bytes, at);
      if (p > end) throw endsBehind(version);
      if (row < skipped) continue;
      const index = batch.add(OPERATION.c, -1, base + at, base + at, row, longs, false);
      this.added(batch, index, p - at, longs);
    }
  }

  private updates(version: TableVersion, bytes: Buffer, first: number, end: number, base: number): void {
    const { shape, keyIndexes } = version;
    const { form, longs } = this.scope;
    const looked = this.settings.skipsUnchanged ? version.publishedIndexes : null;
    const skipped = this.cursor.publishedRows;
    let batch = this.batches.of(version, form);
    let row = 0;
    for (let p = first; p < end; row++) {
      const before = p;
      const after = shape.end(bytes, before);
      p = shape.end(bytes, after);
      if (p > end) throw endsBehind(version);
      if (row < skipped) continue;
      if (keyIndexes.length > 0 && shape.differ(bytes, before, after, keyIndexes)) {
        this.keyChange(version, base + before, base + after, row, p - before, longs);
        batch = this.batches.of(version, form);
      } else if (looked === null || shape.differ(bytes, before, after, looked)) {
        const index = batch.add(OPERATION.u, base + before, base + after, base + after, row, longs, false);
        this.added(batch, index, p - before, longs);
      }
    }
  }

  private deletes(version: TableVersion, bytes: Buffer, first: number, end: number, base: number): void {
    const { shape } = version;
    const { longs } = this.scope;
    const { tombstones } = this.settings;
    const skipped = this.cursor.publishedRows;
    const batch = this.batches.of(version, this.scope.form);
    let row = 0;
    for (let p = first; p < end; row++) {
      const at = p;
      p = shape.end(bytes, at);
      if (p > end) throw endsBehind(version);
      if (row < skipped) continue;
      const index = batch.add(OPERATION.d, base + at, -1, base + at, row, longs, false);
      this.added(batch, index, p - at, longs);
      if (tombstones) this.tombstone(batch, base + at, row, longs);
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
    const batch = this.batches.forKeyChange(version, this.scope.form);
    const removed = batch.add(OPERATION.d, before, -1, before, row, longs, false);
    this.added(batch, removed, length, longs);
    const tombstone = this.settings.tombstones ? this.tombstone(batch, before, row, longs) : -1;
    const created = batch.add(OPERATION.c, -1, after, after, row, longs, false);
    this.added(batch, created, 0, longs);
    batch.setOtherKey(removed, '__debezium.newkey', created);
    if (tombstone >= 0) batch.setOtherKey(tombstone, '__debezium.newkey', created);
    batch.setOtherKey(created, '__debezium.oldkey', removed);
  }

  private added(batch: StreamBatch, index: number, byteLength: number, longs: EventLongs): void {
    batch.byteLength += byteLength;
    batch.newestMs = longs.tsMs;
    this.count++;
    this.transactions?.count(batch, index, longs.tsMs);
  }

  private tombstone(batch: StreamBatch, key: number, row: number, longs: EventLongs): number {
    this.count++;
    return batch.add(OPERATION.d, -1, -1, key, row, longs, true);
  }

  partialRows(bytes: Buffer, body: number, end: number): void {
    const version = this.tableOf(bytes, body);
    if (version === null) return;
    const first = this.firstRow(version, bytes, body, RowKind.update, true);
    if (version.isSkipped[RowKind.update]) return;
    const rows = wholeRows(bytes, first, end, version.shape, version.jsonColumns);
    this.records(version, rows, 0, rows.length, this.batches.addBytes(rows, this.receivedBytes), RowKind.update);
  }
}

const endsBehind = ({ fullName }: TableVersion): RangeError => new RangeError(`a row of ${fullName} ends behind it`);
