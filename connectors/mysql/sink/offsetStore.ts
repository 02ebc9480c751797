/** The table of offsets of exactly-once delivery in MySQL: see `OffsetLedger`. */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { ConnectError, type TopicPartition } from '../../../runtime/api/index.ts';
import type { Advance, LedgerRow, WantedOffset } from '../../shared/offsetLedger.ts';
import { OffsetsRefused, type SinkOffsets } from '../../shared/refusedOffsets.ts';
import type { TableName } from '../../shared/tableName.ts';
import { quoteText } from './catalog.ts';
import { isErrno, isPrivilegeError } from './mysqlFailure.ts';
import { tableSql } from './tableDdl.ts';

export type MysqlOffsets = SinkOffsets<Connection, OffsetStore>;

type StoredRow = RowDataPacket & { topic: string; partition: number; next_offset: string | null; fence: string };

const ALREADY_EXISTS = 1050;

export class OffsetStore {
  readonly #connector: string;
  readonly #name: TableName;
  readonly table: string;

  constructor(connector: string, name: TableName) {
    this.#connector = connector;
    this.#name = name;
    this.table = tableSql(name);
  }

  async create(connection: Connection): Promise<void> {
    const [found] = await connection.query<RowDataPacket[]>(
      'select 1 from information_schema.tables where table_schema = coalesce(?, database()) and table_name = ?',
      [this.#name.schema, this.#name.table],
    );
    if (found.length > 0) return;
    const sql = `create table if not exists ${this.table} (connector varchar(255) character set utf8mb4 collate utf8mb4_bin not null,
      topic varchar(249) character set ascii collate ascii_bin not null, \`partition\` int not null, next_offset bigint, fence bigint not null,
      updated_at timestamp(3) not null default current_timestamp(3) on update current_timestamp(3), primary key (connector, topic, \`partition\`)) engine = InnoDB`;
    await connection.query(sql).catch(error => {
      // Another task was faster.
      if (isErrno(error, ALREADY_EXISTS)) return;
      if (!isPrivilegeError(error)) throw error;
      throw new ConnectError(
        'SINK_PRIVILEGE',
        `the user of the sink may not create ${this.table}, which delivery.guarantee=exactly-once keeps its offsets in; grant it CREATE on the database, or create the table yourself and grant SELECT, INSERT and UPDATE`,
        { cause: error, place: { table: this.#name.table } },
      );
    });
  }

  /** Raises the fences of the partitions. Waits for a transaction under way of a task before. */
  async claim(connection: Connection, partitions: readonly TopicPartition[]): Promise<readonly LedgerRow[]> {
    const rows = [...partitions].sort((a, b) => a.partition - b.partition);
    await connection.query(
      `insert into ${this.table} (connector, topic, \`partition\`, fence) values ? on duplicate key update fence = fence + 1`,
      [rows.map(p => [this.#connector, p.topic, p.partition, 1])],
    );
    const stored = await this.read(connection, partitions);
    return stored.filter(s => partitions.some(p => p.topic === s.topic && p.partition === s.partition));
  }

  async read(connection: Connection, topics: readonly { readonly topic: string }[]): Promise<readonly LedgerRow[]> {
    const [rows] = await connection.query<StoredRow[]>(
      `select topic, \`partition\` as \`partition\`, next_offset, fence from ${this.table} where connector = ? and topic in (?)`,
      [this.#connector, topics.map(t => t.topic)],
    );
    return rows.map(({ topic, partition, next_offset, fence }) => ({
      topic,
      partition,
      nextOffset: next_offset === null ? null : Number(next_offset),
      fence: String(fence),
    }));
  }

  /** Moves one partition; hits one row if it is still held, and is where this task left it. */
  moveSql({ held, next }: Advance): string {
    return `update ${this.table} set next_offset = ${next} where connector = ${quoteText(this.#connector)} and topic = ${quoteText(held.topic)} and \`partition\` = ${held.partition} and fence = ${held.fence} and next_offset <=> ${held.stored ?? 'null'}`;
  }

  /** As a transaction of its own. Throws `OffsetsRefused`. */
  async move(connection: Connection, advances: readonly Advance[]): Promise<void> {
    await connection.query('start transaction');
    try {
      for (const advance of advances) {
        const [result] = await connection.query<ResultSetHeader>(this.moveSql(advance));
        if (result.affectedRows !== 1) throw new OffsetsRefused();
      }
      await connection.query('commit');
    } catch (error) {
      await connection.query('rollback').catch(() => {
        // The connection is lost, and the transaction with it; the error that matters is the one above.
      });
      throw error;
    }
  }

  /** Over REST. Tasks that still run are fenced off. */
  async alter(connection: Connection, offsets: readonly WantedOffset[]): Promise<void> {
    if (offsets.length === 0) return;
    await connection.query(
      `insert into ${this.table} (connector, topic, \`partition\`, next_offset, fence) values ?
       on duplicate key update next_offset = values(next_offset), fence = fence + 1`,
      [offsets.map(o => [this.#connector, o.topic, o.partition, o.offset, 1])],
    );
  }
}
