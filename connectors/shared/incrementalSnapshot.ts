/**
 * Incremental snapshots: tables are read in chunks, some of them at once, while their changes are streamed. A chunk is never older than what was published before
 * its reading began. When the stream has given all changes that the chunk may have missed, rows whose key was among those published since are dropped and the
 * others are published; chunk after chunk, in the order of their keys. State is in the offsets: a restart begins with the first chunk that is not published. How
 * a chunk is read, and when the stream has come far enough, is the database's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, SourceBatch, SourceOffset } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { type ChunkWindow, ChunkWindows } from './chunkWindows.ts';
import type { Chunk, ChunkBounds, Key, NoChunk, TableStatus } from './incrementalChunk.ts';
import { type Collection, type IncrementalState, NOTHING, stateOf, stateOffset } from './incrementalState.ts';
import type { Notifications, NotificationType } from './notifications.ts';
import { namesTable, parseSignal, type Signal } from './signals.ts';
import { TableSourceBatch } from './tableSourceBatch.ts';

const EARLY_WAIT_MS = 20;
/** Of chunks that are read at once. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Some 25 seconds in all. */
const SIGNAL_ATTEMPTS = 9;
const SIGNAL_RETRY_MS = 100;

export interface IncrementalOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly notifications: Notifications;
  /** The topic of the signal table; null = there is none. */
  readonly signalTopic: string | null;
  readonly isSignalPublished: boolean;
  /** Whether signals come at all: else what a stored offset has of a snapshot is dropped. */
  readonly hasSignals: boolean;
  /** Most chunks that are read at once. */
  readonly maxChunks: number;
}

/** How a table ends that was read. */
const READ: readonly TableStatus[] = ['SUCCEEDED', 'EMPTY'];

/** A captured table by its full name. */
export interface NamedTable<T> {
  readonly id: string;
  readonly table: T;
}

/** Tables to be read while the stream waits, and conditions on their rows by full name. */
export interface BlockingRequest<T> {
  readonly id: string;
  readonly tables: readonly T[];
  readonly filters: ReadonlyMap<string, string>;
}

/** `T` is a table, `A` what the stream has given out so far, `P` where it stands. */
export abstract class IncrementalSnapshot<T, A, P> {
  protected readonly options: IncrementalOptions;
  private state: IncrementalState;
  private committed: string;
  private readonly windows = new ChunkWindows<P>();
  /** Of the table at hand, since the start of the task. */
  private rowsRead = 0;
  /** Tables that were left out, since the start of the task. */
  private unread: string[] = [];
  private blocking: BlockingRequest<T>[] = [];

  constructor(options: IncrementalOptions, stored: SourceOffset | null) {
    this.options = options;
    this.state = options.hasSignals ? stateOf(stored) : NOTHING;
    this.committed = JSON.stringify(this.state);
    if (this.isRunning) options.logger.info({ tables: this.names }, 'the incremental snapshot goes on');
  }

  /** All captured tables but the one of signals. */
  protected abstract tables(): Promise<readonly NamedTable<T>[]>;

  /** Called with tables that are to be read from now on. */
  protected async prepareTables(_tables: readonly T[]): Promise<void> {}

  /** The next chunk behind a key. */
  protected abstract bounds(
    collection: Collection,
    lastKey: Key | null,
    maximumKey: Key | null,
  ): Promise<ChunkBounds | NoChunk>;

  /** Its rows, not older than what the stream has given out. Several are read at once, where the options say so. */
  protected abstract read(collection: Collection, bounds: ChunkBounds, ahead: A): Promise<Chunk<P>>;

  /** The table at hand is done with. */
  protected forgetTable(): void {}

  protected abstract isConnectionLoss(error: unknown): boolean;

  protected abstract closeClients(): Promise<void>;

  get isRunning(): boolean {
    return this.state.collections.length > 0;
  }

  /** Whether a chunk waits for nothing but to be passed on: the stream need not be waited for. */
  isReady(place: P): boolean {
    return this.windows.isReady(place);
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
  takeBlocking(): BlockingRequest<T> | null {
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

  /** Begins to read the chunks that are due, and waits for the first. */
  async advance(ahead: A): Promise<void> {
    const { logger, signal } = this.options;
    const collection = this.state.collections[0];
    if (collection === undefined) return;
    try {
      if (!this.state.isPaused) await this.openWindows(collection, ahead);
      const { first } = this.windows;
      if (first === null || first.chunk !== null) return;
      const chunk = await first.reading;
      if (chunk.kind === 'rows') this.windows.setFirst(chunk);
      else if (chunk.kind === 'none') this.endUnread(collection, chunk);
      else {
        await delay(EARLY_WAIT_MS, undefined, { signal }).catch(() => {});
        first.reading = this.begin(collection, first.bounds, ahead);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.windows.clear();
      await this.closeClients();
      if (this.isConnectionLoss(error)) {
        logger.warn({ reason: String(error) }, 'a chunk could not be read: it is tried again');
        await delay(EARLY_WAIT_MS, undefined, { signal }).catch(() => {});
        return;
      }
      // What a signal asks for may be wrong; that must not stop the stream.
      logger.error({ table: collection.id, reason: String(error) }, 'the table cannot be read: it is left out');
      this.endTable('SQL_EXCEPTION');
    }
  }

  private async openWindows(collection: Collection, ahead: A): Promise<void> {
    while (this.windows.hasRoom(this.options.maxChunks, MAX_BYTES)) {
      const last = this.windows.last?.bounds ?? null;
      if (last?.isLast) return;
      const { lastKey, maximumKey } = last ?? this.state;
      const bounds = await this.bounds(collection, lastKey, maximumKey);
      if (bounds.kind === 'none') {
        // What is being read comes first; then it is found again.
        if (last === null) this.endUnread(collection, bounds);
        return;
      }
      this.windows.add(bounds, this.begin(collection, bounds, ahead));
    }
  }

  /** An error waits until it is the chunk's turn. */
  private begin(collection: Collection, bounds: ChunkBounds, ahead: A): Promise<Chunk<P>> {
    const reading = this.read(collection, bounds, ahead);
    reading.catch(() => {});
    return reading;
  }

  private endUnread(collection: Collection, { why, status }: NoChunk): void {
    if (why !== null) this.options.logger.error({ table: collection.id }, `the table is not read: ${why}`);
    this.endTable(status);
  }

  /**
   * What of the batches goes on, with the rows of the chunk behind them where the stream has come up to it. After an error the batches are lost: only a restart has
   * them again.
   */
  async pass(batches: readonly SourceBatch[], place: P): Promise<SourceBatch[]> {
    const { signalTopic, isSignalPublished } = this.options;
    if (signalTopic === null && this.windows.count === 0) return [...batches];
    const out: SourceBatch[] = [];
    for (const batch of batches) {
      const isSignals = batch.topic === signalTopic;
      if (isSignals && batch instanceof TableSourceBatch) await this.readSignals(batch);
      if (!isSignals || isSignalPublished) out.push(batch);
      this.windows.see(batch);
    }
    for (;;) {
      const window = this.windows.takeReady(place);
      if (window === null) return out;
      out.push(...this.closeWindow(window, place));
    }
  }

  private closeWindow({ bounds, chunk, changed, isTruncated }: ChunkWindow<P>, place: P): SourceBatch[] {
    const batches = isTruncated ? [] : chunk!.publish(changed, place);
    this.rowsRead += chunk!.rowCount;
    if (bounds.isLast) {
      this.endTable('SUCCEEDED');
      return batches;
    }
    const { lastKey, maximumKey } = bounds;
    this.state = { ...this.state, lastKey, maximumKey };
    this.tell('IN_PROGRESS', {
      ...this.tableIds,
      current_collection_in_progress: this.state.collections[0]!.id,
      maximum_key: maximumKey.join(','),
      last_processed_key: lastKey.join(','),
    });
    return batches;
  }

  private endTable(status: TableStatus): void {
    const { logger } = this.options;
    const [ended, ...collections] = this.state.collections;
    this.windows.clear();
    this.forgetTable();
    const total_rows_scanned = String(this.rowsRead);
    this.rowsRead = 0;
    this.tell('TABLE_SCAN_COMPLETED', {
      ...this.tableIds,
      scanned_collection: ended?.id ?? '',
      total_rows_scanned,
      status,
    });
    if (collections.length === 0) this.tell('COMPLETED');
    if (READ.includes(status)) logger.info({ table: ended?.id }, 'the incremental snapshot of the table is complete');
    else if (ended !== undefined) this.unread.push(ended.id);
    this.state = collections.length === 0 ? NOTHING : { ...this.state, collections, lastKey: null, maximumKey: null };
    if (collections.length > 0) return;
    // Why they were not is told already, as an error.
    if (this.unread.length === 0) logger.info({}, 'the incremental snapshot is complete');
    else logger.info({ unread: this.unread.join(', ') }, 'the incremental snapshot has ended, without some tables');
    this.unread = [];
    void this.closeClients();
  }

  private async readSignals(batch: TableSourceBatch): Promise<void> {
    const { logger } = this.options;
    for (let i = 0; i < batch.count; i++) {
      const { after, op } = fieldsOf(batch.record(i).value);
      if (op !== 'c') continue;
      const [id, type, data] = after instanceof Struct ? after.values : [];
      try {
        const signal = parseSignal(String(id), String(type), data === null || data === undefined ? null : String(data));
        if (signal !== null) await this.follow(signal);
      } catch (error) {
        // It comes again, after a restart from before it.
        if (this.isConnectionLoss(error)) throw error;
        logger.error({ signal: id, type, reason: String(error) }, 'a signal is not followed');
      }
    }
  }

  /**
   * Does what a signal asks for; those of the signal table are followed where they come in the stream. While the server cannot be reached it is tried again for
   * a while; then it rejects with the loss, and only a restart meets the signal again.
   */
  async follow(named: Signal): Promise<void> {
    const { logger, signal } = this.options;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.act(named);
        return;
      } catch (error) {
        if (!this.isConnectionLoss(error) || signal.aborted || attempt === SIGNAL_ATTEMPTS) throw error;
        await this.closeClients();
        logger.warn({ signal: named.id, reason: String(error) }, 'a signal cannot be followed yet: it is tried again');
        await delay(SIGNAL_RETRY_MS * 2 ** (attempt - 1), undefined, { signal }).catch(() => {});
      }
    }
  }

  private async act(signal: Signal): Promise<void> {
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
          this.windows.clear();
          this.forgetTable();
          this.rowsRead = 0;
          this.state = { ...this.state, collections, lastKey: null, maximumKey: null };
        } else {
          this.state = { ...this.state, collections };
        }
        if (collections.length > 0) return;
        this.state = NOTHING;
        this.unread = [];
        await this.closeClients();
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
    const { logger } = this.options;
    const tables = await this.tables();
    const chosen = signal.collections.flatMap(pattern => tables.filter(({ id }) => namesTable(pattern, id)));
    const isBlocking = signal.kind === 'blocking';
    const known = new Set(isBlocking ? [] : this.state.collections.map(({ id }) => id));
    const added: Collection[] = [];
    const addedTables: T[] = [];
    for (const { id, table } of chosen) {
      if (known.has(id)) continue;
      known.add(id);
      const filter = signal.conditions.find(({ collection }) => namesTable(collection, id))?.filter ?? null;
      added.push({ id, filter, surrogateKey: signal.surrogateKey });
      addedTables.push(table);
    }
    if (added.length === 0) {
      logger.warn(
        { signal: signal.id, collections: signal.collections.join(', ') },
        chosen.length === 0 ? 'a signal names no captured table' : 'the tables of a signal are being read already',
      );
      return;
    }
    await this.prepareTables(addedTables);
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

  async close(): Promise<void> {
    await this.closeClients();
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (!(value instanceof Struct)) return {};
  return Object.fromEntries(value.schema.fields.map((field, i) => [field.name, value.values[i]]));
}
