/** The one task of a Firebird source: checks, snapshot, stream, heartbeats, and what is done with segments that are stored as processed. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Config,
  ConnectError,
  offsetBatch,
  type SourceBatch,
  type SourceOffset,
  type SourcePartition,
  type SourceTask,
  type SourceTaskContext,
} from '../../../runtime/api/index.ts';
import { contextHeaders } from '../../shared/contextHeaders.ts';
import { Heartbeats } from '../../shared/heartbeats.ts';
import { idle } from '../../shared/idle.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { parseSettings, type SourceSettings } from '../config.ts';
import {
  connect,
  type Database,
  disconnect,
  type FirebirdAddress,
  firebirdError,
  whileConnected,
} from '../connection.ts';
import type { JournalPosition } from '../journal/metadata.ts';
import { SEGMENT_HEADER_BYTES } from '../journal/segmentHeader.ts';
import type { TableHistory } from '../journal/tableHistory.ts';
import { Session } from '../session.ts';
import { CONNECTOR_NAME } from '../version.ts';
import { type Catalog, readCatalog, readTimeZones } from './catalog.ts';
import { askCommitStates, type CommitState, CommitStates } from './commitStates.ts';
import { JournalStream } from './journalStream.ts';
import type { OpenTransaction } from './openTransaction.ts';
import { oldestNeeded, parseOffset, type StreamPosition, snapshotOffset, toOffset } from './position.ts';
import { SchemaHistory } from './schemaHistory.ts';
import { SegmentDirectory } from './segmentDirectory.ts';
import { Snapshot } from './snapshot.ts';

const RETRY_MS = 1000;
const POLL_BYTES = 4 << 20;
/** The last connection that closes a database lets the server archive its last segment: ours must not stay for nothing. */
const SESSION_IDLE_MS = 2000;

export class FirebirdSourceTask implements SourceTask {
  #settings!: SourceSettings;
  #context!: SourceTaskContext;
  #common!: BatchCommon;
  #directory!: SegmentDirectory;
  #history!: SchemaHistory;
  #stream: JournalStream | null = null;
  #snapshot: {
    readonly of: Snapshot;
    readonly batches: AsyncGenerator<SourceBatch>;
    readonly database: Database;
  } | null = null;
  #afterSnapshot: StreamPosition | null = null;
  /** What tells where the task begins, before there are records. */
  #announced: SourceOffset | null = null;
  /** Where an earlier snapshot was begun, or the stream stood. */
  #joinAt: StreamPosition | null = null;
  /** The snapshot has failed: what is polled next begins another. */
  #beginsAgain = false;
  #deletedBelow = 0;
  #heartbeats!: Heartbeats;
  #session!: Session;

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    const { settings, errors, warning } = parseSettings(config);
    if (settings === null) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.#settings = settings;
    this.#context = context;
    if (warning !== null) context.logger.warn({}, warning);
    this.#common = {
      sourcePartition: { server: settings.prefix },
      headers: settings.hasContextHeaders ? contextHeaders(settings.prefix, context.taskId, CONNECTOR_NAME) : [],
    };
    this.#session = new Session({
      address: settings.address,
      logger: context.logger,
      what: 'the database',
      stopped: () => new ConnectError('FB_UNREACHABLE', 'the task was stopped', { retriable: true }),
    });
    this.#heartbeats = new Heartbeats(settings, this.#common.sourcePartition, context.logger);
    const stored = parseOffset(await context.offsets.offset(this.#common.sourcePartition));
    try {
      if (stored.state !== 'none') this.#joinAt = stored.position;
      if (stored.state !== 'streaming' || (await this.#startsAgain(stored.position))) await this.#begin();
      else if (settings.snapshotMode === 'initial_only') {
        context.logger.info({}, 'the snapshot is complete and snapshot.mode is initial_only: nothing to do');
      } else await this.#resume(stored.position);
    } catch (error) {
      throw firebirdError(error, settings.address);
    }
  }

  async #startsAgain(position: StreamPosition): Promise<boolean> {
    const { snapshotMode, directory } = this.#settings;
    if (snapshotMode !== 'when_needed') return snapshotMode === 'always';
    const isGone = await isPast(new SegmentDirectory(directory, position.guid), position);
    if (isGone) {
      const segment = oldestNeeded(position);
      this.#context.logger.warn({ segment }, 'a segment that is needed is gone: all rows are read again');
    }
    return isGone;
  }

  /** Goes on without a look at the database: it may be away. */
  async #resume(position: StreamPosition): Promise<void> {
    const { historyFile, directory } = this.#settings;
    const history = await SchemaHistory.load(historyFile);
    if (history === null || history.guid !== position.guid) {
      const what = history === null ? 'is gone' : `is of database ${history.guid}`;
      throw new ConnectError(
        'FB_METADATA_INVALID',
        `The schema history ${historyFile} ${what}; the stored offset is of database ${position.guid}. Put the file back, or reset the offsets of the connector.`,
      );
    }
    this.#history = history;
    this.#directory = new SegmentDirectory(directory, position.guid);
    this.#openStream(position);
  }

  async #begin(): Promise<void> {
    const database = await connect(this.#settings.address, this.#context.signal);
    let isKept = false;
    try {
      isKept = await whileConnected(database, () => this.#beginOn(database));
    } finally {
      if (!isKept) await disconnect(database);
    }
  }

  /** Whether the connection is still needed. */
  async #beginOn(database: Database): Promise<boolean> {
    const settings = this.#settings;
    const context = this.#context;
    const takesSnapshot = settings.snapshotMode !== 'no_data' && settings.format === 'debezium';
    const snapshot = takesSnapshot ? await Snapshot.begin(database) : null;
    const catalog = snapshot?.catalog ?? (await readCatalog(database, null));
    if (!catalog.isPublished) {
      throw new ConnectError(
        'FB_PUBLICATION_DISABLED',
        `Database ${settings.database} has no publication. Run ALTER DATABASE ENABLE PUBLICATION and ALTER DATABASE INCLUDE ALL TO PUBLICATION.`,
      );
    }
    this.#directory = new SegmentDirectory(settings.directory, catalog.guid);
    const joined = snapshot === null ? null : await this.#joined(catalog);
    const position = joined?.position ?? (await this.#firstPosition(catalog, snapshot));
    const timeZones = await readTimeZones(database);
    this.#history =
      joined?.history ??
      (snapshot === null ? await this.#knownHistory(position) : null) ??
      (await SchemaHistory.create(settings.historyFile, catalog, timeZones));
    if (snapshot === null) {
      this.#announced = toOffset(position);
      this.#openStream(position);
      return false;
    }
    const offset = snapshotOffset(position);
    this.#announced = offset;
    const tables = SchemaHistory.tablesNow(catalog, timeZones);
    const batches = snapshot.batches(tables, settings, this.#common, offset, context.signal);
    this.#snapshot = { of: snapshot, batches, database };
    this.#afterSnapshot = position;
    // Another one, if this is broken off.
    if (settings.snapshotMode !== 'initial_only') this.#joinAt = position;
    context.logger.info({ tables: catalog.tables.length, unseen: snapshot.view.unseen.length }, 'the snapshot begins');
    return true;
  }

  /**
   * From where the journal follows, if not from the moment of the rows: where an earlier snapshot was begun, or the stream stood. Of the rows published since
   * those that were deleted would not be known as deleted. Null = there was none, or the journal from there on is gone.
   */
  async #joined({ guid }: Catalog): Promise<{ position: StreamPosition; history: SchemaHistory } | null> {
    const position = this.#joinAt;
    if (position === null || this.#settings.snapshotMode === 'initial_only') return null;
    const history = await SchemaHistory.load(this.#settings.historyFile).catch(() => null);
    const isKnown = position.guid === guid && history?.guid === guid;
    if (isKnown && !(await isPast(this.#directory, position))) return { position, history };
    this.#context.logger.warn(
      { segment: oldestNeeded(position) },
      `an earlier snapshot has published rows; those that were deleted since are not published as deleted, since ${isKnown ? 'segments of the journal from there on are gone' : 'the schema history is not that of then'}`,
    );
    return null;
  }

  /** The history of an earlier start, where all DDL that is not in it is in segments from here on. */
  async #knownHistory({ guid, sequence }: StreamPosition): Promise<SchemaHistory | null> {
    // One that cannot be read is made anew.
    const history = await SchemaHistory.load(this.#settings.historyFile).catch(() => null);
    return history?.guid === guid && history.hasLearned({ sequence, offset: 0 }) ? history : null;
  }

  async #firstPosition(catalog: Catalog, snapshot: Snapshot | null): Promise<StreamPosition> {
    const written = Math.max(snapshot?.sequence ?? catalog.sequence, 1);
    return {
      guid: catalog.guid,
      sequence: await this.#startOfRun(written),
      offset: SEGMENT_HEADER_BYTES,
      open: new Map(),
      pending: [],
      snapshot: snapshot?.view ?? null,
    };
  }

  /** The first of the unbroken run of segments that ends before the given one. */
  async #startOfRun(end: number): Promise<number> {
    const found = await this.#directory.list();
    let sequence = end;
    while (found.has(sequence - 1)) sequence--;
    return sequence;
  }

  #openStream(position: StreamPosition): void {
    const { logger } = this.#context;
    logger.info(
      { segment: position.sequence, pos: position.offset, open: position.open.size },
      'the journal is followed',
    );
    const commits = new CommitStates((from, to) => askCommitStates(this.#session, position.guid, from, to));
    this.#stream = new JournalStream(
      {
        settings: this.#settings,
        common: this.#common,
        logger,
        directory: this.#directory,
        history: this.#history,
        pollBytes: POLL_BYTES,
        learnFormats: tables => this.#learnFormats(tables),
        learn: (transaction, at, tables) => this.#learn(transaction, at, tables),
        commitState: this.#settings.verifiesCommits ? transaction => this.#commitState(commits, transaction) : null,
        onRolledBack: () => this.#context.metrics.count('transactions_rolled_back_by_crash'),
      },
      position,
    );
  }

  /** The database is asked until it answers or error.timeout.ms is over. */
  async #learn(transaction: OpenTransaction, position: JournalPosition, tables: TableHistory): Promise<void> {
    const { signal, logger } = this.#context;
    const { address, errorTimeoutMs } = this.#settings;
    const deadline = performance.now() + errorTimeoutMs;
    for (;;) {
      try {
        const catalog = await this.#session.use(database => readCatalog(database, null, transaction.number));
        if (catalog.stamp === null) throw notCommitted(transaction, address);
        await this.#history.add(catalog, transaction.number, position, transaction.statements, tables);
        return;
      } catch (error) {
        const failure = firebirdError(error, address);
        if (signal.aborted || failure.code !== 'FB_UNREACHABLE' || performance.now() > deadline) throw failure;
        logger.warn({ err: failure }, 'the tables cannot be read after DDL; it is tried again');
        await delay(RETRY_MS, undefined, { signal });
      }
    }
  }

  async #learnFormats(tables: TableHistory): Promise<void> {
    const catalog = await this.#session.use(database => readCatalog(database, null));
    await this.#history.addFormats(catalog, tables);
  }

  async #commitState(commits: CommitStates, transaction: number): Promise<CommitState | 'unreachable'> {
    const { signal, logger } = this.#context;
    try {
      return await commits.of(transaction);
    } catch (error) {
      const failure = firebirdError(error, this.#settings.address);
      if (signal.aborted || failure.code !== 'FB_UNREACHABLE') throw failure;
      logger.debug({ reason: failure.message }, 'the database cannot be asked whether a transaction has committed');
      return 'unreachable';
    }
  }

  async poll(): Promise<readonly SourceBatch[]> {
    const { signal } = this.#context;
    try {
      if (this.#beginsAgain) {
        await this.#begin();
        this.#beginsAgain = false;
      }
      if (this.#announced !== null) {
        const offset = this.#announced;
        this.#announced = null;
        return [offsetBatch(this.#common.sourcePartition, offset)];
      }
      if (this.#snapshot !== null) return await this.#pollSnapshot();
      const stream = this.#stream;
      if (stream === null) {
        await idle(this.#settings.pollIntervalMs, signal);
        return [];
      }
      const batches = await stream.poll(signal);
      this.#reportLag(batches);
      const heartbeat = await this.#heartbeats.take(() => stream.lastOffset);
      if (heartbeat !== null) batches.push(heartbeat);
      if (batches.length === 0) {
        await this.#session.rest(SESSION_IDLE_MS);
        await idle(this.#heartbeats.waitMs, signal);
      }
      return batches;
    } catch (error) {
      throw signal.aborted ? error : firebirdError(error, this.#settings.address);
    }
  }

  async #pollSnapshot(): Promise<readonly SourceBatch[]> {
    const { batches, database } = this.#snapshot!;
    try {
      const { value, done } = await whileConnected(database, () => batches.next());
      if (!done) return [value];
    } catch (error) {
      // Its transaction is gone, and with it the moment that it showed.
      this.#beginsAgain = true;
      await this.#endSnapshot();
      throw error;
    }
    await this.#endSnapshot();
    const first = this.#afterSnapshot!;
    // Segments may have been waiting for the server to archive them.
    const isStart = first.offset === SEGMENT_HEADER_BYTES;
    const position = isStart ? { ...first, sequence: await this.#startOfRun(first.sequence) } : first;
    if (this.#settings.snapshotMode !== 'initial_only') this.#openStream(position);
    this.#context.logger.info({}, 'the snapshot is complete');
    return [offsetBatch(this.#common.sourcePartition, toOffset(position))];
  }

  async #endSnapshot(): Promise<void> {
    const snapshot = this.#snapshot;
    this.#snapshot = null;
    if (snapshot === null) return;
    const { batches, of, database } = snapshot;
    await whileConnected(database, async () => {
      await batches.return(undefined);
      await of.end();
    }).catch(() => {
      // The connection is lost, and with it the transaction.
    });
    await disconnect(database);
  }

  #reportLag(batches: readonly SourceBatch[]): void {
    const newest = Math.max(...batches.map(batch => batch.sourceTimestampMs ?? 0));
    if (newest > 0) this.#context.metrics.gauge('milliseconds_behind_source', Math.max(0, Date.now() - newest));
  }

  /** Segments that no restart from here needs are deleted. */
  async commit(_partition: SourcePartition, offset: SourceOffset): Promise<void> {
    if (!this.#settings.deletesSegments) return;
    const stored = parseOffset(offset);
    if (stored.state !== 'streaming') return;
    // One stays, so that a connector whose offsets were reset finds where the journal goes on.
    const needed = Math.min(oldestNeeded(stored.position), stored.position.sequence - 1);
    if (needed <= this.#deletedBelow) return;
    await this.#directory.deleteBelow(needed);
    this.#deletedBelow = needed;
  }

  async stop(): Promise<void> {
    await this.#endSnapshot();
    await this.#stream?.close();
    await this.#session?.close();
  }
}

/** Whether a segment that the position needs is gone. While there is none behind it, it may be still to come. */
async function isPast(directory: SegmentDirectory, position: StreamPosition): Promise<boolean> {
  const found = await directory.list();
  const needed = oldestNeeded(position);
  return !found.has(needed) && [...found.keys()].some(sequence => sequence > needed);
}

/** The COMMIT is in the journal before it is in the database. */
const notCommitted = ({ number }: OpenTransaction, { host, port }: FirebirdAddress): ConnectError =>
  new ConnectError(
    'FB_UNREACHABLE',
    `Firebird at ${host}:${port} does not show yet what transaction ${number} has left behind.`,
    { retriable: true },
  );
