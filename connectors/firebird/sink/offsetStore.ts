/** The table of offsets of exactly-once delivery in Firebird: see `OffsetLedger`. */
import { ConnectError, type TopicPartition } from '../../../runtime/api/index.ts';
import type { Advance, LedgerRow, WantedOffset } from '../../shared/offsetLedger.ts';
import { OffsetsRefused, type SinkOffsets } from '../../shared/refusedOffsets.ts';
import type { TableName } from '../../shared/tableName.ts';
import { type Database, quoteText, type Transaction } from '../connection.ts';
import { isPrivilege, isThereAlready, reasonOf } from './firebirdFailure.ts';
import { tableSql } from './tableDdl.ts';

export type FirebirdOffsets = SinkOffsets<Database, OffsetStore>;

type StoredRow = {
  readonly TOPIC: unknown;
  readonly PART: unknown;
  readonly NEXT_OFFSET: unknown;
  readonly FENCE: unknown;
};

export class OffsetStore {
  readonly #connector: string;
  readonly #name: TableName;
  readonly table: string;

  constructor(connector: string, name: TableName) {
    this.#connector = connector;
    this.#name = name;
    this.table = tableSql(name);
  }

  async create(database: Database): Promise<void> {
    if (await this.#isThere(database)) return;
    // An index entry has a quarter of a page, 1 KiB at worst, in bytes.
    const sql = `create table ${this.table} (connector varchar(255) character set octets not null, topic varchar(249) character set ascii not null,
      part integer not null, next_offset bigint, fence bigint not null, updated_at timestamp, primary key (connector, topic, part))`;
    await database.queryAsync(sql).catch(async error => {
      if (isThereAlready(error)) {
        // Another task was faster; or it was a connection of ours that was lost, whose transaction is undone by and by.
        if (await this.#isThere(database)) return;
        throw new ConnectError('SINK_UNAVAILABLE', `${this.table} is being made: ${reasonOf(error)}`, {
          cause: error,
          retriable: true,
        });
      }
      if (!isPrivilege(error)) throw error;
      throw new ConnectError(
        'SINK_PRIVILEGE',
        `the user of the sink may not create ${this.table}, which delivery.guarantee=exactly-once keeps its offsets in; grant it CREATE TABLE, or create the table yourself and grant SELECT, INSERT and UPDATE`,
        { cause: error, place: { table: this.#name.table } },
      );
    });
  }

  async #isThere(database: Database): Promise<boolean> {
    const found = await database.queryAsync('select 1 there from rdb$relations where rdb$relation_name = ?', [
      this.#name.table,
    ]);
    return found.length > 0;
  }

  /** Raises the fences of the partitions. Waits for a transaction under way of a task before. */
  async claim(database: Database, partitions: readonly TopicPartition[]): Promise<readonly LedgerRow[]> {
    const rows = [...partitions].sort((a, b) => a.partition - b.partition);
    await inTransaction(database, async transaction => {
      for (const partition of rows) await transaction.queryAsync(this.#fenceSql(partition));
    });
    const stored = await this.read(database, partitions);
    return stored.filter(s => partitions.some(p => p.topic === s.topic && p.partition === s.partition));
  }

  async read(database: Database, topics: readonly { readonly topic: string }[]): Promise<readonly LedgerRow[]> {
    const names = [...new Set(topics.map(t => t.topic))].map(quoteText);
    const rows = await database.queryAsync<StoredRow>(
      `select trim(topic) topic, part, next_offset, fence from ${this.table} where connector = ${this.#connectorSql} and topic in (${names.join(', ')})`,
    );
    return rows.map(({ TOPIC, PART, NEXT_OFFSET, FENCE }) => ({
      topic: String(TOPIC),
      partition: Number(PART),
      nextOffset: NEXT_OFFSET === null ? null : Number(NEXT_OFFSET),
      fence: String(FENCE),
    }));
  }

  /** Moves partitions that are still held, and are where this task left them. Throws `OffsetsRefused`. */
  async moveIn(transaction: Transaction, advances: readonly Advance[]): Promise<void> {
    for (const { held, next } of advances) {
      // Only the count of a block tells: the client does not give the rows that a statement touched.
      const [moved] = await transaction.queryAsync<{ MOVED: unknown }>(
        `execute block returns (moved integer) as
         begin
           update ${this.table} set next_offset = ${next}, updated_at = current_timestamp where ${this.#keySql(held)}
             and fence = ${held.fence} and next_offset is not distinct from ${held.stored ?? 'null'};
           moved = row_count;
           suspend;
         end`,
      );
      if (Number(moved?.MOVED) !== 1) throw new OffsetsRefused();
    }
  }

  /** As a transaction of its own. Throws `OffsetsRefused`. */
  move(database: Database, advances: readonly Advance[]): Promise<void> {
    return inTransaction(database, transaction => this.moveIn(transaction, advances));
  }

  /** Over REST. Tasks that still run are fenced off. */
  async alter(database: Database, offsets: readonly WantedOffset[]): Promise<void> {
    await inTransaction(database, async transaction => {
      for (const wanted of offsets) await transaction.queryAsync(this.#fenceSql(wanted, wanted.offset));
    });
  }

  get #connectorSql(): string {
    return `x'${Buffer.from(this.#connector).toString('hex')}'`;
  }

  #keySql({ topic, partition }: TopicPartition): string {
    return `connector = ${this.#connectorSql} and topic = ${quoteText(topic)} and part = ${partition}`;
  }

  /** Raises the fence of a row, or makes it. Without `offset` its offset stays as it is. */
  #fenceSql(partition: TopicPartition, offset?: number | null): string {
    const value = offset ?? 'null';
    return `execute block as
      begin
        update ${this.table} set fence = fence + 1${offset === undefined ? '' : `, next_offset = ${value}`} where ${this.#keySql(partition)};
        if (row_count = 0) then
          insert into ${this.table} (connector, topic, part, next_offset, fence)
          values (${this.#connectorSql}, ${quoteText(partition.topic)}, ${partition.partition}, ${value}, 1);
      end`;
  }
}

async function inTransaction(database: Database, work: (transaction: Transaction) => Promise<void>): Promise<void> {
  const transaction = await database.transactionAsync();
  try {
    await work(transaction);
    await transaction.commitAsync();
  } catch (error) {
    await transaction.rollbackAsync().catch(() => {
      // The connection is lost, and with it the transaction.
    });
    throw error;
  }
}
