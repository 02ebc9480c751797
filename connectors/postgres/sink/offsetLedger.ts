/**
 * How far a connector has written each topic partition, kept in the target and moved on in the transaction that writes the rows: what is written is
 * written once, whatever is killed. Whoever takes a partition raises its fence first; the transactions of a task that had it before then fail as a whole.
 */
import type { Client } from 'pg';
import { ConnectError, type SinkBatch, type TopicPartition } from '../../../runtime/api/index.ts';
import type { RowLog } from '../../shared/rowLog.ts';
import type { TableName } from '../../shared/tableName.ts';
import { isState } from './pgFailure.ts';
import { failedStatement, type Statement } from './script.ts';
import { tableSql } from './tableDdl.ts';

/** A partition that this task holds. */
interface Held {
  readonly topic: string;
  readonly partition: number;
  readonly fence: string;
  /** As in the table; null = nothing is written yet. */
  stored: number | null;
  /** Behind the last record that the task took. */
  taken: number;
}

/** What a transaction moves: each partition from where it is to where it will be. */
export interface Advance {
  readonly held: Held;
  readonly next: number;
}

interface LedgerRow {
  topic: string;
  partition: number;
  next_offset: string | null;
  fence: string;
}

const DIVISION_BY_ZERO = '22012';

export class OffsetLedger {
  readonly #connector: string;
  readonly #name: TableName;
  readonly #table: string;
  readonly #held = new Map<string, Held>();

  constructor(connector: string, name: TableName) {
    this.#connector = connector;
    this.#name = name;
    this.#table = tableSql(name);
  }

  async create(client: Client): Promise<void> {
    const { rows } = await client.query<{ found: string | null }>('select to_regclass($1) as found', [this.#table]);
    if (rows[0]!.found !== null) return;
    const sql = `create table if not exists ${this.#table} (connector text, topic text, partition integer, next_offset bigint,
      fence bigint not null, updated_at timestamptz not null default now(), primary key (connector, topic, partition))`;
    await client.query(sql).catch(error => {
      // Another task was faster.
      if (isState(error, '42P07', '23505', 'XX000')) return;
      if (!isState(error, '42501')) throw error;
      throw new ConnectError(
        'SINK_PRIVILEGE',
        `the user of the sink may not create ${this.#table}, which delivery.guarantee=exactly-once keeps its offsets in; grant it CREATE on the schema, or create the table yourself and grant SELECT, INSERT and UPDATE`,
        { cause: error, place: { table: this.#name.table } },
      );
    });
  }

  /** Makes the partitions this task's own, and gives the offsets to go on from where there are any. Waits for a transaction under way of a task before. */
  async claim(
    client: Client,
    partitions: readonly TopicPartition[],
  ): Promise<readonly (readonly [TopicPartition, number])[]> {
    const { rows } = await client.query<LedgerRow>(
      `insert into ${this.#table} as o (connector, topic, partition, fence)
       select $1, topic, partition, 1 from unnest($2::text[], $3::int[]) as p(topic, partition) order by topic, partition
       on conflict (connector, topic, partition) do update set fence = o.fence + 1, updated_at = now()
       returning topic, partition, next_offset, fence`,
      [this.#connector, partitions.map(p => p.topic), partitions.map(p => p.partition)],
    );
    return rows.flatMap(({ topic, partition, next_offset, fence }) => {
      const stored = next_offset === null ? null : Number(next_offset);
      this.#held.set(keyOf({ topic, partition }), { topic, partition, fence, stored, taken: stored ?? 0 });
      return stored === null ? [] : [[{ topic, partition }, stored] as const];
    });
  }

  release(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#held.delete(keyOf(partition));
  }

  /** The index of the first record that was not taken before; the batch counts as taken from now on. */
  take(batch: SinkBatch): number {
    const held = this.#heldBy(batch);
    const from = held.taken;
    held.taken = Math.max(from, batch.offset(batch.count - 1) + 1);
    let [low, high] = [0, batch.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (batch.offset(middle) < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Behind the last row of each partition in the range. */
  advanceOf(log: RowLog, from: number, to: number): readonly Advance[] {
    const advances = new Map<Held, number>();
    for (let row = to - 1, seen = -1; row >= from; row--) {
      const origin = log.originIds[row]!;
      if (origin === seen) continue;
      seen = origin;
      const batch = log.origins[origin] as SinkBatch;
      const held = this.#heldBy(batch);
      const next = batch.offset(log.originIndexes[row]!) + 1;
      advances.set(held, Math.max(next, advances.get(held) ?? 0));
    }
    return [...advances].map(([held, next]) => ({ held, next }));
  }

  /** Up to positions behind records that gave no rows. */
  advanceTo(positions: ReadonlyMap<TopicPartition, number>): readonly Advance[] {
    return [...positions].flatMap(([partition, next]) => {
      const held = this.#held.get(keyOf(partition));
      return held === undefined || next <= (held.stored ?? 0) ? [] : [{ held, next }];
    });
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
        update ${this.#table} o set next_offset = m.next_offset, updated_at = now()
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

  /** After a refusal: returns if the same transaction was committed before, when its connection was lost; throws SINK_FENCED if another task has a partition. */
  async checkCommitted(client: Client, advances: readonly Advance[]): Promise<void> {
    const { rows } = await client.query<LedgerRow>(
      `select topic, partition, next_offset, fence from ${this.#table} where connector = $1 and topic = any($2)`,
      [this.#connector, advances.map(a => a.held.topic)],
    );
    for (const { held, next } of advances) {
      const row = rows.find(r => r.topic === held.topic && r.partition === held.partition);
      if (row?.fence === held.fence && Number(row.next_offset) === next) continue;
      const { topic, partition } = held;
      throw new ConnectError(
        'SINK_FENCED',
        `another task of connector ${this.#connector} writes partition ${topic}-${partition} now, or its offset in ${this.#table} was changed; nothing was written, and the task starts again from what is stored there`,
        { place: { topic, partition } },
      );
    }
  }

  committed(advances: readonly Advance[]): void {
    for (const { held, next } of advances) held.stored = next;
  }

  /** Over REST: null = from the beginning, as if nothing was ever written. Tasks that still run are fenced off. */
  async alter(
    client: Client,
    offsets: readonly { topic: string; partition: number; offset: number | null }[],
  ): Promise<void> {
    await client.query(
      `insert into ${this.#table} as o (connector, topic, partition, next_offset, fence)
       select $1, topic, partition, next_offset, 1 from unnest($2::text[], $3::int[], $4::bigint[]) as p(topic, partition, next_offset)
       on conflict (connector, topic, partition) do update set next_offset = excluded.next_offset, fence = o.fence + 1, updated_at = now()`,
      [this.#connector, offsets.map(o => o.topic), offsets.map(o => o.partition), offsets.map(o => o.offset)],
    );
  }

  #heldBy({ topic, partition }: TopicPartition): Held {
    const held = this.#held.get(keyOf({ topic, partition }));
    if (held) return held;
    throw new ConnectError('TASK_FAILED', `partition ${topic}-${partition} was put without being opened; report it`);
  }
}

const keyOf = ({ topic, partition }: TopicPartition): string => `${partition}:${topic}`;
