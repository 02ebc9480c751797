/** A Firebird database with what the tests of the sink ask of it again and again. */
import { type Database, disconnect } from '../../../../connectors/firebird/connection.ts';
import { sinkPlugin } from '../../../../connectors/firebird/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { type SinkRun, type StartOptions, startSink } from '../../../contract/sinkHarness.ts';
import { type FirebirdVersion, TestFirebird } from '../../../services/localFirebird.ts';

export interface OrdersTarget extends AsyncDisposable {
  readonly connection: Config;
  start(config: Config, options?: StartOptions): Promise<SinkRun>;
  /** A new table; returns its name. */
  create(columns: string): Promise<string>;
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends all connections but the test's own. */
  cut(): Promise<void>;
}

export async function openOrders(version: FirebirdVersion): Promise<OrdersTarget> {
  let drop: () => Promise<void> = async () => {};
  const target = await TestFirebird.create({ after: f => (drop = f) }, version);
  const database: Database = await target.connect();
  let tables = 0;
  const connection = {
    'connection.url': target.url,
    'connection.user': target.address.user,
    'connection.password': target.address.password,
  };
  return {
    connection,
    start: (config, options) => startSink(sinkPlugin.createTask(), { ...connection, ...config }, options),
    create: async columns => {
      const table = `T${++tables}`;
      await database.queryAsync(`create table ${table} (${columns})`);
      return table;
    },
    query: sql => database.queryAsync(sql),
    cut: async () => {
      await database.queryAsync(
        'delete from mon$attachments where mon$attachment_id <> current_connection and mon$system_flag = 0',
      );
    },
    [Symbol.asyncDispose]: async () => {
      await disconnect(database);
      await drop();
    },
  };
}
