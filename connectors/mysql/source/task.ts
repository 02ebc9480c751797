/** The one task of a MySQL or MariaDB source: checks, snapshot, stream, heartbeats. */
import type { Connection } from 'mysql2/promise';
import {
  type Config,
  ConnectError,
  offsetBatch,
  type SourceBatch,
  type SourceOffset,
  type SourceTask,
  type SourceTaskContext,
} from '../../../runtime/api/index.ts';
import { contextHeaders } from '../../shared/contextHeaders.ts';
import { topicName } from '../../shared/eventNames.ts';
import { type HeartbeatStatement, Heartbeats } from '../../shared/heartbeats.ts';
import { idle } from '../../shared/idle.ts';
import { Notifications, type NotificationType } from '../../shared/notifications.ts';
import { SignalTopic } from '../../shared/signalTopic.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { parseSettings, type SourceSettings } from '../config.ts';
import { blockingSettings } from './blockingSnapshot.ts';
import { fullName, isSystemDatabase, type TableName } from './catalog.ts';
import { ChangeStream } from './changeStream.ts';
import { connect, isOutage, sourceError } from './connection.ts';
import type { ConnectorName } from './envelope.ts';
import { type BlockingRequest, IncrementalSnapshot } from './incrementalSnapshot.ts';
import {
  formatPosition,
  type LogPosition,
  parseOffset,
  type StoredOffset,
  snapshotOffset,
  toOffset,
} from './position.ts';
import { type PreflightReport, preflight, preflightError } from './preflight.ts';
import { SchemaChanges } from './schemaChanges.ts';
import { SchemaHistory } from './schemaHistory.ts';
import { readLogEnd } from './server.ts';
import { type SnapshotOptions, SnapshotPhase } from './snapshotPhase.ts';
import { SnapshotStatistics } from './snapshotStatistics.ts';
import { StreamStatistics } from './streamStatistics.ts';
import { TableVersions } from './tableVersions.ts';

export class MysqlSourceTask implements SourceTask {
  private readonly connector: ConnectorName;
  private settings!: SourceSettings;
  private context!: SourceTaskContext;
  private common!: BatchCommon;
  private versions!: TableVersions;
  private schemaChanges: SchemaChanges | null = null;
  /** What goes out before the first changes. */
  private first: SourceBatch[] = [];
  private snapshot: SnapshotPhase | null = null;
  private snapshotStatistics: SnapshotStatistics | null = null;
  private statistics!: StreamStatistics;
  private stream: ChangeStream | null = null;
  private incremental!: IncrementalSnapshot;
  private signals: SignalTopic | null = null;
  private notifications!: Notifications;
  /** What asked for the snapshot that is being taken, while the stream waits. */
  private blocking: BlockingRequest | null = null;
  private heartbeats!: Heartbeats<Connection>;
  /** Changes or signals are lost that only a restart has again. */
  private failure: ConnectError | null = null;

  constructor(connector: ConnectorName) {
    this.connector = connector;
  }

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    const { settings, errors, warning } = parseSettings(config, this.connector);
    if (settings === null) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.settings = settings;
    this.context = context;
    if (warning !== null) context.logger.warn({}, warning);
    this.common = {
      sourcePartition: { server: settings.prefix },
      headers: settings.extendedHeaders ? contextHeaders(settings.prefix, context.taskId, settings.connector) : [],
    };
    this.versions = new TableVersions(settings);
    this.heartbeats = new Heartbeats(
      settings,
      this.common.sourcePartition,
      context.logger,
      heartbeatStatement(settings),
    );
    const { common, versions } = this;
    const { logger, signal } = context;
    const offset = await context.offsets.offset(common.sourcePartition);
    const stored = parseOffset(offset);
    const notifications = new Notifications(settings.notifications, settings.prefix, common.sourcePartition, logger);
    this.notifications = notifications;
    this.statistics = new StreamStatistics(context.metrics);
    this.incremental = new IncrementalSnapshot({ settings, common, logger, signal, versions, notifications }, offset);
    this.signals = await SignalTopic.open(context, settings.signalTopic, settings.prefix, offset);
    let client: Connection | null = null;
    try {
      client = await connect(settings);
      await this.prepare(client, stored);
    } catch (error) {
      throw sourceError(error, settings);
    } finally {
      await client?.end().catch(() => {});
    }
  }

  private async prepare(client: Connection, stored: StoredOffset): Promise<void> {
    const { settings, context } = this;
    const report = await preflight(client, settings, stored);
    if (report.problems.length > 0) throw preflightError(report.problems);
    for (const warning of report.warnings) context.logger.warn({}, warning);
    const history =
      settings.historyTopic === null || report.hasFullMetadata
        ? null
        : new SchemaHistory(topicName(settings.historyTopic), settings.prefix);
    if (settings.schemaChanges || history !== null) this.prepareSchemaChanges(history);
    const { mode } = settings.snapshot;
    const isDone = stored.state === 'streaming' && !(mode === 'when_needed' && !report.hasLog);
    if (isDone && mode === 'initial_only') {
      context.logger.info({}, 'the snapshot is complete and snapshot.mode is initial_only: nothing to do');
      return;
    }
    if (isDone && mode !== 'always') {
      if (!report.hasLog) throw purged(stored.position);
      const isMariaDb = this.connector === 'mariadb';
      await history?.recover(context, this.schemaChanges!.model, stored.position, isMariaDb);
      this.tell('SKIPPED');
      this.openStream(stored.position);
      return;
    }
    await history?.create(context);
    if (mode === 'no_data') {
      const end = await readLogEnd(client, this.connector === 'mariadb');
      if (end === null) return;
      for await (const batch of this.schemaChanges?.ofSnapshot(client, end) ?? []) this.first.push(batch);
      const last = this.first.pop();
      if (last !== undefined) this.first.push(this.schemaChanges!.asLast(last));
      this.first.push(offsetBatch(this.common.sourcePartition, snapshotOffset(end, true)));
      this.openStream(end);
      return;
    }
    const position = mode === 'initial_only' || stored.state === 'none' ? null : stored.position;
    this.takeSnapshot(report, this.joinable(position, report, history !== null));
  }

  private prepareSchemaChanges(history: SchemaHistory | null): void {
    const changes = new SchemaChanges(this.settings, this.common, this.context.logger, history);
    this.schemaChanges = changes;
    if (history !== null) this.versions.definition = table => changes.model.table(table);
  }

  /** Rows that were published before may have been deleted meanwhile: the log tells, if it is still there and can be read without a history. */
  private joinable(
    position: LogPosition | null,
    { hasLog }: PreflightReport,
    needsHistory: boolean,
  ): LogPosition | null {
    if (position === null || (hasLog && !needsHistory)) return position;
    this.context.logger.warn(
      { from: formatPosition(position) },
      `an earlier snapshot has published rows; those that were deleted since it began are not published as deleted, since ${hasLog ? 'the log before this snapshot cannot be read by the history of tables' : 'the server does not have the log from there on any more'}`,
    );
    return null;
  }

  private takeSnapshot(report: PreflightReport, joinAt: LogPosition | null): void {
    const tables = report.tables.filter(table => !isSystemDatabase(table.database));
    this.snapshot = this.newSnapshot(this.settings, tables, this.schemaChanges, { joinAt, isInitial: true });
    this.tell('STARTED');
  }

  private openStream(position: LogPosition): void {
    const { settings, context, common, versions, schemaChanges } = this;
    context.logger.info({ from: formatPosition(position) }, 'streaming begins');
    this.stream = new ChangeStream(
      { settings, common, versions, schemaChanges, logger: context.logger, signal: context.signal },
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
    if (this.first.length > 0) return this.first.splice(0);
    const { stream, incremental } = this;
    await this.followTopic();
    await incremental.advance(stream.place);
    const given = await this.changes(stream, incremental.isReady(stream.place) ? 0 : this.heartbeats.waitMs);
    const batches = await incremental.pass(given, stream.place).catch((error: unknown) => {
      throw this.failed(error);
    });
    batches.push(...this.notifications.take());
    const blocking = incremental.takeBlocking();
    if (blocking !== null) {
      // Until its rows are there no offset goes on: a restart meets the signal again.
      this.beginBlocking(blocking, stream);
      return batches;
    }
    if (batches.length > 0) (batches.at(-1) as { sourceOffset: SourceOffset }).sourceOffset = this.offset(stream);
    const heartbeat = await this.heartbeats.take(() => this.offset(stream));
    if (heartbeat !== null) batches.push(heartbeat);
    if (stream.isStopped) await this.endStream(stream);
    return batches;
  }

  private async changes(stream: ChangeStream, waitMs: number): Promise<readonly SourceBatch[]> {
    let given: readonly SourceBatch[] = [];
    try {
      given = await stream.next(waitMs);
    } finally {
      this.statistics.see(given, stream);
    }
    return given;
  }

  private async endStream(stream: ChangeStream): Promise<void> {
    const position = formatPosition(stream.position);
    this.context.logger.info({ position }, 'stop.at is reached: nothing more is published');
    this.context.metrics.gauge('stop_reached', 1);
    this.stream = null;
    await stream.close();
  }

  private offset(stream: ChangeStream): SourceOffset {
    return { ...toOffset(stream.position), ...this.incremental.offset, ...this.signals?.offset };
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
        if (isOutage(error)) throw this.failed(error);
        this.context.logger.error({ signal: signal.id, reason: String(error) }, 'a signal could not be followed');
      }
    }
  }

  private beginBlocking(request: BlockingRequest, stream: ChangeStream): void {
    const { logger } = this.context;
    const tables = request.tables.map(fullName).join(', ');
    logger.info({ signal: request.id, tables }, 'the stream waits for a snapshot');
    stream.rest();
    this.blocking = request;
    this.snapshot = this.newSnapshot(blockingSettings(this.settings, request), request.tables, null, {
      joinAt: null,
      isInitial: false,
    });
    this.tell('STARTED');
  }

  private tell(type: NotificationType, data: Readonly<Record<string, string>> = {}): void {
    this.notifications.tell({ aggregate: 'Initial Snapshot', type, id: this.blocking?.id ?? null, data });
  }

  private newSnapshot(
    settings: SourceSettings,
    tables: readonly TableName[],
    schemaChanges: SchemaChanges | null,
    join: Pick<SnapshotOptions, 'joinAt' | 'isInitial'>,
  ): SnapshotPhase {
    const { common, versions } = this;
    const { logger, signal, metrics } = this.context;
    // Those of snapshot.include.collection.list are read; the others are only streamed.
    const read = tables.filter(table => settings.snapshot.tables(fullName(table)));
    const statistics = new SnapshotStatistics(metrics, read.length);
    this.snapshotStatistics = statistics;
    const onTableRead = (table: string, rows: number): void => {
      statistics.tableRead();
      this.tell('TABLE_SCAN_COMPLETED', {
        data_collections: tables.map(fullName).join(','),
        scanned_collection: table,
        total_rows_scanned: String(rows),
        status: rows === 0 ? 'EMPTY' : 'SUCCEEDED',
      });
    };
    const what = { settings, common, versions, tables: read, schemaChanges };
    return new SnapshotPhase({ ...what, ...join, logger, signal, onTableRead });
  }

  private async pollSnapshot(snapshot: SnapshotPhase): Promise<readonly SourceBatch[]> {
    let batch: SourceBatch | null;
    try {
      batch = await snapshot.next();
    } catch (error) {
      if (this.context.signal.aborted) return [];
      const failure = sourceError(error, this.settings);
      this.snapshotStatistics?.end('aborted');
      // What a signal asks for may be wrong; that must not stop the stream.
      if (this.blocking === null || failure.retriable) throw failure;
      this.context.logger.error({ signal: this.blocking.id, reason: String(error) }, 'the snapshot is given up');
      this.tell('ABORTED');
      return await this.endSnapshot(snapshot);
    }
    if (batch !== null) {
      this.snapshotStatistics?.rowsRead(batch.count);
      if (this.blocking !== null) {
        const isLast = batch.sourceOffset?.snapshot_completed === true;
        (batch as { sourceOffset: SourceOffset | null }).sourceOffset = isLast ? this.offset(this.stream!) : null;
      }
      // In front: the offset of a batch is that of the poll.
      return [...this.notifications.take(), batch];
    }
    this.tell('COMPLETED');
    this.snapshotStatistics?.end('completed');
    return await this.endSnapshot(snapshot);
  }

  private async endSnapshot(snapshot: SnapshotPhase): Promise<readonly SourceBatch[]> {
    await snapshot.close();
    this.snapshot = null;
    if (this.blocking !== null) this.blocking = null;
    else if (this.settings.snapshot.mode !== 'initial_only') this.openStream(snapshot.position);
    return this.notifications.take();
  }

  async stop(): Promise<void> {
    await this.snapshot?.close();
    await this.stream?.close();
    await this.incremental?.close();
    await this.signals?.close();
    await this.heartbeats?.close();
  }
}

const purged = (position: LogPosition): ConnectError =>
  new ConnectError(
    'MYSQL_LOG_PURGED',
    `The server does not have the log behind ${formatPosition(position)} any more. Reset the offsets of the connector to read all rows again, or use snapshot.mode=when_needed.`,
  );

function heartbeatStatement(settings: SourceSettings): HeartbeatStatement<Connection> | null {
  const { heartbeatQuery } = settings;
  if (heartbeatQuery === null) return null;
  return {
    open: () => connect(settings),
    run: connection => connection.query(heartbeatQuery),
    end: async connection => connection.destroy(),
  };
}
