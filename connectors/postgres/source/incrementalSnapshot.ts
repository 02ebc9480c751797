/**
 * Incremental snapshots of PostgreSQL: after a chunk is read, a mark is written to the log. When the stream has come to it, it has given all changes that the
 * chunk may have missed (see chunkReader for why it is never older than what was published).
 */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
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
import { fullName, listTables, type TableName } from './catalog.ts';
import { type ChunkTable, chunkBounds, readChunk } from './chunkReader.ts';
import { connect, isConnectionLoss } from './connection.ts';
import type { CopiedRows } from './copyRows.ts';
import { processingTime, SNAPSHOT_MARKERS } from './envelope.ts';
import { MARK_PREFIX } from './ownMessages.ts';
import type { StreamPosition } from './position.ts';
import type { RelationVersions } from './relations.ts';
import { copiedWireRows, rowBatch } from './rowBatch.ts';
import { addPublicationTables } from './server.ts';
import type { TableVersion } from './tableVersion.ts';

export interface IncrementalOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: RelationVersions;
  readonly notifications: Notifications;
}

export type BlockingRequest = Blocking<TableName>;

/** The mark behind the batches given out last, if they end with one, and where the stream stands. */
export interface StreamPlace {
  readonly mark: string | null;
  readonly position: StreamPosition;
}

export class IncrementalSnapshot extends Incremental<TableName, Uint32Array, StreamPlace> {
  private readonly settings: SourceSettings;
  private readonly common: BatchCommon;
  private readonly versions: RelationVersions;
  private table: TableName | null = null;
  private client: pg.Client | null = null;

  constructor(options: IncrementalOptions, stored: SourceOffset | null) {
    const { settings, common, logger, signal, versions, notifications } = options;
    const { signalTable, signalTopic, prefix, topicDelimiter, tables } = settings;
    super(
      {
        ...{ logger, signal, notifications },
        signalTopic: signalTable === null ? null : topicName(`${prefix}${topicDelimiter}${signalTable}`),
        isSignalPublished: signalTable !== null && tables(signalTable, signalTable.split('.')[0]!),
        hasSignals: signalTable !== null || signalTopic !== null,
        // The mark of a chunk is to be the last one in the log.
        maxChunks: 1,
      },
      stored,
    );
    this.settings = settings;
    this.common = common;
    this.versions = versions;
  }

  private async connection(): Promise<pg.Client> {
    this.client ??= await connect(this.settings, 'incremental', { isRaw: true });
    return this.client;
  }

  private isCaptured(table: TableName): boolean {
    return this.settings.tables(fullName(table), table.schema);
  }

  protected override async tables(): Promise<readonly NamedTable<TableName>[]> {
    const { settings } = this;
    return (await listTables(await this.connection()))
      .filter(table => {
        const isRead = settings.publication.viaRoot ? !table.isPartition : table.kind === 'table';
        return isRead && this.isCaptured(table) && fullName(table) !== settings.signalTable;
      })
      .map(table => ({ id: fullName(table), table }));
  }

  /** Tables made since the start are not in the publication yet; their changes have to come before their rows are read. */
  protected override async prepareTables(): Promise<void> {
    const { autocreate, name } = this.settings.publication;
    if (autocreate !== 'filtered') return;
    const client = await this.connection();
    const published = (await listTables(client)).filter(
      table => this.isCaptured(table) || fullName(table) === this.settings.signalTable,
    );
    await addPublicationTables(client, name, published);
  }

  protected override async bounds(
    collection: Collection,
    lastKey: Key | null,
    maximumKey: Key | null,
  ): Promise<ChunkBounds | NoChunk> {
    const client = await this.connection();
    this.table ??= (await listTables(client)).find(table => fullName(table) === collection.id) ?? null;
    if (this.table === null) return { kind: 'none', why: 'it does not exist', status: 'UNKNOWN_SCHEMA' };
    const request = { ...this.chunkTable(this.table, collection), lastKey, maximumKey, size: this.settings.chunkSize };
    return chunkBounds(client, request, this.versions);
  }

  private chunkTable(table: TableName, { id, filter, surrogateKey }: Collection): ChunkTable {
    return { table, filter, surrogateKey, hasChosenKey: this.settings.keyColumns(id) !== null };
  }

  /** `published` are the transactions given out last. */
  protected override async read(
    collection: Collection,
    bounds: ChunkBounds,
    published: Uint32Array,
  ): Promise<Chunk<StreamPlace>> {
    const client = await this.connection();
    const request = { ...this.chunkTable(this.table!, collection), bounds, size: this.settings.chunkSize };
    const chunk = await readChunk(client, request, this.versions, published, this.options.signal);
    if (chunk.kind !== 'rows') return chunk;
    const id = randomUUID();
    await client.query('SELECT pg_logical_emit_message(true, $1, $2)', [MARK_PREFIX, id]);
    const { version, rows } = chunk;
    return {
      kind: 'rows',
      rowCount: rows.reduce((sum, { count }) => sum + count, 0),
      byteLength: rows.reduce((sum, { byteLength }) => sum + byteLength, 0),
      isReached: ({ mark }) => mark === id,
      publish: (changed, { position }) =>
        rows.map(some => chunkBatch(version, some, changed, position, this.common)).filter(batch => batch !== null),
    };
  }

  protected override forgetTable(): void {
    this.table = null;
  }

  protected override isConnectionLoss(error: unknown): boolean {
    return isConnectionLoss(error);
  }

  protected override async closeClients(): Promise<void> {
    const { client } = this;
    this.client = null;
    await client?.end().catch(() => {});
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
