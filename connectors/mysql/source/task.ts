/** The one task of a MySQL or MariaDB source: checks, snapshot, stream, heartbeats. */
import type { Connection } from 'mysql2/promise';
import {
  type Config,
  ConnectError,
  type SourceBatch,
  type SourceOffset,
  type SourceTask,
  type SourceTaskContext,
} from '../../../runtime/api/index.ts';
import { contextHeaders } from '../../shared/contextHeaders.ts';
import { heartbeatBatch } from '../../shared/heartbeatBatch.ts';
import { idle } from '../../shared/idle.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { parseSettings, type SourceSettings } from '../config.ts';
import { isSystemDatabase } from './catalog.ts';
import { ChangeStream } from './changeStream.ts';
import { connect, sourceError } from './connection.ts';
import type { ConnectorName } from './envelope.ts';
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
import { readLogEnd } from './server.ts';
import { SnapshotPhase } from './snapshotPhase.ts';
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
  private stream: ChangeStream | null = null;
  private nextHeartbeatMs = 0;
  private client: Connection | null = null;

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
    if (settings.schemaChanges) this.schemaChanges = new SchemaChanges(settings, this.common, context.logger);
    this.nextHeartbeatMs = Date.now() + settings.heartbeatIntervalMs;
    const stored = parseOffset(await context.offsets.offset(this.common.sourcePartition));
    try {
      this.client = await connect(settings);
      await this.prepare(this.client, stored);
    } catch (error) {
      throw sourceError(error, settings);
    } finally {
      await this.client?.end().catch(() => {});
      this.client = null;
    }
  }

  private async prepare(client: Connection, stored: StoredOffset): Promise<void> {
    const { settings, context } = this;
    const report = await preflight(client, settings, stored);
    if (report.problems.length > 0) throw preflightError(report.problems);
    for (const warning of report.warnings) context.logger.warn({}, warning);
    const { mode } = settings.snapshot;
    const isDone = stored.state === 'streaming' && !(mode === 'when_needed' && !report.hasLog);
    if (isDone && mode === 'initial_only') {
      context.logger.info({}, 'the snapshot is complete and snapshot.mode is initial_only: nothing to do');
      return;
    }
    if (isDone && mode !== 'always') {
      if (!report.hasLog) throw purged(stored.position);
      this.openStream(stored.position);
      return;
    }
    if (mode === 'no_data') {
      const end = await readLogEnd(client, this.connector === 'mariadb');
      if (end === null) return;
      for await (const batch of this.schemaChanges?.ofSnapshot(client, end, true) ?? []) {
        this.first.push({ ...batch, sourceOffset: snapshotOffset(end, true) });
      }
      this.openStream(end);
      return;
    }
    this.takeSnapshot(report);
  }

  private takeSnapshot(report: PreflightReport): void {
    const { settings, context, common, versions, schemaChanges } = this;
    const tables = report.tables.filter(table => !isSystemDatabase(table.database));
    this.snapshot = new SnapshotPhase({
      settings,
      common,
      versions,
      tables,
      schemaChanges,
      logger: context.logger,
      signal: context.signal,
    });
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
    if (this.snapshot !== null) return await this.pollSnapshot(this.snapshot);
    if (this.stream === null) {
      await idle(this.settings.pollIntervalMs, this.context.signal);
      return [];
    }
    if (this.first.length > 0) return this.first.splice(0);
    const batches = await this.stream.next(this.waitMs());
    if (batches.length > 0) {
      (batches.at(-1) as { sourceOffset: SourceOffset }).sourceOffset = toOffset(this.stream.position);
    }
    if (this.settings.heartbeatIntervalMs > 0 && Date.now() >= this.nextHeartbeatMs)
      batches.push(await this.heartbeat(this.stream));
    if (batches.length > 0) this.reportLag(batches);
    this.context.metrics.gauge('connected', this.stream.isConnected ? 1 : 0);
    return batches;
  }

  private async pollSnapshot(snapshot: SnapshotPhase): Promise<readonly SourceBatch[]> {
    let batch: SourceBatch | null;
    try {
      batch = await snapshot.next();
    } catch (error) {
      if (this.context.signal.aborted) return [];
      throw sourceError(error, this.settings);
    }
    if (batch !== null) {
      this.context.metrics.gauge('snapshot_running', 1);
      this.context.metrics.count('rows_scanned', batch.count);
      return [batch];
    }
    const { position } = snapshot;
    await snapshot.close();
    this.snapshot = null;
    this.context.metrics.gauge('snapshot_running', 0);
    this.context.metrics.gauge('snapshot_completed', 1);
    if (this.settings.snapshot.mode !== 'initial_only') this.openStream(position);
    return [];
  }

  private waitMs(): number {
    const { pollIntervalMs, heartbeatIntervalMs } = this.settings;
    return heartbeatIntervalMs === 0
      ? pollIntervalMs
      : Math.max(0, Math.min(pollIntervalMs, this.nextHeartbeatMs - Date.now()));
  }

  private async heartbeat(stream: ChangeStream): Promise<SourceBatch> {
    const { settings, context } = this;
    this.nextHeartbeatMs = Date.now() + settings.heartbeatIntervalMs;
    if (settings.heartbeatQuery !== null) {
      try {
        this.client ??= await connect(settings);
        await this.client.query(settings.heartbeatQuery);
      } catch (error) {
        // The stream itself notices a lost server; a query that fails must not stop it.
        context.logger.warn({ reason: String(error) }, 'heartbeat.action.query failed');
        this.client?.destroy();
        this.client = null;
      }
    }
    return heartbeatBatch(
      settings.heartbeatTopic,
      settings.prefix,
      this.common.sourcePartition,
      toOffset(stream.position),
    );
  }

  private reportLag(batches: readonly SourceBatch[]): void {
    const newest = Math.max(...batches.map(batch => batch.sourceTimestampMs ?? 0));
    if (newest > 0) this.context.metrics.gauge('milliseconds_behind_source', Math.max(0, Date.now() - newest));
  }

  async stop(): Promise<void> {
    await this.snapshot?.close();
    await this.stream?.close();
    await this.client?.end().catch(() => {});
  }
}

const purged = (position: LogPosition): ConnectError =>
  new ConnectError(
    'MYSQL_LOG_PURGED',
    `The server does not have the log behind ${formatPosition(position)} any more. Reset the offsets of the connector to read all rows again, or use snapshot.mode=when_needed.`,
  );
