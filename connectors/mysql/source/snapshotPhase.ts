/** The initial snapshot: all rows of all captured tables as of one moment, as `r` events, and where the stream joins. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { ConnectError, type Logger, offsetBatch, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon, TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { TableName } from './catalog.ts';
import { connect, errnoOf, isOutage } from './connection.ts';
import { CHOICE, MARKER } from './envelope.ts';
import { formatPosition, type LogPosition, snapshotOffset } from './position.ts';
import type { SchemaChanges } from './schemaChanges.ts';
import { type SelectedRows, selectRows } from './selectRows.ts';
import { beginSnapshot } from './snapshotPoint.ts';
import { selectedWireRows, snapshotBatch } from './snapshotRows.ts';
import type { TableVersion } from './tableVersion.ts';
import type { TableVersions } from './tableVersions.ts';

export interface SnapshotOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: TableVersions;
  readonly tables: readonly TableName[];
  readonly schemaChanges: SchemaChanges | null;
  /**
   * From where the log follows, if not from the moment of the rows: where an earlier snapshot was begun whose rows are published in part. Of those, rows that
   * were deleted since would not be known as deleted.
   */
  readonly joinAt: LogPosition | null;
  /** Whether an offset tells that it is begun, before there are rows. */
  readonly isInitial: boolean;
  /** Called with each table that is read, and the number of its rows. */
  readonly onTableRead: (table: string, rows: number) => void;
}

export class SnapshotPhase {
  private readonly options: SnapshotOptions;
  private reader: Connection | null = null;
  private batches: AsyncGenerator<SourceBatch> | null = null;
  private join: LogPosition | null = null;
  private failure: { readonly error: unknown } | null = null;

  constructor(options: SnapshotOptions) {
    this.options = options;
  }

  /** Null after the last batch. After an error it gives that error again: rows are missing, only a new snapshot has them. */
  async next(): Promise<SourceBatch | null> {
    if (this.failure !== null) throw this.failure.error;
    try {
      this.batches ??= await this.begin();
      const { value, done } = await this.batches.next();
      if (!done) return value;
    } catch (error) {
      this.failure = { error };
      throw error;
    }
    this.options.logger.info({ position: formatPosition(this.join!) }, 'the snapshot is complete');
    return null;
  }

  private async begin(): Promise<AsyncGenerator<SourceBatch>> {
    const { settings, logger, signal, tables } = this.options;
    if (settings.snapshot.delayMs > 0) await delay(settings.snapshot.delayMs, undefined, { signal });
    logger.info({ tables: tables.length }, 'the snapshot begins');
    this.reader = await connect(settings, { isRaw: true });
    const point = await beginSnapshot(this.reader, settings, logger);
    this.join = this.options.joinAt ?? point;
    return this.read(this.reader, point, this.join);
  }

  /** Batches of all tables in order. The last one has the offset that says the snapshot is complete. */
  private async *read(reader: Connection, point: LogPosition, join: LogPosition): AsyncGenerator<SourceBatch> {
    const { settings, signal, tables, versions, schemaChanges, common } = this.options;
    if (this.options.isInitial) yield offsetBatch(common.sourcePartition, snapshotOffset(join, false));
    let schema: SourceBatch | null = null;
    if (schemaChanges !== null) {
      for await (const batch of schemaChanges.ofSnapshot(reader, point)) {
        if (schema !== null) yield schema;
        schema = { ...batch, sourceOffset: snapshotOffset(join, false) };
      }
    }
    let held: TableSourceBatch | null = null;
    let isFirst = true;
    for (const table of tables) {
      const version = await versions.fromCatalog(reader, table);
      if (version === null) continue;
      let isStart = true;
      let count = 0;
      try {
        for await (const rows of selectRows(reader, select(version, settings), settings.snapshot.fetchSize, signal)) {
          if (schema !== null) yield schema;
          schema = null;
          if (held !== null) yield held;
          const marker = !isStart ? MARKER.true : isFirst ? MARKER.first : MARKER.firstInCollection;
          held = this.batch(version, rows, marker, point, join);
          count += rows.count;
          isStart = false;
          isFirst = false;
        }
      } catch (error) {
        throw this.failed(error, version);
      }
      this.options.onTableRead(version.fullName, count);
      // The last row of a table says so, unless it is the first of all.
      if (!isStart && held !== null) mark(held, MARKER.lastInCollection);
    }
    if (schema !== null) yield { ...schemaChanges!.asLast(schema), sourceOffset: snapshotOffset(join, true) };
    if (held === null) return;
    held.wire.rows.choices[CHOICE.snapshot]![held.count - 1] = MARKER.last;
    held.sourceOffset = snapshotOffset(join, true);
    yield held;
  }

  private failed(error: unknown, version: TableVersion): unknown {
    if (this.options.signal.aborted || isOutage(error) || errnoOf(error) === 0) return error;
    return new ConnectError(
      'MYSQL_SNAPSHOT_FAILED',
      `The rows of ${version.fullName} could not be read: ${(error as Error).message}.`,
      {
        cause: error,
        // A table that was changed or dropped in between; the next snapshot sees it as it is now.
        retriable: [1054, 1146, 1205, 1213, 1412].includes(errnoOf(error)),
        place: { table: version.fullName },
      },
    );
  }

  private batch(
    version: TableVersion,
    rows: SelectedRows,
    marker: number,
    point: LogPosition,
    join: LogPosition,
  ): TableSourceBatch {
    const markers = new Uint8Array(rows.count);
    markers[0] = marker;
    const { file, position } = point;
    const origin = { file, position, tsUs: BigInt(point.seconds) * 1_000_000n, serverId: 0, gtid: null };
    const wire = selectedWireRows(rows, markers, origin);
    const batch = snapshotBatch(version, wire, rows.byteLength, origin, this.options.common);
    batch.sourceOffset = snapshotOffset(join, false);
    return batch;
  }

  /** Where the stream goes on, once the snapshot is complete. */
  get position(): LogPosition {
    return this.join!;
  }

  async close(): Promise<void> {
    await this.batches?.return(undefined).catch(() => {});
    this.reader?.destroy();
  }
}

function mark(batch: TableSourceBatch, marker: number): void {
  const markers = batch.wire.rows.choices[CHOICE.snapshot]!;
  const last = batch.count - 1;
  if (markers[last] !== MARKER.first) markers[last] = marker;
}

function select(version: TableVersion, settings: SourceSettings): string {
  const override = settings.snapshot.selects.get(version.fullName);
  const from =
    override === undefined
      ? `${quoteIdentifier(version.database)}.${quoteIdentifier(version.table)}`
      : `(${override.replace(/;\s*$/, '')}) AS t`;
  return `SELECT ${version.select.join(', ')} FROM ${from}`;
}
