/** The table of offsets of exactly-once delivery in PostgreSQL: see `OffsetLedger`. */
import type { Client } from 'pg';
import { ConnectError, type TopicPartition } from '../../../runtime/api/index.ts';
import type { Advance, LedgerRow, WantedOffset } from '../../shared/offsetLedger.ts';
import type { TableName } from '../../shared/tableName.ts';
import { isState } from './pgFailure.ts';
import { failedStatement, type Statement } from './script.ts';
import { tableSql } from './tableDdl.ts';

interface StoredRow {
  topic: string;
  partition: number;
  next_offset: string | null;
  fence: string;
}

const DIVISION_BY_ZERO = '22012';

export class OffsetStore {
  readonly #connector: string;
  readonly #name: TableName;
  readonly table: string;

  constructor(connector: string, name: TableName) {
    this.#connector = connector;
    this.#name = name;
    this.table = tableSql(name);
  }

  async create(client: Client): Promise<void> {
    const { rows } = await client.query<{ found: string | null }>('select to_regclass($1) as found', [this.table]);
    if (rows[0]!.found !== null) return;
    const sql = `create table if not exists ${this.table} (connector text, topic text, partition integer, next_offset bigint,
      fence bigint not null, updated_at timestamptz not null default now(), primary key (connector, topic, partition))`;
    await client.query(sql).catch(error => {
      // Another task was faster.
      if (isState(error, '42P07', '23505', 'XX000')) return;
      if (!isState(error, '42501')) throw error;
      throw new ConnectError(
        'SINK_PRIVILEGE',
        `the user of the sink may not create ${this.table}, which delivery.guarantee=exactly-once keeps its offsets in; grant it CREATE on the schema, or create the table yourself and grant SELECT, INSERT and UPDATE`,
        { cause: error, place: { table: this.#name.table } },
      );
    });
  }

  /** Raises the fences of the partitions. Waits for a transaction under way of a task before. */
  async claim(client: Client, partitions: readonly TopicPartition[]): Promise<readonly LedgerRow[]> {
    const { rows } = await client.query<StoredRow>(
      `insert into ${this.table} as o (connector, topic, partition, fence)
       select $1, topic, partition, 1 from unnest($2::text[], $3::int[]) as p(topic, partition) order by topic, partition
       on conflict (connector, topic, partition) do update set fence = o.fence + 1, updated_at = now()
       returning topic, partition, next_offset, fence`,
      [this.#connector, partitions.map(p => p.topic), partitions.map(p => p.partition)],
    );
    return rows.map(ledgerRow);
  }

  async read(client: Client, advances: readonly Advance[]): Promise<readonly LedgerRow[]> {
    const { rows } = await client.query<StoredRow>(
      `select topic, partition, next_offset, fence from ${this.table} where connector = $1 and topic = any($2)`,
      [this.#connector, advances.map(a => a.held.topic)],
    );
    return rows.map(ledgerRow);
  }

  /** The first statement of a transaction: it fails unless each partition is still held, and is where this task left it. */
  statement(advances: readonly Advance[]): Statement {
    const moves = advances.map(({ held, next }) => ({
      topic: held.topic,
      partition: held.partition,
      fence: held.fence,
      stored: held.stored,
      next_offset: next,
    }));
    const sql = `with moved as (
        update ${this.table} o set next_offset = m.next_offset, updated_at = now()
        from jsonb_to_recordset($1::text::jsonb) as m(topic text, partition int, fence bigint, stored bigint, next_offset bigint)
        where o.connector = $2::text and o.topic = m.topic and o.partition = m.partition and o.fence = m.fence
          and o.next_offset is not distinct from m.stored
        returning 1)
      select 1 / (count(*) = $3::text::int)::int from moved`;
    const params = [JSON.stringify(moves), this.#connector, String(moves.length)].map(text => Buffer.from(text));
    return { sql, params, copy: null };
  }

  /** Whether a transaction failed by that statement. */
  isRefusal(error: unknown): boolean {
    return isState(error, DIVISION_BY_ZERO) && failedStatement(error) === 0;
  }

  /** Tasks that still run are fenced off. */
  async alter(client: Client, offsets: readonly WantedOffset[]): Promise<void> {
    await client.query(
      `insert into ${this.table} as o (connector, topic, partition, next_offset, fence)
       select $1, topic, partition, next_offset, 1 from unnest($2::text[], $3::int[], $4::bigint[]) as p(topic, partition, next_offset)
       on conflict (connector, topic, partition) do update set next_offset = excluded.next_offset, fence = o.fence + 1, updated_at = now()`,
      [this.#connector, offsets.map(o => o.topic), offsets.map(o => o.partition), offsets.map(o => o.offset)],
    );
  }
}

const ledgerRow = ({ topic, partition, next_offset, fence }: StoredRow): LedgerRow => ({
  topic,
  partition,
  nextOffset: next_offset === null ? null : Number(next_offset),
  fence,
});
