/** The PostgreSQL sink as a plug-in: under its own class name, and those of the JDBC sinks whose configuration it takes. */
import { Client } from 'pg';
import type { Config, SinkPlugin } from '../../../runtime/api/index.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { UniformSinkConnector } from '../../shared/uniformSinkConnector.ts';
import { validateTarget } from '../../shared/validateTarget.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, connectionKeys, offsetStore, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { asSinkError } from './pgFailure.ts';
import { postgresSink } from './target.ts';

class PostgresSinkConnector extends UniformSinkConnector {
  /** Where the offsets are kept in the target, they change there too. */
  override async alterOffsets(
    config: Config,
    offsets: readonly { topic: string; partition: number; offset: number | null }[],
  ): Promise<boolean> {
    const { values } = sinkConfigDef.parse(config);
    const store = offsetStore(values, config.name ?? '');
    if (store === null) return true;
    const client = new Client(connectionOptions(connectionKeys(values)));
    client.on('error', () => {}); // told by the query
    try {
      await client.connect();
      await store.create(client);
      await store.alter(client, offsets);
      return true;
    } catch (error) {
      throw asSinkError(error);
    } finally {
      await client.end().catch(() => {
        // It was of use or it was not; the error that matters is the one above.
      });
    }
  }
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'millrace.PostgresSink',
  aliases: [
    'io.confluent.connect.jdbc.JdbcSinkConnector',
    'io.aiven.connect.jdbc.JdbcSinkConnector',
    'io.debezium.connector.jdbc.JdbcSinkConnector',
  ],
  version: '0.1.0',
  configDef: sinkConfigDef,
  validate: validateTarget(sinkConfigDef, checkSinkConfig, values =>
    checkTarget(connectionOptions(connectionKeys(values))),
  ),
  createConnector: () => new PostgresSinkConnector(),
  createTask: () => new SqlSinkTask(postgresSink),
};
