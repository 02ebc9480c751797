/**
 * The initial snapshot: all rows of all captured tables in one SNAPSHOT transaction, and which transactions that has seen. The journal has no
 * position that a snapshot could be taken at; but the server tells for each transaction whether it had committed when the snapshot began (commit
 * numbers, Firebird 4). So the stream starts in the past and leaves out what the snapshot has seen: no gap, and nothing twice.
 */
import type { Readable } from 'node:stream';
import type { SourceBatch, SourceOffset } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { type Database, quoteName, snapshotTransaction, type Transaction } from '../connection.ts';
import type { TableHistory } from '../journal/tableHistory.ts';
import { type Catalog, readCatalog } from './catalog.ts';
import { MARKER, OPERATION } from './envelope.ts';
import type { SnapshotView } from './position.ts';
import { RowBuffer } from './rowBuffer.ts';
import { TableBatches, type TransactionStamp } from './tableBatch.ts';
import { type TableVersion, TableVersions } from './tableVersion.ts';

const BATCH_BYTES = 4 << 20;
const SNAPSHOT = -1n;

type Row = Readonly<Record<string, unknown>>;

export class Snapshot {
  readonly catalog: Catalog;
  readonly view: SnapshotView;
  /** The segment that was written before it began: what it has not seen commits there or later. */
  readonly sequence: number;
  readonly #transaction: Transaction;
  readonly #tsMs = BigInt(Date.now());

  private constructor(transaction: Transaction, catalog: Catalog, view: SnapshotView, sequence: number) {
    this.#transaction = transaction;
    this.catalog = catalog;
    this.view = view;
    this.sequence = sequence;
  }

  static async begin(database: Database): Promise<Snapshot> {
    // Whatever is below it has ended before the snapshot begins.
    const [before] = await database.queryAsync<Row>(
      `select mon$oldest_active oat, rdb$get_context('SYSTEM', 'REPLICATION_SEQUENCE') seq from mon$database`,
    );
    const transaction = await database.transactionAsync({
      ...snapshotTransaction(),
    });
    try {
      const oldest = BigInt(String(before!.OAT));
      // A number above the snapshot's own is a commit after it; below 1 it is still open (dead ones, -2, never commit).
      const unseen = await transaction.queryAsync<Row>(
        `execute block returns (tnx bigint, own bigint) as
           declare cn bigint;
           declare seen bigint;
         begin
           own = current_transaction;
           seen = cast(rdb$get_context('SYSTEM', 'SNAPSHOT_NUMBER') as bigint);
           tnx = ${oldest};
           while (tnx < own) do
           begin
             cn = rdb$get_transaction_cn(tnx);
             if (cn is null or cn > seen or cn in (0, -1)) then suspend;
             tnx = tnx + 1;
           end
           tnx = own;
           suspend;
         end`,
      );
      const own = Number(unseen.at(-1)!.OWN);
      const view = { tnx: own, unseen: unseen.slice(0, -1).map(row => Number(row.TNX)) };
      return new Snapshot(transaction, await readCatalog(database, transaction), view, Number(before!.SEQ ?? 0));
    } catch (error) {
      await transaction.rollbackAsync().catch(() => {});
      throw error;
    }
  }

  /** The rows, table by table. Each batch has the offset that says the snapshot is begun, and is valid until the next one. */
  async *batches(
    tables: TableHistory,
    settings: SourceSettings,
    common: BatchCommon,
    offset: SourceOffset,
    signal: AbortSignal,
  ): AsyncGenerator<SourceBatch> {
    const rows = new RowBuffer();
    const batches = new TableBatches(common);
    const versions = new TableVersions(settings);
    const stamp = { tsMs: this.#tsMs, tnx: BigInt(this.view.tnx), segment: SNAPSHOT, offset: SNAPSHOT };
    const take = function* (): Generator<SourceBatch> {
      for (const batch of batches.take(rows.bytes)) {
        (batch as { sourceOffset: SourceOffset }).sourceOffset = offset;
        yield batch;
      }
      rows.reset();
    };
    for (const table of tables.tables.values()) {
      if (!versions.includes(table.name) || !settings.snapshotTables(table.name)) continue;
      const version = versions.of(table.currentLayout());
      let count = 0;
      for await (const row of this.#rows(version, settings.fetchSize)) {
        signal.throwIfAborted();
        await this.#add(row, version, rows, batches, stamp, settings);
        if (++count % settings.fetchSize === 0 || rows.length >= BATCH_BYTES) yield* take();
      }
      yield* take();
    }
  }

  #rows(version: TableVersion, fetchSize: number): AsyncIterable<readonly unknown[]> {
    const columns = version.columns.map(({ column, type }) => type.select(quoteName(column.name)));
    const sql = `select ${columns.length === 0 ? '1' : columns.join(', ')} from ${quoteName(version.table)}`;
    return this.#transaction.queryStream(sql, [], {
      asObject: false,
      highWaterMark: Math.min(fetchSize, 500),
    }) as Readable;
  }

  async #add(
    row: readonly unknown[],
    version: TableVersion,
    rows: RowBuffer,
    batches: TableBatches,
    stamp: TransactionStamp,
    settings: SourceSettings,
  ): Promise<void> {
    const from = rows.length;
    const position = rows.begin(version.columns.length);
    for (const [i, { column, type }] of version.columns.entries()) {
      const value = row[i];
      try {
        if (value === null || value === undefined) rows.null();
        else if (type.blob === undefined) type.writeSelected(rows, value);
        else if (!settings.dumpsBlobs) rows.text(settings.placeholder);
        else type.writeSelected(rows, await this.#blob(value));
      } catch (error) {
        if (error instanceof ConnectError) throw error.at({ table: version.table, column: column.name });
        throw new ConnectError('FB_VALUE_INVALID', `${String(value)}: ${(error as Error).message}.`, {
          cause: error,
          place: { table: version.table, column: column.name },
        });
      }
    }
    const size = rows.length - from;
    batches.of(version, false).add(OPERATION.r, -1, position, position, size, stamp, MARKER.true, false);
  }

  /** The client gives a function that reads the blob. */
  #blob(value: unknown): Promise<Buffer> | Buffer | string {
    if (typeof value !== 'function') return value as Buffer | string;
    return new Promise((resolve, reject) => {
      value(this.#transaction, (error: unknown, _name: string, events: NodeJS.EventEmitter) => {
        if (error) {
          reject(error as Error);
          return;
        }
        const parts: Buffer[] = [];
        events.on('data', (part: Buffer) => parts.push(part));
        events.once('error', reject);
        events.once('end', () => resolve(Buffer.concat(parts)));
      });
    });
  }

  async end(): Promise<void> {
    await this.#transaction.rollbackAsync().catch(() => {});
  }
}
