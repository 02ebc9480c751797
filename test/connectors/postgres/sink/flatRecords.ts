/** Flat records of a topic `orders`, and a database with what the tests of one sink ask of it again and again. */
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import type { Config, SinkBatch } from '../../../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, Struct, struct } from '../../../../schemas/data/index.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { type SinkRun, startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

export const topic = 'orders';
export const keySchema = struct([['id', INT64]], { name: 'orders.Key' });
export const flatSchema = struct(
  [
    ['id', INT64],
    ['Note', OPTIONAL_STRING],
  ],
  { name: 'orders.Value' },
);

export const flat = (id: bigint, note: string | null): TestRecord => ({
  key: new Struct(keySchema, [id]),
  value: new Struct(flatSchema, [id, note]),
});
export const flatBatch = (records: readonly TestRecord[], firstOffset = 0): Promise<SinkBatch> =>
  avroSinkBatch({ topic, firstOffset, keySchema, valueSchema: flatSchema }, records);
export const jsonBatch = (records: readonly TestRecord[], firstOffset = 0): SinkBatch =>
  plainSinkBatch({ topic, firstOffset, keySchema: null, valueSchema: null }, records);

export const upsert = (table: string): Config => ({
  'insert.mode': 'upsert',
  'pk.mode': 'record_key',
  'delete.enabled': 'true',
  'table.name.format': table,
});

export interface OrdersTarget extends AsyncDisposable {
  readonly pg: PgTarget;
  start(config: Config, options?: { tolerate?: boolean }): Promise<SinkRun>;
  /** A new table; returns its name. */
  create(columns?: string): Promise<string>;
  rows(table: string, what?: string): Promise<unknown[]>;
}

export async function openOrders(): Promise<OrdersTarget> {
  const pg = await openPgTarget(servers[0]![1]);
  return {
    pg,
    start: (config, options) => startSink(sinkPlugin.createTask(), { ...pg.connection, ...config }, options),
    create: async (columns = 'id bigint primary key, note text') => {
      const table = pg.uniqueName();
      await pg.client.query(`create table ${table} (${columns})`);
      return table;
    },
    rows: async (table, what = 'id::int as id, note') =>
      (await pg.client.query(`select ${what} from ${table} order by 1, 2`)).rows,
    [Symbol.asyncDispose]: () => pg[Symbol.asyncDispose](),
  };
}
