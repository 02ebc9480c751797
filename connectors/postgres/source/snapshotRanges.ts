/** What a reader of a snapshot reads at a time: a table, or a range of blocks of a large one. */
import type pg from 'pg';
import type { SourceSettings } from '../config.ts';
import { fullName, type TableName } from './catalog.ts';

/** From PostgreSQL 14 on the server reads a range of blocks without looking at the others. */
const RANGES_SINCE = 140000;
/** 16 MiB: short enough that readers end at about the same time, long enough that a statement costs nothing beside it. */
const RANGE_BLOCKS = 2048;

export interface SnapshotRange {
  /** Index of the table. */
  readonly table: number;
  /** A condition on the rows; null = all. */
  readonly where: string | null;
}

/** In order of the tables. One reader reads whole tables. */
export async function snapshotRanges(
  client: pg.Client,
  tables: readonly TableName[],
  settings: SourceSettings,
  serverVersion: number,
  readers: number,
): Promise<SnapshotRange[]> {
  const isSplit = readers > 1 && serverVersion >= RANGES_SINCE && tables.length > 0;
  const blocks = isSplit ? await blockCounts(client, tables) : new Map<number, number>();
  return tables.flatMap((table, index) => {
    const count = settings.snapshot.selects.has(fullName(table)) ? 0 : (blocks.get(table.oid) ?? 0);
    const ranges: SnapshotRange[] = [];
    for (let from = 0; from + RANGE_BLOCKS < count; from += RANGE_BLOCKS) {
      ranges.push({ table: index, where: `ctid >= '(${from},0)' AND ctid < '(${from + RANGE_BLOCKS},0)'` });
    }
    const rest = ranges.length === 0 ? null : `ctid >= '(${ranges.length * RANGE_BLOCKS},0)'`;
    return [...ranges, { table: index, where: rest }];
  });
}

async function blockCounts(client: pg.Client, tables: readonly TableName[]): Promise<Map<number, number>> {
  const oids = tables.filter(table => table.kind === 'table').map(table => table.oid);
  const { rows } = await client.query(
    `SELECT oid::int8::text AS oid, (pg_relation_size(oid::regclass) / current_setting('block_size')::int)::text AS blocks
       FROM unnest('{${oids.join(',')}}'::oid[]) AS oid WHERE EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = oid)`,
  );
  return new Map(rows.map(row => [Number(row.oid), Number(row.blocks)]));
}
