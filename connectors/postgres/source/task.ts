/** The one task of a PostgreSQL source: checks, snapshot, stream, heartbeats, and what the server is told after a commit. */
import type pg from 'pg';
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
import { type HeartbeatStatement, Heartbeats } from '../../shared/heartbeats.ts';
import { idle } from '../../shared/idle.ts';
import { Notifications, type NotificationType } from '../../shared/notifications.ts';
import { SignalTopic } from '../../shared/signalTopic.ts';
import type { BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import { parseSettings, type SourceSettings } from '../config.ts';
import { CONNECTOR_NAME } from '../version.ts';
import { blockingSettings } from './blockingSnapshot.ts';
import { fullName } from './catalog.ts';
import { connect, isConnectionLoss, sourceError, sqlState } from './connection.ts';
import { type BlockingRequest, IncrementalSnapshot } from './incrementalSnapshot.ts';
import { formatLsn } from './lsn.ts';
import { HEARTBEAT_PREFIX } from './ownMessages.ts';
import { MODERN_SINCE } from './pluginOptions.ts';
import { idleOffset, parseOffset, type StoredOffset, type StreamPosition, toldFlushed, toOffset } from './position.ts';
import { type PreflightReport, preflight, preflightError } from './preflight.ts';
import { RelationVersions } from './relations.ts';
import { addPublicationTables, createPublication, createSlot, dropSlot, slotAhead } from './server.ts';
import { SlotWatch } from './slotWatch.ts';
import { SnapshotPhase } from './snapshotPhase.ts';
import { ChangeStream } from './stream.ts';

export class PostgresSourceTask implements SourceTask {
  private settings!: SourceSettings;
  /** Up to where the server may have been told that it need not keep the log. */
  private flushed = 0n;
  private context!: SourceTaskContext;
  private common!: BatchCommon;
  private report!: PreflightReport;
  private versions!: RelationVersions;
  private snapshot: SnapshotPhase | null = null;
  /** What asked for the snapshot that is being taken, while the stream waits. */
  private blocking: BlockingRequest | null = null;
  private signals: SignalTopic | null = null;
  private notifications!: Notifications;
  private stream: ChangeStream | null = null;
  private incremental!: IncrementalSnapshot;
  private watch!: SlotWatch;
  private lastOffset: SourceOffset | null = null;
  private hasUncommitted = false;
  private heartbeats!: Heartbeats<pg.Client>;
  /** Changes or signals are lost that only a restart has again. */
  private failure: ConnectError | null = null;

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    const { settings, errors, warning } = parseSettings(config);
    if (settings === null) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.settings = settings;
    this.context = context;
    if (warning !== null) context.logger.warn({}, warning);
    this.common = {
      sourcePartition: { server: settings.prefix },
      headers: settings.extendedHeaders ? contextHeaders(settings.prefix, context.taskId, CONNECTOR_NAME) : [],
    };
    this.versions = new RelationVersions(settings);
    const offset = await context.offsets.offset(this.common.sourcePartition);
    const stored = parseOffset(offset);
    const { common, versions } = this;
    const { logger, signal } = context;
    this.watch = new SlotWatch(settings, context.metrics, logger);
    const notifications = new Notifications(settings.notifications, settings.prefix, common.sourcePartition, logger);
    this.notifications = notifications;
    this.incremental = new IncrementalSnapshot({ settings, common, logger, signal, versions, notifications }, offset);
    this.signals = await SignalTopic.open(context, settings.signalTopic, settings.prefix, offset);
    let client: pg.Client | null = null;
    try {
      client = await connect(settings, 'check');
      await this.prepare(client, stored);
    } catch (error) {
      throw sourceError(error, settings);
    } finally {
      await client?.end().catch(() => {});
    }
  }

  private async prepare(client: pg.Client, stored: StoredOffset): Promise<void> {
    const { settings, context } = this;
    const report = await preflight(client, settings, stored);
    this.report = report;
    this.heartbeats = new Heartbeats(settings, this.common.sourcePartition, context.logger, this.heartbeatStatement());
    if (report.problems.length > 0) throw preflightError(report.problems);
    for (const warning of report.warnings) context.logger.warn({}, warning);
    const { mode } = settings.snapshot;
    if (mode !== 'initial_only') await this.preparePublication(client);

    const { slot } = report;
    const flushed = toldFlushed(stored);
    const isUnusable =
      slot === null || slot.walStatus === 'lost' || slotAhead(settings.slot.name, slot, flushed) !== null;
    const isDone = stored.state === 'streaming' && !(mode === 'when_needed' && isUnusable);
    if (isDone && mode === 'initial_only') {
      context.logger.info({}, 'the snapshot is complete and snapshot.mode is initial_only: nothing to do');
      return;
    }
    if (isDone && mode !== 'always') {
      this.tell('SKIPPED');
      this.openStream(stored.position, flushed);
      return;
    }
    if (report.slot !== null && isUnusable) {
      await dropSlot(client, settings.slot.name);
      this.report = { ...report, slot: null };
    }
    if (stored.state === 'snapshotting' && this.report.slot === null) {
      context.logger.warn(
        { slot: settings.slot.name },
        'the slot of the snapshot that did not complete is gone: rows that were published then and are deleted by now have no event that deletes them',
      );
    }
    if (mode === 'no_data' && stored.state !== 'streaming') {
      await this.startWithoutSnapshot();
      return;
    }
    this.snapshot = new SnapshotPhase(
      {
        settings,
        common: this.common,
        logger: context.logger,
        signal: context.signal,
        versions: this.versions,
        serverVersion: report.serverVersion,
        tables: report.tables,
        slotFlushed: this.report.slot === null ? null : (this.report.slot.confirmedFlush ?? 0n),
        onTableRead: this.tableRead,
      },
      isDone ? stored.position : null,
    );
    this.tell('STARTED');
  }

  private tell(type: NotificationType, data: Readonly<Record<string, string>> = {}): void {
    this.notifications.tell({ aggregate: 'Initial Snapshot', type, id: this.blocking?.id, data });
  }

  private readonly tableRead = (table: string, rows: number): void => {
    const tables = this.blocking?.tables ?? this.report.tables;
    this.tell('TABLE_SCAN_COMPLETED', {
      data_collections: tables.map(fullName).join(','),
      scanned_collection: table,
      total_rows_scanned: String(rows),
      status: rows === 0 ? 'EMPTY' : 'SUCCEEDED',
    });
  };

  private async preparePublication(client: pg.Client): Promise<void> {
    const { settings, report } = this;
    const { autocreate, name } = settings.publication;
    if (!report.hasPublication) {
      if (autocreate !== 'disabled') await createPublication(client, settings, report.published);
    } else if (autocreate === 'filtered') {
      await addPublicationTables(client, name, report.published);
    }
  }

  private async startWithoutSnapshot(): Promise<void> {
    let start = this.report.slot?.confirmedFlush ?? 0n;
    if (this.report.slot === null) {
      const replication = await connect(this.settings, 'slot', { replication: true });
      try {
        start = (await createSlot(replication, this.report.serverVersion, this.settings, false)).consistentPoint;
      } finally {
        await replication.end();
      }
    }
    this.openStream({ lastCommit: null, lsn: start, changesAtLsn: 0, txId: 0n, tsUs: 0n }, start);
  }

  private openStream(position: StreamPosition, flushed: bigint | null): void {
    this.flushed = flushed ?? 0n;
    const { settings, context } = this;
    context.logger.info(
      { slot: settings.slot.name, from: formatLsn(position.lastCommit ?? position.lsn) },
      'streaming begins',
    );
    this.stream = new ChangeStream(
      {
        settings,
        common: this.common,
        logger: context.logger,
        signal: context.signal,
        versions: this.versions,
        serverVersion: this.report.serverVersion,
        flushed,
      },
      position,
    );
  }

  async poll(): Promise<readonly SourceBatch[]> {
    if (this.failure !== null) throw this.failure;
    if (this.snapshot !== null) return await this.pollSnapshot(this.snapshot);
    if (this.stream === null) {
      await idle(this.settings.pollIntervalMs, this.context.signal);
      return [];
    }
    const { stream, incremental } = this;
    this.watch.tick();
    await this.followTopic();
    await incremental.advance(stream.recent);
    const given = await stream.next(this.heartbeats.waitMs);
    const place = { mark: stream.takeMark(), position: stream.position };
    const batches = await incremental.pass(given, place).catch((error: unknown) => {
      throw this.failed(error);
    });
    batches.push(...this.notifications.take());
    const blocking = incremental.takeBlocking();
    if (blocking !== null) {
      // Until its rows are there no offset goes on: a restart meets the signal again.
      this.beginBlocking(blocking, stream);
      this.hasUncommitted = true;
      return batches;
    }
    if (batches.length > 0) (batches.at(-1) as TableSourceBatch).sourceOffset = this.offset(stream);
    const heartbeat = await this.heartbeats.take(() => this.offset(stream));
    if (heartbeat !== null) batches.push(heartbeat);
    if (batches.length > 0) {
      this.lastOffset = batches.at(-1)!.sourceOffset;
      this.hasUncommitted = true;
      this.reportLag(batches);
    } else if (!this.hasUncommitted && !(incremental.isRunning && incremental.isDirty)) {
      const end = stream.idleEnd;
      if (end !== null) batches.push(this.idleBatch(stream, end));
    }
    return batches;
  }

  private failed(error: unknown): ConnectError {
    this.failure = sourceError(error, this.settings);
    return this.failure;
  }

  private async followTopic(): Promise<void> {
    for (const signal of (await this.signals?.poll()) ?? []) {
      try {
        await this.incremental.follow(signal);
      } catch (error) {
        if (isConnectionLoss(error)) throw this.failed(error);
        this.context.logger.error({ signal: signal.id, reason: String(error) }, 'a signal could not be followed');
      }
    }
  }

  private beginBlocking(request: BlockingRequest, stream: ChangeStream): void {
    const { common, versions, report } = this;
    const { logger, signal } = this.context;
    logger.info(
      { signal: request.id, tables: request.tables.map(fullName).join(', ') },
      'the stream waits for a snapshot',
    );
    stream.rest();
    this.blocking = request;
    this.snapshot = new SnapshotPhase(
      {
        settings: blockingSettings(this.settings, request),
        ...{ common, versions, logger, signal, serverVersion: report.serverVersion },
        tables: request.tables,
        slotFlushed: 0n, // the stream goes on with what it knows
        onTableRead: this.tableRead,
      },
      stream.position,
    );
    this.tell('STARTED');
  }

  private async pollSnapshot(snapshot: SnapshotPhase): Promise<readonly SourceBatch[]> {
    let batch: SourceBatch | null;
    try {
      batch = await snapshot.next();
    } catch (error) {
      if (this.context.signal.aborted) return [];
      const failure = sourceError(error, this.settings);
      // What a signal asks for may be wrong, such as a column of its condition; that must not stop the stream.
      const isWrong = !failure.retriable || sqlState(failure.cause)?.startsWith('42') === true;
      if (this.blocking === null || !isWrong) throw failure;
      this.context.logger.error({ signal: this.blocking.id, reason: String(error) }, 'the snapshot is given up');
      this.tell('ABORTED');
      return await this.endSnapshot(snapshot);
    }
    if (batch !== null) {
      this.context.metrics.gauge('snapshot_running', 1);
      this.context.metrics.count('rows_scanned', batch.count);
      if (this.blocking !== null) {
        const isLast = batch.sourceOffset?.snapshot_completed === true;
        (batch as TableSourceBatch).sourceOffset = isLast ? this.offset(this.stream!) : null;
      }
      this.lastOffset = batch.sourceOffset ?? this.lastOffset;
      this.hasUncommitted = true;
      // In front: the offset of a batch is that of the poll.
      return [...this.notifications.take(), batch];
    }
    this.tell('COMPLETED');
    return await this.endSnapshot(snapshot);
  }

  private async endSnapshot(snapshot: SnapshotPhase): Promise<readonly SourceBatch[]> {
    await snapshot.close();
    this.snapshot = null;
    this.context.metrics.gauge('snapshot_running', 0);
    this.context.metrics.gauge('snapshot_completed', 1);
    if (this.blocking !== null) this.blocking = null;
    else if (this.settings.snapshot.mode !== 'initial_only') this.openStream(snapshot.position, snapshot.flushed);
    return this.notifications.take();
  }

  /** Without a query of the user, a message in the log that needs no table: the server has something to send, and the slot moves. */
  private heartbeatStatement(): HeartbeatStatement<pg.Client> | null {
    const { settings, report } = this;
    const isWritable = report.serverVersion >= MODERN_SINCE && !report.isStandby;
    const query =
      settings.heartbeatQuery ??
      (isWritable ? `SELECT pg_logical_emit_message(false, '${HEARTBEAT_PREFIX}', '')` : null);
    if (query === null) return null;
    return {
      open: () => connect(settings, 'heartbeat'),
      run: client => client.query(query),
      end: client => client.end(),
    };
  }

  private offset(stream: ChangeStream): SourceOffset {
    const { position } = stream;
    const offset = toOffset(position);
    const own = { ...this.incremental.offset, ...this.signals?.offset };
    const prepared = stream.oldestPrepared;
    // The place of a snapshot is none of the log's: where the slot was there before, changes from before it are still to come.
    let flushed = position.lastCommit ?? (position.changesAtLsn > 0 ? position.lsn : this.flushed);
    if (this.flushed > flushed) flushed = this.flushed;
    if (prepared !== null && prepared < flushed) flushed = prepared;
    return { ...(flushed === (position.lastCommit ?? position.lsn) ? offset : idleOffset(offset, flushed)), ...own };
  }

  /** No record, but an offset: the server is told once that is stored. */
  private idleBatch(stream: ChangeStream, end: bigint): SourceBatch {
    this.flushed = end;
    const offset = this.offset(stream);
    this.lastOffset = offset;
    this.hasUncommitted = true;
    return offsetBatch(this.common.sourcePartition, offset);
  }

  private reportLag(batches: readonly SourceBatch[]): void {
    const newest = Math.max(...batches.map(batch => batch.sourceTimestampMs ?? 0));
    if (newest > 0) this.context.metrics.gauge('milliseconds_behind_source', Math.max(0, Date.now() - newest));
  }

  async commit(_partition: SourcePartition, offset: SourceOffset): Promise<void> {
    const last = this.lastOffset;
    if (last !== null && POSITION_KEYS.every(key => same(last[key], offset[key]))) {
      this.hasUncommitted = false;
    }
    this.incremental.commit(offset);
    const lsn = offset.lsn_flushed ?? offset.lsn_commit;
    if (typeof lsn === 'bigint' || typeof lsn === 'number') this.stream?.confirm(BigInt(lsn));
  }

  async stop(): Promise<void> {
    await this.snapshot?.close();
    await this.stream?.close();
    await this.incremental?.close();
    await this.signals?.close();
    await this.watch?.close();
    await this.heartbeats?.close();
    if (this.settings?.slot.dropOnStop && this.report) {
      const client = await connect(this.settings, 'stop');
      try {
        await dropSlot(client, this.settings.slot.name);
      } finally {
        await client.end();
      }
    }
  }
}

/** What tells two offsets apart. */
const POSITION_KEYS = [
  'lsn',
  'lsn_commit',
  'lsn_flushed',
  'lsn_events_processed',
  'snapshot_completed',
  'incremental_snapshot_collections',
  'incremental_snapshot_primary_key',
] as const;

const same = (a: unknown, b: unknown): boolean => String(a ?? '') === String(b ?? '');
