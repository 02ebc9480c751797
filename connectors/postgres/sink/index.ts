/** The PostgreSQL sink as a plug-in: under its own class name, and those of the JDBC sinks whose configuration it takes. */
import type { Config, ConfigError, SinkConnector, SinkPlugin } from '../../../runtime/api/index.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, connectionKeys, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { postgresSink } from './target.ts';

class PostgresSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
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
  className: 'millrace.PostgresSink',
  aliases: [
    'io.confluent.connect.jdbc.JdbcSinkConnector',
    'io.aiven.connect.jdbc.JdbcSinkConnector',
    'io.debezium.connector.jdbc.JdbcSinkConnector',
  ],
  version: '0.1.0',
  configDef: sinkConfigDef,
  validate,
  createConnector: () => new PostgresSinkConnector(),
  createTask: () => new SqlSinkTask(postgresSink),
};
