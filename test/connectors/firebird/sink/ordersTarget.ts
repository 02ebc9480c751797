/** A Firebird database with what the tests of the sink ask of it again and again. */
import { type Database, disconnect } from '../../../../connectors/firebird/connection.ts';
import { sinkPlugin } from '../../../../connectors/firebird/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { type SinkRun, type StartOptions, startSink } from '../../../contract/sinkHarness.ts';
import { type FirebirdVersion, TestFirebird } from '../../../services/localFirebird.ts';
import { TcpProxy } from '../../../services/tcpProxy.ts';

export interface OrdersTarget extends AsyncDisposable {
  readonly connection: Config;
  start(config: Config, options?: StartOptions): Promise<SinkRun>;
  /** A new table; returns its name. */
  create(columns: string): Promise<string>;
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Cuts the connections of sinks. Not by MON$ATTACHMENTS: deletes from it bring Firebird 5.0.4 to its end now and then, or leave a client without an answer. */
  cut(): void;
}

export async function openOrders(version: FirebirdVersion): Promise<OrdersTarget> {
  let drop: () => Promise<void> = async () => {};
  const target = await TestFirebird.create({ after: f => (drop = f) }, version);
  const database: Database = await target.connect();
  let tables = 0;
  const way = await TcpProxy.open(target.address.port);
  const connection = {
    'connection.url': `firebird://${target.address.host}:${way.port}/${target.address.database}`,
    'connection.user': target.address.user,
    'connection.password': target.address.password,
  };
  return {
    connection,
    start: (config, options) => startSink(sinkPlugin.createTask(), { ...connection, ...config }, options),
    create: async columns => {
      const table = `T${++tables}`;
      await target.run(`create table ${table} (${columns})`);
      return table;
    },
    query: sql => database.queryAsync(sql),
    cut: () => {
      way.cut();
      way.restore();
    },
    [Symbol.asyncDispose]: async () => {
      await way.close();
      await disconnect(database);
      await drop();
    },
  };
}
