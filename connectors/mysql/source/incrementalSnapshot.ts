/**
 * Incremental snapshots of MySQL and MariaDB, for which nothing is written to the server: a chunk is read as of one moment, and where the log stood then is known.
 * When the stream has come to that place, it has given all changes that the chunk may have missed.
 */
import type { Connection } from 'mysql2/promise';
import type { Logger, SourceBatch, SourceOffset } from '../../../runtime/api/index.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { Chunk, ChunkBounds, Key, NoChunk } from '../../shared/incrementalChunk.ts';
import {
  type BlockingRequest as Blocking,
  IncrementalSnapshot as Incremental,
  type NamedTable,
} from '../../shared/incrementalSnapshot.ts';
import type { Collection } from '../../shared/incrementalState.ts';
import type { Notifications } from '../../shared/notifications.ts';
import { rowKey } from '../../shared/rowKey.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { fullName, isSystemDatabase, listTables, type TableName } from './catalog.ts';
import type { StreamPlace } from './changeStream.ts';
import { chunkBounds } from './chunkBounds.ts';
import { isReached, readChunk } from './chunkReader.ts';
import { connect, isOutage } from './connection.ts';
import { MARKER, processingTime } from './envelope.ts';
import type { SelectedRows } from './selectRows.ts';
import { selectedWireRows, snapshotBatch } from './snapshotRows.ts';
import type { TableVersion } from './tableVersion.ts';
import type { TableVersions } from './tableVersions.ts';

export interface IncrementalOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: TableVersions;
  readonly notifications: Notifications;
}

export type BlockingRequest = Blocking<TableName>;

export class IncrementalSnapshot extends Incremental<TableName, StreamPlace | null, StreamPlace | null> {
  private readonly settings: SourceSettings;
  private readonly common: BatchCommon;
  private readonly versions: TableVersions;
  /** Those that nothing is read with at the moment. */
  private idle: Connection[] = [];
  private readonly open = new Set<Connection>();

  constructor(options: IncrementalOptions, stored: SourceOffset | null) {
    const { settings, common, logger, signal, versions, notifications } = options;
    const { signalTable, signalTopic, prefix, topicDelimiter, tables } = settings;
    super(
      {
        ...{ logger, signal, notifications },
        signalTopic: signalTable === null ? null : topicName(`${prefix}${topicDelimiter}${signalTable}`),
        isSignalPublished: signalTable !== null && tables(signalTable, signalTable.split('.')[0]!),
        hasSignals: signalTable !== null || signalTopic !== null,
        maxChunks: settings.maxChunks,
      },
      stored,
    );
    this.settings = settings;
    this.common = common;
    this.versions = versions;
  }

  /** One that fails is closed by its user or with the others. */
  private async using<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const { signal } = this.options;
    const connection = this.idle.pop() ?? (await connect(this.settings, { isRaw: true }));
    if (signal.aborted) connection.destroy();
    signal.throwIfAborted();
    this.open.add(connection);
    const result = await work(connection);
    if (this.open.has(connection)) this.idle.push(connection);
    return result;
  }

  protected override async tables(): Promise<readonly NamedTable<TableName>[]> {
    const { settings } = this;
    return (await this.using(listTables))
      .map(table => ({ id: fullName(table), table }))
      .filter(({ id, table: { database } }) => settings.tables(id, database) && id !== settings.signalTable);
  }

  protected override async bounds(
    collection: Collection,
    lastKey: Key | null,
    maximumKey: Key | null,
  ): Promise<ChunkBounds | NoChunk> {
    const table = tableOf(collection);
    if (isSystemDatabase(table.database)) {
      return { kind: 'none', why: "it is the server's own", status: 'UNKNOWN_SCHEMA' };
    }
    const request = { ...collection, table, lastKey, maximumKey };
    return this.using(connection => chunkBounds(connection, request, this.versions, this.settings));
  }

  protected override async read(
    collection: Collection,
    bounds: ChunkBounds,
    place: StreamPlace | null,
  ): Promise<Chunk<StreamPlace | null>> {
    if (place === null) return { kind: 'early' };
    const { settings, versions } = this;
    const { signal } = this.options;
    const request = { ...collection, table: tableOf(collection), bounds };
    const chunk = await this.using(connection => readChunk(connection, request, versions, settings, place, signal));
    if (chunk.kind !== 'rows') return chunk;
    const { version, rows, high } = chunk;
    return {
      kind: 'rows',
      rowCount: rows.reduce((sum, { count }) => sum + count, 0),
      byteLength: rows.reduce((sum, { byteLength }) => sum + byteLength, 0),
      isReached: now => now !== null && isReached(high, now),
      isLost: now => now?.session !== place.session,
      publish: (changed, now) =>
        rows.map(some => chunkBatch(version, some, changed, now!, this.common)).filter(batch => batch !== null),
    };
  }

  protected override isConnectionLoss(error: unknown): boolean {
    return isOutage(error);
  }

  protected override async closeClients(): Promise<void> {
    for (const connection of this.open) connection.destroy();
    this.open.clear();
    this.idle = [];
  }
}

function tableOf({ id }: Collection): TableName {
  const dot = id.indexOf('.');
  return { database: id.slice(0, dot), name: id.slice(dot + 1) };
}

/** Events of rows whose key is not among those; null where there are none. */
function chunkBatch(
  version: TableVersion,
  selected: SelectedRows,
  changed: ReadonlySet<string>,
  { file, position, gtid, serverId }: StreamPlace,
  common: BatchCommon,
): SourceBatch | null {
  const origin = { file, position, gtid, serverId, tsUs: processingTime()[1] };
  const markers = new Uint8Array(selected.count).fill(MARKER.incremental);
  const all = selectedWireRows(selected, markers, origin);
  const { positions } = selected;
  let count = 0;
  for (let i = 0; i < selected.count; i++) {
    const isKept = changed.size === 0 || !changed.has(rowKey(version.keySchema!, version.keyLayout!, all, i));
    if (isKept) positions[count++] = positions[i]!;
  }
  return count === 0 ? null : snapshotBatch(version, { ...all, count }, selected.byteLength, origin, common);
}
