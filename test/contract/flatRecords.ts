/** Flat records of a topic `orders`, and a database with what the tests of one sink ask of it again and again. */
import type { Config, SinkBatch, SinkTask } from '../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, type Schema, STRING, Struct, struct } from '../../schemas/data/index.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from './sinkBatches.ts';
import { type SinkRun, type StartOptions, startSink } from './sinkHarness.ts';
import type { SqlRow, SqlTarget } from './sqlTarget.ts';

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

/** One record with key 1 and a field of each schema. */
export function oneRow(fields: readonly (readonly [string, Schema])[], values: readonly unknown[]): Promise<SinkBatch> {
  const valueSchema = struct([['id', INT64], ...fields], { name: 'orders.Wide' });
  const record = { key: new Struct(keySchema, [1n]), value: new Struct(valueSchema, [1n, ...values]) };
  return avroSinkBatch({ topic, keySchema, valueSchema }, [record]);
}

/** One record with a key of so many texts, k1 and so on. */
export async function textKey(columns: number): Promise<{ batch: SinkBatch; values: SqlRow }> {
  const names = Array.from({ length: columns }, (_, i) => `k${i + 1}`);
  const schema = struct(
    names.map(name => [name, STRING]),
    { name: 'orders.TextKey' },
  );
  const values = Object.fromEntries(names.map(name => [name, `${name}${'é'.repeat(40)}`]));
  const record = { key: Struct.of(schema, values), value: Struct.of(schema, values) };
  return { batch: await avroSinkBatch({ topic, keySchema: schema, valueSchema: schema }, [record]), values };
}

export const upsert = (table: string): Config => ({
  'insert.mode': 'upsert',
  'pk.mode': 'record_key',
  'delete.enabled': 'true',
  'table.name.format': table,
});

export interface Orders<Target extends SqlTarget = SqlTarget> extends AsyncDisposable {
  readonly target: Target;
  start(config: Config, options?: StartOptions): Promise<SinkRun>;
  /** A new table; returns its name. */
  create(columns?: string): Promise<string>;
  /** Columns `what`, in the order of the first two. */
  rows(table: string, what?: string): Promise<SqlRow[]>;
}

export function ordersOn<Target extends SqlTarget>(
  target: Target,
  createTask: () => SinkTask,
  columns = 'id, note',
): Orders<Target> {
  return {
    target,
    start: (config, options) => startSink(createTask(), { ...target.connection, ...config }, options),
    create: async (definition = 'id bigint primary key, note text') => {
      const table = target.uniqueName();
      await target.execute(`create table ${table} (${definition})`);
      return table;
    },
    rows: (table, what = columns) => target.rows(`select ${what} from ${table} order by 1, 2`),
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}
