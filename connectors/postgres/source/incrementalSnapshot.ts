/**
 * Incremental snapshots: tables are read in chunks while their changes are streamed. After a chunk is read, a mark is written to the log. When the stream has come to it,
 * it has given all changes that the chunk may have missed: rows whose key was among them are dropped, the others are published there. A chunk is never older than what
 * was published before it was read (see chunkReader), so no window has to be opened. State is in the offsets: a restart begins with the chunk at hand.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger, SourceBatch, SourceOffset } from '../../../runtime/api/index.ts';
import { Struct } from '../../../schemas/data/index.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { Notifications, NotificationType } from '../../shared/notifications.ts';
import { namesTable, parseSignal, type Signal } from '../../shared/signals.ts';
import { type BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { fullName, listTables, type TableName } from './catalog.ts';
import { type Chunk, readChunk } from './chunkReader.ts';
import { connect, isConnectionLoss } from './connection.ts';
import type { CopiedRows } from './copyRows.ts';
import { CHOICE, OPERATION, processingTime, SNAPSHOT_MARKERS } from './envelope.ts';
import { type Collection, type IncrementalState, NOTHING, stateOf, stateOffset } from './incrementalState.ts';
import { MARK_PREFIX } from './ownMessages.ts';
import type { StreamPosition } from './position.ts';
import type { RelationVersions } from './relations.ts';
import { copiedWireRows, rowBatch } from './rowBatch.ts';
import { rowKey } from './rowKey.ts';
import { setPublicationTables } from './server.ts';
import type { TableVersion } from './tableVersion.ts';

const EARLY_WAIT_MS = 20;

export interface IncrementalOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: RelationVersions;
  readonly notifications: Notifications;
}

/** Tables to be read while the stream waits, and conditions on their rows by schema.table. */
export interface BlockingRequest {
  readonly id: string;
  readonly tables: readonly TableName[];
  readonly filters: ReadonlyMap<string, string>;
}

type Rows = Extract<Chunk, { kind: 'rows' }>;

/** A chunk that was read and whose mark has not come yet. */
interface Window {
  readonly id: string;
  readonly chunk: Rows;
  /** Keys that changed since. */
  readonly changed: Set<string>;
  isTruncated: boolean;
}

export class IncrementalSnapshot {
  private readonly options: IncrementalOptions;
  private readonly signalTopic: string | null;
  private readonly isSignalPublished: boolean;
  private state: IncrementalState;
  private committed: string;
  private window: Window | null = null;
  private table: TableName | null = null;
  private client: pg.Client | null = null;
  /** Of the table at hand, since the start of the task. */
  private rowsRead = 0;
  private blocking: BlockingRequest[] = [];

  constructor(options: IncrementalOptions, stored: SourceOffset | null) {
    this.options = options;
    const { signalTable, signalTopic, prefix, topicDelimiter, tables } = options.settings;
    this.signalTopic = signalTable === null ? null : topicName(`${prefix}${topicDelimiter}${signalTable}`);
    this.isSignalPublished = signalTable !== null && tables(signalTable, signalTable.split('.')[0]!);
    this.state = signalTable === null && signalTopic === null ? NOTHING : stateOf(stored);
    this.committed = JSON.stringify(this.state);
    if (this.isRunning) options.logger.info({ tables: this.names }, 'the incremental snapshot goes on');
  }

  get isRunning(): boolean {
    return this.state.collections.length > 0;
  }

  /** Whether there is something that no committed offset tells: the server must keep the signal that began it. */
  get isDirty(): boolean {
    return this.committed !== JSON.stringify(this.state);
  }

  get offset(): SourceOffset {
    return stateOffset(this.state);
  }

  /** An offset with this state is safe. */
  commit(offset: SourceOffset): void {
    this.committed = JSON.stringify(stateOf(offset));
  }

  /** The next snapshot that a signal wants to be taken while the stream waits. */
  takeBlocking(): BlockingRequest | null {
    return this.blocking.shift() ?? null;
  }

  private tell(type: NotificationType, data: Readonly<Record<string, string>> = {}): void {
    this.options.notifications.tell({ aggregate: 'Incremental Snapshot', type, id: this.state.correlationId, data });
  }

  private get tableIds(): { readonly data_collections: string } {
    return { data_collections: this.state.collections.map(({ id }) => id).join(',') };
  }

  private get names(): string {
    return this.state.collections.map(({ id }) => id).join(', ');
  }

  /** Reads the next chunk if one is due, and writes its mark. `published` are the transactions given out last. */
  async advance(published: Uint32Array): Promise<void> {
    if (this.window !== null || this.state.isPaused || !this.isRunning) return;
    const { logger, signal } = this.options;
    const collection = this.state.collections[0]!;
    try {
      const chunk = await this.read(collection, published);
      if (chunk.kind === 'early') {
        await delay(EARLY_WAIT_MS, undefined, { signal }).catch(() => {});
      } else if (chunk.kind === 'none') {
        if (chunk.why !== null) logger.error({ table: collection.id }, `the table is not read: ${chunk.why}`);
        this.endTable(chunk.why === null ? 'EMPTY' : this.table === null ? 'UNKNOWN_SCHEMA' : 'NO_PRIMARY_KEY');
      } else {
        const id = randomUUID();
        await this.client!.query('SELECT pg_logical_emit_message(true, $1, $2)', [MARK_PREFIX, id]);
        this.window = { id, chunk, changed: new Set(), isTruncated: false };
      }
    } catch (error) {
      if (signal.aborted) return;
      await this.closeClient();
      if (isConnectionLoss(error)) {
        logger.warn({ reason: String(error) }, 'a chunk could not be read: it is tried again');
        await delay(EARLY_WAIT_MS, undefined, { signal }).catch(() => {});
        return;
      }
      // What a signal asks for may be wrong; that must not stop the stream.
      logger.error({ table: collection.id, reason: String(error) }, 'the table cannot be read: it is left out');
      this.endTable('SQL_EXCEPTION');
    }
  }

  private async read(collection: Collection, published: Uint32Array): Promise<Chunk> {
    const { settings, versions, signal } = this.options;
    this.client ??= await connect(settings, 'incremental', { isRaw: true });
    this.table ??= (await listTables(this.client)).find(table => fullName(table) === collection.id) ?? null;
    if (this.table === null) return { kind: 'none', why: 'it does not exist' };
    const { lastKey, maximumKey } = this.state;
    const { filter, surrogateKey } = collection;
    const size = settings.chunkSize;
    const hasChosenKey = settings.keyColumns(collection.id) !== null;
    const request = { table: this.table, surrogateKey, filter, hasChosenKey, lastKey, maximumKey, size };
    return await readChunk(this.client, request, versions, published, signal);
  }

  /** What of the batches goes on, with the rows of the chunk behind them where its mark has come. */
  async pass(batches: readonly SourceBatch[], mark: string | null, position: StreamPosition): Promise<SourceBatch[]> {
    if (this.signalTopic === null && this.window === null) return [...batches];
    const out: SourceBatch[] = [];
    for (const batch of batches) {
      const isSignals = batch.topic === this.signalTopic;
      if (isSignals && batch instanceof TableSourceBatch) await this.readSignals(batch);
      if (!isSignals || this.isSignalPublished) out.push(batch);
      if (this.window !== null && batch.topic === this.window.chunk.version.topic) this.see(this.window, batch);
    }
    if (this.window !== null && mark === this.window.id) out.push(...this.closeWindow(this.window, position));
    return out;
  }

  private see(window: Window, batch: SourceBatch): void {
    if (!(batch instanceof TableSourceBatch)) return;
    const { rows, keyLayout } = batch.wire;
    if (keyLayout === null || batch.keySchema === null) {
      window.isTruncated = true;
      return;
    }
    for (let i = 0; i < batch.count; i++) window.changed.add(rowKey(batch.keySchema, keyLayout, rows, i));
  }

  private closeWindow(window: Window, position: StreamPosition): SourceBatch[] {
    const { chunk, changed, isTruncated } = window;
    this.window = null;
    const batches = isTruncated
      ? []
      : chunk.rows
          .map(rows => chunkBatch(chunk.version, rows, changed, position, this.options.common))
          .filter(batch => batch !== null);
    this.rowsRead += chunk.rows.reduce((sum, { count }) => sum + count, 0);
    if (chunk.isLast) {
      this.endTable('SUCCEEDED');
      return batches;
    }
    this.state = { ...this.state, lastKey: chunk.lastKey, maximumKey: chunk.maximumKey };
    this.tell('IN_PROGRESS', {
      ...this.tableIds,
      current_collection_in_progress: this.state.collections[0]!.id,
      maximum_key: chunk.maximumKey.join(','),
      last_processed_key: chunk.lastKey.join(','),
    });
    return batches;
  }

  private endTable(status: 'SUCCEEDED' | 'EMPTY' | 'NO_PRIMARY_KEY' | 'UNKNOWN_SCHEMA' | 'SQL_EXCEPTION'): void {
    const { logger } = this.options;
    const [ended, ...collections] = this.state.collections;
    this.table = null;
    const total_rows_scanned = String(this.rowsRead);
    this.rowsRead = 0;
    this.tell('TABLE_SCAN_COMPLETED', {
      ...this.tableIds,
      scanned_collection: ended?.id ?? '',
      total_rows_scanned,
      status,
    });
    if (collections.length === 0) this.tell('COMPLETED');
    logger.info({ table: ended?.id }, 'the incremental snapshot of the table is complete');
    this.state = collections.length === 0 ? NOTHING : { ...this.state, collections, lastKey: null, maximumKey: null };
    if (collections.length === 0) logger.info({}, 'the incremental snapshot is complete');
  }

  private async readSignals(batch: TableSourceBatch): Promise<void> {
    const { logger } = this.options;
    for (let i = 0; i < batch.count; i++) {
      if (batch.wire.rows.choices[CHOICE.op]![i] !== OPERATION.c || batch.wire.tombstones?.[i] === 1) continue;
      const { after } = fieldsOf(batch.record(i).value);
      const [id, type, data] = after instanceof Struct ? after.values : [];
      try {
        const signal = parseSignal(String(id), String(type), data === null || data === undefined ? null : String(data));
        if (signal !== null) await this.act(signal);
      } catch (error) {
        logger.error({ signal: id, type, reason: String(error) }, 'a signal is not followed: it is malformed');
      }
    }
  }

  /** What a signal asks for; those of the signal table are followed where they come in the stream. */
  async act(signal: Signal): Promise<void> {
    const { logger } = this.options;
    switch (signal.type) {
      case 'execute-snapshot':
        await this.execute(signal);
        return;
      case 'stop-snapshot': {
        const isStopped = ({ id }: Collection): boolean =>
          signal.collections.length === 0 || signal.collections.some(pattern => namesTable(pattern, id));
        const [first] = this.state.collections;
        const collections = this.state.collections.filter(collection => !isStopped(collection));
        logger.info({ signal: signal.id, left: collections.map(({ id }) => id).join(', ') }, 'tables are not read on');
        const stopped = this.state.collections.filter(isStopped).map(({ id }) => id);
        if (stopped.length > 0) this.tell('ABORTED', { data_collections: stopped.join(',') });
        if (first !== undefined && isStopped(first)) {
          this.window = null;
          this.table = null;
          this.rowsRead = 0;
          this.state = { ...this.state, collections, lastKey: null, maximumKey: null };
        } else {
          this.state = { ...this.state, collections };
        }
        if (collections.length === 0) this.state = NOTHING;
        return;
      }
      case 'pause-snapshot':
      case 'resume-snapshot':
        if (this.isRunning) {
          this.state = { ...this.state, isPaused: signal.type === 'pause-snapshot' };
          this.tell(this.state.isPaused ? 'PAUSED' : 'RESUMED', this.tableIds);
        }
        logger.info({ signal: signal.id }, `the incremental snapshot: ${signal.type}`);
        return;
      case 'log':
        logger.info({ signal: signal.id }, signal.message);
        return;
    }
  }

  private async execute(signal: Extract<Signal, { type: 'execute-snapshot' }>): Promise<void> {
    const { settings, logger } = this.options;
    this.client ??= await connect(settings, 'incremental', { isRaw: true });
    const { viaRoot, autocreate, name } = settings.publication;
    const all = await listTables(this.client);
    const isCaptured = (table: TableName): boolean => settings.tables(fullName(table), table.schema);
    const tables = all.filter(table => {
      const isRead = viaRoot ? !table.isPartition : table.kind === 'table';
      return isRead && isCaptured(table) && fullName(table) !== settings.signalTable;
    });
    const chosen = signal.collections.flatMap(pattern => tables.filter(table => namesTable(pattern, fullName(table))));
    const isBlocking = signal.kind === 'blocking';
    const known = new Set(isBlocking ? [] : this.state.collections.map(({ id }) => id));
    const added: Collection[] = [];
    const addedTables: TableName[] = [];
    for (const table of chosen) {
      const id = fullName(table);
      if (known.has(id)) continue;
      known.add(id);
      const filter = signal.conditions.find(({ collection }) => namesTable(collection, id))?.filter ?? null;
      added.push({ id, filter, surrogateKey: signal.surrogateKey });
      addedTables.push(table);
    }
    if (autocreate === 'filtered' && added.length > 0) {
      // Tables made since the start are not in it yet; their changes have to come before their rows are read.
      const published = all.filter(table => isCaptured(table) || fullName(table) === settings.signalTable);
      await setPublicationTables(this.client, name, published);
    }
    if (added.length === 0) {
      logger.warn(
        { signal: signal.id, collections: signal.collections.join(', ') },
        'a signal names no captured table',
      );
      return;
    }
    if (isBlocking) {
      const filters = new Map(added.flatMap(({ id, filter }) => (filter === null ? [] : [[id, filter] as const])));
      this.blocking.push({ id: signal.id, tables: addedTables, filters });
      return;
    }
    this.state = {
      ...this.state,
      correlationId: this.state.correlationId ?? signal.id,
      collections: [...this.state.collections, ...added],
    };
    logger.info({ signal: signal.id, tables: this.names }, 'the incremental snapshot begins');
    this.tell('STARTED', this.tableIds);
  }

  private async closeClient(): Promise<void> {
    const { client } = this;
    this.client = null;
    await client?.end().catch(() => {});
  }

  async close(): Promise<void> {
    await this.closeClient();
  }
}

/** Events of rows whose key is not among those; null where there are none. */
function chunkBatch(
  version: TableVersion,
  copied: CopiedRows,
  changed: ReadonlySet<string>,
  position: StreamPosition,
  common: BatchCommon,
): SourceBatch | null {
  const sequence = `["${position.lastCommit ?? position.lsn}","${position.lsn}"]`;
  const source = { tsUs: processingTime()[1], txId: null, lsn: null, sequence };
  const markers = new Uint8Array(copied.count).fill(SNAPSHOT_MARKERS.indexOf('incremental'));
  const all = copiedWireRows(copied, markers, source);
  const { positions } = copied;
  let count = 0;
  for (let i = 0; i < copied.count; i++) {
    const isKept = changed.size === 0 || !changed.has(rowKey(version.keySchema!, version.keyLayout!, all, i));
    if (isKept) positions[count++] = positions[i]!;
  }
  return count === 0 ? null : rowBatch(version, { ...all, count }, copied.byteLength, source, common, null);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (!(value instanceof Struct)) return {};
  return Object.fromEntries(value.schema.fields.map((field, i) => [field.name, value.values[i]]));
}
