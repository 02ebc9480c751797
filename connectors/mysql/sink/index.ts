/** The MySQL and MariaDB sink as a plug-in. The class names of the JDBC sinks are those of the PostgreSQL sink; their configuration is taken here as well. */
import type { Config, SinkPlugin } from '../../../runtime/api/index.ts';
import type { WantedOffset } from '../../shared/offsetLedger.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { UniformSinkConnector } from '../../shared/uniformSinkConnector.ts';
import { validateTarget } from '../../shared/validateTarget.ts';
import { createConnection } from '../client.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, connectionKeys, offsetStore, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { asSinkError } from './mysqlFailure.ts';
import { mysqlSink } from './target.ts';

class MySqlSinkConnector extends UniformSinkConnector {
  /** Where the offsets are kept in the target, they change there too. */
  override async alterOffsets(config: Config, offsets: readonly WantedOffset[]): Promise<boolean> {
    const { values } = sinkConfigDef.parse(config);
    const store = offsetStore(values, config.name ?? '');
    if (store === null) return true;
    try {
      const connection = await createConnection(connectionOptions(connectionKeys(values)));
      try {
        await store.create(connection);
        await store.alter(connection, offsets);
      } finally {
        connection.destroy();
      }
      return true;
    } catch (error) {
      throw asSinkError(error);
    }
  }
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'millrace.MySqlSink',
  aliases: ['millrace.MySqlSinkConnector', 'millrace.MariaDbSink'],
  version: '0.1.0',
  configDef: sinkConfigDef,
  validate: validateTarget(sinkConfigDef, checkSinkConfig, values =>
    checkTarget(connectionOptions(connectionKeys(values))),
  ),
  createConnector: () => new MySqlSinkConnector(),
  createTask: () => new SqlSinkTask(mysqlSink),
};
