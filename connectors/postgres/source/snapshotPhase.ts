/**
 * From the start of a task to its stream: slot, snapshot, and where the stream joins. A slot made here stays, even if the snapshot does not complete: the
 * next one is taken beside it, and the changes since the first follow. Only they delete a row that was published and is in no later snapshot.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger, SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import type { TableName } from './catalog.ts';
import { connect } from './connection.ts';
import type { StreamPosition } from './position.ts';
import type { RelationVersions } from './relations.ts';
import { createSlot, dropSlot } from './server.ts';
import { beginSnapshot, exportSnapshot, type SnapshotPoint, snapshotBatches } from './snapshot.ts';

export interface SnapshotOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: RelationVersions;
  readonly serverVersion: number;
  readonly tables: readonly TableName[];
  /** Up to where the slot that is there was told that its log is not needed: it sends what came after; null = there is no slot. */
  readonly slotFlushed: bigint | null;
  readonly onTableRead: (table: string, rows: number) => void;
}

export class SnapshotPhase {
  private readonly options: SnapshotOptions;
  /** Where to stream from, for a snapshot that is taken although there is a position. */
  private readonly stored: StreamPosition | null;
  private replication: pg.Client | null = null;
  private readonly readers: pg.Client[] = [];
  private batches: AsyncGenerator<SourceBatch> | null = null;
  private point: SnapshotPoint | null = null;
  private hasOwnSlot = false;
  private hasGivenRows = false;
  private failure: { readonly error: unknown } | null = null;

  constructor(options: SnapshotOptions, stored: StreamPosition | null) {
    this.options = options;
    this.stored = stored;
  }

  /** Null after the last batch. After an error it gives that error again: rows are missing, only a new snapshot has them. */
  async next(): Promise<SourceBatch | null> {
    if (this.failure !== null) throw this.failure.error;
    try {
      this.batches ??= await this.begin();
      const { value, done } = await this.batches.next();
      if (!done) {
        this.hasGivenRows = true;
        return value;
      }
    } catch (error) {
      this.failure = { error };
      throw error;
    }
    this.hasOwnSlot = false;
    this.options.logger.info({ lsn: String(this.point!.lsn) }, 'the snapshot is complete');
    return null;
  }

  private async begin(): Promise<AsyncGenerator<SourceBatch>> {
    const { settings, logger, signal, tables } = this.options;
    if (settings.snapshot.delayMs > 0) await delay(settings.snapshot.delayMs, undefined, { signal });
    logger.info({ tables: tables.length }, 'the snapshot begins');
    let snapshotName: string | null = null;
    let consistentPoint: bigint | null = null;
    if (this.options.slotFlushed === null && settings.snapshot.mode !== 'initial_only') {
      this.replication = await connect(settings, 'slot', { replication: true });
      ({ snapshotName, consistentPoint } = await createSlot(
        this.replication,
        this.options.serverVersion,
        settings,
        true,
      ));
      this.hasOwnSlot = true;
    }
    const first = await this.openReader();
    this.point = await beginSnapshot(first, snapshotName, consistentPoint);
    const { threads } = settings.snapshot;
    if (threads > 1) snapshotName ??= await exportSnapshot(first);
    while (this.readers.length < threads) await beginSnapshot(await this.openReader(), snapshotName, consistentPoint);
    const { point } = this;
    return snapshotBatches(this.readers, { ...this.options, point, flushed: this.flushed });
  }

  private async openReader(): Promise<pg.Client> {
    const reader = await connect(this.options.settings, 'snapshot', { isRaw: true });
    this.readers.push(reader);
    return reader;
  }

  /** Where the stream goes on, once the snapshot is complete. */
  get position(): StreamPosition {
    if (this.stored !== null) return this.stored;
    const { lsn, txId, tsUs } = this.point!;
    return { lastCommit: null, lsn, changesAtLsn: 0, txId, tsUs };
  }

  /** Up to where the server was told that the log is not needed: before the rows, where the slot is of an earlier snapshot that was broken off. */
  get flushed(): bigint {
    return this.options.slotFlushed ?? this.point!.lsn;
  }

  async close(): Promise<void> {
    await this.batches?.return(undefined).catch(() => {});
    for (const reader of this.readers) await reader.end().catch(() => {});
    await this.replication?.end().catch(() => {});
    if (this.hasOwnSlot && !this.hasGivenRows) {
      // Nobody needs it yet, and it keeps WAL.
      this.hasOwnSlot = false;
      const client = await connect(this.options.settings, 'stop');
      try {
        await dropSlot(client, this.options.settings.slot.name);
      } finally {
        await client.end();
      }
    }
  }
}
