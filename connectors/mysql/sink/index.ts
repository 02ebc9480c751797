/** The MySQL and MariaDB sink as a plug-in. The class names of the JDBC sinks are those of the PostgreSQL sink; their configuration is taken here as well. */
import type { Config, ConfigError, SinkConnector, SinkPlugin } from '../../../runtime/api/index.ts';
import type { WantedOffset } from '../../shared/offsetLedger.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { createConnection } from '../client.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, connectionKeys, offsetStore, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { asSinkError } from './mysqlFailure.ts';
import { mysqlSink } from './target.ts';

class MySqlSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  /** Where the offsets are kept in the target, they change there too. */
  async alterOffsets(config: Config, offsets: readonly WantedOffset[]): Promise<boolean> {
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

  stop(): void {}
}

/** Connects only where nothing else is wrong. Errors of single values are the worker's to tell. */
async function validate(config: Config): Promise<readonly ConfigError[]> {
  const { values, errors } = sinkConfigDef.parse(config);
  const keys = new Set(errors.map(e => e.key));
  const found = checkSinkConfig(config).filter(e => !keys.has(e.key));
  if (found.length > 0 || errors.length > 0) return found;
  return checkTarget(connectionOptions(connectionKeys(values)));
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'millrace.MySqlSink',
  aliases: ['millrace.MySqlSinkConnector', 'millrace.MariaDbSink'],
  version: '0.1.0',
  configDef: sinkConfigDef,
  validate,
  createConnector: () => new MySqlSinkConnector(),
  createTask: () => new SqlSinkTask(mysqlSink),
};
